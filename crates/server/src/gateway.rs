//! The gateway's files: nginx's configuration, the Lua that runs in it, the door's own scripts, and what
//! the settings say. nginx cannot read settings, so they are written down for it, and only here.

use std::fmt::Write;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use stores::door::redis::scripts;

use crate::http::respond::cross_origin::EXPOSED;
use crate::http::respond::gateway::{answers, quoted};
use crate::settings::gateway::{GatewaySettings, RedisPlace};

const NGINX: &str = include_str!("../../../gateway/nginx.conf");

macro_rules! lua {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../gateway/lua/", $name)))),+]
    };
}

/// Every file of `gateway/lua`.
const LUA: &[(&str, &str)] = lua!(
    "address.lua",
    "answer.lua",
    "bodies.lua",
    "buckets.lua",
    "clock.lua",
    "door.lua",
    "figures.lua",
    "form.lua",
    "framing.lua",
    "gateway.lua",
    "hint.lua",
    "ids.lua",
    "lane.lua",
    "language.lua",
    "listener.lua",
    "paths.lua",
    "remembered.lua",
    "servers.lua",
    "sieve.lua",
    "sifting.lua",
    "slots.lua",
    "text.lua",
    "wire.lua",
    "wrap.lua",
);

/// The very scripts that a server runs.
const SCRIPTS: &[(&str, &str)] =
    &[("arrive.lua", scripts::ARRIVE), ("settle.lua", scripts::SETTLE), ("left.lua", scripts::LEFT)];

/// Writes everything below `folder`, over what was there. nginx is then started with its
/// `nginx.conf`, or told to reload.
pub fn write(folder: &Path, settings: &GatewaySettings) -> io::Result<()> {
    for part in ["", "lua", "scripts", "temp"] {
        let part = folder.join(part);
        fs::create_dir_all(&part)?;
        // nginx's workers are another user's.
        fs::set_permissions(&part, fs::Permissions::from_mode(0o755))?;
    }
    let folder = folder.canonicalize()?;
    let place = folder
        .to_str()
        .filter(|text| plain(text))
        .ok_or_else(|| io::Error::other(format!("{} has characters that mean something to nginx", folder.display())))?;
    for (name, text) in LUA {
        keep(&folder.join("lua").join(name), text, 0o644)?;
    }
    keep(&folder.join("lua/answers.lua"), &answers(), 0o644)?;
    for (name, text) in SCRIPTS {
        keep(&folder.join("scripts").join(name), text, 0o644)?;
    }
    // Secrets are in this one, which only nginx's master reads.
    keep(&folder.join("settings.lua"), &lua_settings(settings, place), 0o600)?;
    keep(&folder.join("nginx.conf"), &nginx(settings, place, &nameservers()), 0o644)
}

/// Whether a path means to nginx what it says.
pub(crate) fn plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b))
}

/// Whole or not at all: a reload in between must not find half a file.
fn keep(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    let new = file.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    let mut handle = options.write(true).create_new(true).mode(mode).open(&new)?;
    io::Write::write_all(&mut handle, text.as_bytes())?;
    fs::rename(new, file)
}

