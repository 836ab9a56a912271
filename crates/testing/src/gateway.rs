//! A gateway in front of servers: the product's own files in a real nginx, with a clock that tests can
//! move and bugs that they can plant.

use std::net::SocketAddr;
use std::path::Path;

use crate::folder::TestFolder;
use crate::http::TestClient;
use crate::nginx::OwnNginx;
use server::settings::Values;
use server::settings::gateway::GatewaySettings;

pub const KEY: &str = "the-key-of-the-gateway-in-the-tests";

/// In place of `clock.lua`: what the file `offset` says is added.
const MOVED_CLOCK: &str = r#"
local M = {}
local path = require("settings").scripts .. "/../offset"
function M.offset_ms()
    local file = io.open(path)
    if not file then return 0 end
    local offset = tonumber(file:read("*a")) or 0
    file:close()
    return offset
end
function M.now_ms() return ngx.now() * 1000 + M.offset_ms() end
return M
"#;

/// A planted bug: in this file, instead of these words, those.
pub type GatewayBug<'a> = (&'a str, &'a str, &'a str);

pub struct TestGateway {
    nginx: OwnNginx,
    settings: Vec<(String, String)>,
}

impl TestGateway {
    /// In front of these servers. `given` over what tests need.
    pub fn start(servers: &[SocketAddr], given: &[(String, String)]) -> TestGateway {
        TestGateway::planted(servers, given, &[])
    }

    pub fn planted(servers: &[SocketAddr], given: &[(String, String)], planted: &[GatewayBug<'_>]) -> TestGateway {
        let mut said = String::new();
        for _ in 0..3 {
            match TestGateway::at(crate::free_port(), servers, given, planted) {
                Ok(gateway) => return gateway,
                Err(why) => said = why,
            }
        }
        panic!("nginx (scripts/install-services.sh installs it) does not start:\n{said}");
    }

    fn at(
        port: u16,
        servers: &[SocketAddr],
        given: &[(String, String)],
        planted: &[GatewayBug<'_>],
    ) -> Result<TestGateway, String> {
        let upstreams: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
        let own = [
            ("GATEWAY_HOST", "127.0.0.1".to_owned()),
            ("GATEWAY_PORT", port.to_string()),
            ("GATEWAY_UPSTREAMS", upstreams.join(",")),
            ("GATEWAY_KEY", KEY.to_owned()),
            ("GATEWAY_WORKERS", "2".to_owned()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let settings: Vec<(String, String)> = given.iter().cloned().chain(own).collect();
        let folder = TestFolder::new("nginx");
        write(folder.path(), &settings);
        std::fs::write(folder.path().join("lua/clock.lua"), MOVED_CLOCK).unwrap();
        for (file, right, wrong) in planted {
            let path = folder.path().join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(right), "{file} has no {right:?} to spoil");
            std::fs::write(&path, text.replace(right, wrong)).unwrap();
        }
        Ok(TestGateway { nginx: OwnNginx::start(folder, port)?, settings })
    }

    pub fn address(&self) -> SocketAddr {
        self.nginx.address
    }

    pub fn client(&self) -> TestClient {
        TestClient::new(self.nginx.address)
    }

    pub fn nginx(&self) -> &OwnNginx {
        &self.nginx
    }

    pub fn move_clock(&self, offset_ms: i64) {
        let (new, file) = (self.nginx.path().join("offset.new"), self.nginx.path().join("offset"));
        std::fs::write(&new, offset_ms.to_string()).unwrap();
        std::fs::rename(new, file).unwrap();
    }

    /// Other servers behind it, from now on.
    pub fn turn_to(&self, servers: &[SocketAddr]) {
        let upstreams: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
        let mut settings = vec![("GATEWAY_UPSTREAMS".to_owned(), upstreams.join(","))];
        settings.extend(self.settings.iter().cloned());
        write(self.nginx.path(), &settings);
        self.nginx.reload();
    }
}

fn write(folder: &Path, settings: &[(String, String)]) {
    let environment = |name: &str| settings.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
    let values = Values::gather(|_| None, environment, None).unwrap();
    server::gateway::write(folder, &GatewaySettings::understand(&values).unwrap()).unwrap();
}
