//! The gateway in front of servers, in an nginx that the bench starts; and the same nginx with a constant
//! answer, for comparison.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use server::gateway;
use server::settings::Values;
use server::settings::gateway::GatewaySettings;

use crate::processor;
use crate::services::{free_port, is_root};

pub const KEY: &str = "only-for-this-bench-0123456789abcdef";

/// The answer of a sold out sale, as a constant that needs no lookup.
const CONSTANT: &str = r#"content_by_lua_block {
                ngx.status = 409
                ngx.print('{"success":false,"reason":"sold_out","message":"No seat is left.","traceId":"00000000000000000000000000000000","remainingSeats":0}')
            }"#;

const NOBODY: u32 = 65_534;

pub struct Gateway {
    child: Child,
    pub address: SocketAddr,
}

impl Gateway {
    /// In front of these servers, with its files in `folder`.
    pub fn start(folder: &Path, servers: &[SocketAddr], redis: &str) -> Gateway {
        Gateway::write(folder, servers, redis, |conf| conf)
    }

    /// The same, but with a constant answer.
    pub fn constant(folder: &Path, servers: &[SocketAddr], redis: &str) -> Gateway {
        Gateway::write(folder, servers, redis, |conf| {
            let handles = "content_by_lua_block { gateway.handle() }";
            assert!(conf.contains(handles), "nginx.conf has changed");
            conf.replace(handles, CONSTANT)
        })
    }

    fn write(folder: &Path, servers: &[SocketAddr], redis: &str, change: impl FnOnce(String) -> String) -> Gateway {
        let port = free_port();
        let servers: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
        let environment = |name: &str| {
            let value = match name {
                "GATEWAY_HOST" => "127.0.0.1".to_owned(),
                "GATEWAY_PORT" => port.to_string(),
                "GATEWAY_UPSTREAMS" => servers.join(","),
                "GATEWAY_KEY" => KEY.to_owned(),
                "GATEWAY_TRUST_USER_HEADER" => "1".to_owned(),
                // All load comes from one address; the bucket is still checked.
                "GATEWAY_ADDRESS_RATE" => "1000000".to_owned(),
                "REDIS_URL" => redis.to_owned(),
                _ => return None,
            };
            Some(value)
        };
        let values = Values::gather(|_| None, environment, None).expect("sound settings");
        let settings = GatewaySettings::understand(&values).expect("sound settings");
        gateway::write(folder, &settings).expect("the gateway's files");
        let conf = folder.join("nginx.conf");
        let text = change(fs::read_to_string(&conf).expect("nginx.conf"));
        fs::write(&conf, text).expect("nginx.conf");
        let log = fs::File::create(folder.join("nginx.log")).expect("a log");
        let mut command = Command::new("nginx");
        if is_root() {
            // As in the images. Started as root it could not drop new connections.
            let owned = Command::new("chown").arg("-R").arg(NOBODY.to_string()).arg(folder).status();
            assert!(owned.is_ok_and(|status| status.success()), "chown");
            command.uid(NOBODY).gid(NOBODY);
        }
        command.arg("-c").arg(&conf).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap_or_else(|e| panic!("nginx: {e}; scripts/install-services.sh installs it"));
        let address = ([127, 0, 0, 1], port).into();
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            let log = || fs::read_to_string(folder.join("nginx.log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(10), "nginx does not start: {}", log());
            std::thread::sleep(Duration::from_millis(5));
        }
        Gateway { child, address }
    }
}

impl Gateway {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The master and its workers run on this core from now on.
    pub fn pin(&self, core: usize) {
        processor::pin(self.child.id(), core);
    }
}

impl Drop for Gateway {
    /// A master killed with SIGKILL would leave its workers behind.
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}