fn nginx(settings: &GatewaySettings, folder: &str, nameservers: &[String]) -> String {
    let proxies = &settings.trusted_proxies;
    let network = |n: &crate::settings::gateway::Network| format!("{}/{}", n.address, n.bits);
    let geo: Vec<String> = proxies.iter().map(|n| format!("{} 1;", network(n))).collect();
    let mut real: Vec<String> = proxies.iter().map(|n| format!("set_real_ip_from {};", network(n))).collect();
    if !real.is_empty() {
        real.push("real_ip_header X-Forwarded-For;".into());
        real.push("real_ip_recursive on;".into());
    }
    let resolver = match nameservers {
        [] => String::new(),
        all => format!("resolver {} valid=10s ipv6=off;", all.join(" ")),
    };
    let wrap = if settings.wrap {
        "header_filter_by_lua_block { gateway.wrap() }\n        body_filter_by_lua_block { gateway.wrapped() }"
    } else {
        ""
    };
    let connections = settings.connections;
    let address_connections = match settings.address_connections {
        0 => String::new(),
        most => format!("limit_conn addresses {most};\n        limit_conn_status 429;"),
    };
    let mut tls = String::new();
    for (prefix, used) in [("lua", settings.redis.tls.is_some()), ("proxy", settings.servers_tls.is_some())] {
        if used {
            let ca = &settings.tls_ca;
            let _ = writeln!(tls, "{prefix}_ssl_trusted_certificate {ca};\n    {prefix}_ssl_verify_depth 3;");
            let _ = writeln!(tls, "    {prefix}_ssl_protocols TLSv1.2 TLSv1.3;");
        }
    }
    if let Some(name) = &settings.servers_tls {
        let _ = writeln!(tls, "    proxy_ssl_verify on;\n    proxy_ssl_server_name on;\n    proxy_ssl_name {name};");
    }
    let scheme = if settings.servers_tls.is_some() { "https" } else { "http" };
    let figures = match settings.metrics_listen {
        None => String::new(),
        // No attempt to connect is dropped here, so probes get through in an overload.
        Some(address) => format!(
            "server {{\n        listen {address};\n        location / {{ return 404; }}\n        \
             location = /metrics {{ content_by_lua_block {{ gateway.show_figures() }} }}\n        \
             location = /livez {{ return 200 '{{\"status\":\"alive\"}}'; }}\n        \
             location = /readyz {{\n            proxy_pass {scheme}://servers;\n            \
             proxy_http_version 1.1;\n            proxy_set_header Host $http_host;\n            \
             proxy_set_header Connection \"\";\n            proxy_connect_timeout 1s;\n            \
             proxy_read_timeout 4s;\n            proxy_next_upstream error timeout;\n        }}\n    }}"
        ),
    };
    let mut text = NGINX.to_owned();
    for (gap, value) in [
        ("@folder@", folder),
        ("@workers@", &settings.workers),
        ("@connections@", &connections.to_string()),
        // Beside the connections: files of large bodies and answers, logs, what nginx itself needs.
        ("@files@", &(connections + connections / 16).to_string()),
        ("@keepalive@", &(connections / 16).to_string()),
        ("@address_connections@", &address_connections),
        ("@tls@", tls.trim_end()),
        ("@scheme@", scheme),
        ("@listen@", &settings.listen.to_string()),
        ("@resolver@", &resolver),
        ("@trusted_geo@", &geo.join("\n        ")),
        ("@trusted_realip@", &real.join("\n    ")),
        ("@wrap@", wrap),
        ("@figures@", &figures),
    ] {
        text = text.replace(gap, value);
    }
    text
}

/// Where names are looked up, as the system does it.
fn nameservers() -> Vec<String> {
    let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok());
    named.map(|ip| if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }).collect()
}

fn lua_settings(settings: &GatewaySettings, folder: &str) -> String {
    let mut text = String::from("-- Written by `tickettock gateway`. Holds secrets.\n\nreturn {\n");
    let mut set = |name: &str, value: String| {
        let _ = writeln!(text, "    {name} = {value},");
    };
    set("key", quoted(&settings.key));
    set("auth", quoted(settings.auth_mode));
    set("user_header", quoted(settings.user_header.as_str()));
    set("trust_user_header", settings.trust_user_header.to_string());
    let origins: Vec<String> =
        settings.cors_origins.iter().map(|origin| format!("[{}] = true", quoted(origin))).collect();
    if !origins.is_empty() {
        set("origins", format!("{{ {} }}", origins.join(", ")));
        set("exposed", quoted(EXPOSED));
    }
    let octets: Vec<u8> = match settings.listen.ip() {
        IpAddr::V4(ip) => ip.octets().into(),
        IpAddr::V6(ip) => ip.octets().into(),
    };
    let octets: String = octets.iter().map(|octet| format!("\\{octet:03}")).collect();
    set("listen", format!("{{ port = {}, address = \"{octets}\" }}", settings.listen.port()));
    set("wrap", settings.wrap.to_string());
    set("region", quoted(&settings.region));
    set("user_rate", settings.user_rate.to_string());
    set("address_rate", settings.address_rate.to_string());
    set("ip_limit", settings.budget.limit.to_string());
    set("ip_window_ms", settings.budget.window_ms.to_string());
    set("server_requests", settings.server_requests.to_string());
    set("body_time", settings.body_time_s.to_string());
    set("mark_ms", rules::arrive::MARK_MS.to_string());
    set("scripts", quoted(&format!("{folder}/scripts")));
    let server = |server: &std::net::SocketAddr| {
        let (name, host) = (quoted(&server.to_string()), quoted(&server.ip().to_string()));
        format!("{{ name = {name}, host = {host}, port = {} }}", server.port())
    };
    set("servers", format!("{{ {} }}", settings.servers.iter().map(server).collect::<Vec<_>>().join(", ")));
    set("redis", lua_redis(&settings.redis));
    text.push_str("}\n");
    text
}

fn lua_redis(redis: &RedisPlace) -> String {
    let node = |(host, port): &(String, u16)| format!("{{ host = {}, port = {port} }}", quoted(host));
    let nodes: Vec<String> = redis.nodes.iter().map(node).collect();
    let mut text = format!("{{ nodes = {{ {} }}, cluster = {}", nodes.join(", "), redis.cluster);
    for (name, value) in [("user", &redis.user), ("password", &redis.password), ("tls", &redis.tls)] {
        if let Some(value) = value {
            let _ = write!(text, ", {name} = {}", quoted(value));
        }
    }
    if let Some(database) = redis.database {
        let _ = write!(text, ", database = {database}");
    }
    text + " }"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Values;

    fn settings(pairs: &[(&str, &str)]) -> GatewaySettings {
        let key = "a-key-of-a-gateway-in-the-tests.".to_owned();
        let environment = |name: &str| match name {
            "GATEWAY_KEY" => Some(key.clone()),
            "GATEWAY_UPSTREAMS" => Some("127.0.0.1:5800,[::1]:5801".into()),
            "REDIS_URL" => Some("redis://:secret%22word@127.0.0.1:6379".into()),
            _ => pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()),
        };
        GatewaySettings::understand(&Values::gather(|_| None, environment, None).unwrap()).unwrap()
    }

    #[test]
    fn every_lua_file_is_written() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateway/lua");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = files.collect();
        files.sort();
        assert_eq!(files, LUA.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn no_gap_stays_and_only_one_file_has_secrets() {
        let proxies =
            [("TRUSTED_PROXIES", "10.0.0.0/8"), ("GATEWAY_WRAP", "1"), ("GATEWAY_METRICS_LISTEN", "127.0.0.1:9145")];
        for settings in [settings(&[]), settings(&proxies)] {
            let text = nginx(&settings, "/folder", &["10.0.0.2".into()]);
            assert_eq!(
                text.split('@').skip(1).find(|part| part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')),
                None
            );
            assert!(!text.contains(&settings.key) && !text.contains("secret"));
            assert_eq!(text.contains("set_real_ip_from 10.0.0.0/8;"), settings.wrap);
        }
        let text = lua_settings(&settings(&[]), "/folder");
        assert!(text.contains(r#"password = "secret\"word""#), "{text}");
        assert!(text.contains(r#"{ name = "[::1]:5801", host = "::1", port = 5801 }"#), "{text}");
    }

    #[test]
    fn secrets_are_for_their_owner() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &settings(&[])).unwrap();
        write(folder.path(), &settings(&[])).unwrap();
        let mode = fs::metadata(folder.path().join("settings.lua")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let odd = folder.path().join("a b;");
        assert!(write(&odd, &settings(&[])).unwrap_err().to_string().contains("nginx"));
    }
}
