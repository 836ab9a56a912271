//! The gateway's settings, parsed and checked. nginx cannot read our settings, so `tickettock gateway` writes
//! its files from them. With an invalid value it writes nothing.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use rules::arrive::Budget;
use salvo::http::HeaderName;
use url::Url;

use super::typed::{GATEWAY_KEY_CHARS, Reading};
use super::{BadSetting, Values};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewaySettings {
    pub listen: SocketAddr,
    pub servers: Vec<SocketAddr>,
    /// With TLS: the name in their certificates.
    pub servers_tls: Option<String>,
    pub key: String,
    pub redis: RedisPlace,
    pub auth_mode: &'static str,
    pub user_header: HeaderName,
    pub trust_user_header: bool,
    pub cors_origins: Vec<String>,
    pub trusted_proxies: Vec<Network>,
    pub budget: Budget,
    pub region: String,
    pub user_rate: u32,
    pub address_rate: u32,
    /// Per worker.
    pub connections: u32,
    pub address_connections: u32,
    /// Per worker and server.
    pub server_requests: u32,
    pub body_time_s: u32,
    pub wrap: bool,
    /// The certificates of the authorities that sign those of Redis and the servers, in one file.
    pub tls_ca: String,
    /// Where Prometheus reads its metrics.
    pub metrics_listen: Option<SocketAddr>,
    /// A number, or `auto`.
    pub workers: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisPlace {
    pub nodes: Vec<(String, u16)>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<u32>,
    pub cluster: bool,
    /// With TLS: the name in the certificates of its nodes.
    pub tls: Option<String>,
}

/// An address, or all addresses with the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub address: IpAddr,
    pub bits: u8,
}

impl GatewaySettings {
    pub fn understand(values: &Values) -> Result<GatewaySettings, BadSetting> {
        let read = Reading { values };
        let host: IpAddr = read.parsed("GATEWAY_HOST", "an IP address such as 0.0.0.0 or ::1")?;
        let port = read.within("GATEWAY_PORT", 1, 65_535)? as u16;
        let (servers, servers_tls) = servers(&read)?;
        let redis = redis(&read)?;
        let with_tls = servers_tls.is_some() || redis.tls.is_some();
        Ok(GatewaySettings {
            listen: (host, port).into(),
            servers,
            servers_tls,
            key: read.strong_secret("GATEWAY_KEY", GATEWAY_KEY_CHARS)?.ok_or_else(|| missing("GATEWAY_KEY"))?,
            redis,
            tls_ca: if with_tls { authorities(&read)? } else { String::new() },
            auth_mode: super::identity::mode_name(&read)?,
            user_header: read.parsed("FCFS_USER_HEADER", "the name of an HTTP header")?,
            trust_user_header: read.switch("GATEWAY_TRUST_USER_HEADER")?,
            cors_origins: super::identity::cors_origins(&read)?,
            trusted_proxies: networks(&read)?,
            budget: super::typed::budget(&read)?,
            region: read.region("DEFAULT_REGION")?,
            user_rate: read.within("GATEWAY_USER_RATE", 0, 1_000_000)? as u32,
            address_rate: read.within("GATEWAY_ADDRESS_RATE", 0, 1_000_000)? as u32,
            connections: read.within("GATEWAY_CONNECTIONS", 256, 1_000_000)? as u32,
            address_connections: read.within("GATEWAY_ADDRESS_CONNECTIONS", 0, 1_000_000)? as u32,
            server_requests: read.within("GATEWAY_SERVER_REQUESTS", 1, 1_000_000)? as u32,
            body_time_s: read.within("GATEWAY_BODY_TIME", 1, 3_600)? as u32,
            wrap: read.switch("GATEWAY_WRAP")?,
            metrics_listen: match read.text("GATEWAY_METRICS_LISTEN").trim() {
                "" => None,
                _ => Some(read.parsed("GATEWAY_METRICS_LISTEN", "an address and a port such as 127.0.0.1:9145")?),
            },
            workers: match read.text("GATEWAY_WORKERS") {
                "auto" => "auto".into(),
                _ => read.within("GATEWAY_WORKERS", 1, 1_024)?.to_string(),
            },
        })
    }
}

fn missing(name: &str) -> BadSetting {
    BadSetting(format!("{name} is unset: the gateway requires it"))
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|one| !one.is_empty())
}

fn servers(read: &Reading<'_>) -> Result<(Vec<SocketAddr>, Option<String>), BadSetting> {
    let name = "GATEWAY_UPSTREAMS";
    let mut servers = Vec::new();
    let all: Vec<&str> = listed(read.text(name)).collect();
    let with_tls = all.iter().filter(|one| one.starts_with("https://")).count();
    if with_tls != 0 && with_tls != all.len() {
        return Err(read.bad(name, "https:// before all of them, or before none"));
    }
    for one in &all {
        let one = one.trim_start_matches("https://");
        let found = one
            .to_socket_addrs()
            .map_err(|e| read.bad(name, &format!("host:port that can be resolved here ({one}: {e})")))?;
        servers.extend(found.take(1));
    }
    let Some(first) = all.first() else { return Err(missing(name)) };
    let host = first.trim_start_matches("https://").rsplit_once(':').map_or("", |(host, _)| host);
    let tls = if with_tls == 0 { None } else { Some(certified(read, "GATEWAY_UPSTREAM_TLS_NAME", host)?) };
    Ok((servers, tls))
}

/// The name that a certificate must carry: the setting, or the host if it is a name. nginx does not compare
/// addresses.
fn certified(read: &Reading<'_>, setting: &str, host: &str) -> Result<String, BadSetting> {
    let name = match read.text(setting).trim() {
        "" => host,
        given => given,
    };
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b));
    if plain && !address {
        return Ok(name.to_owned());
    }
    Err(read.bad(setting, "the DNS name in the certificate; TLS to an address needs it"))
}

fn authorities(read: &Reading<'_>) -> Result<String, BadSetting> {
    let file = read.text("GATEWAY_TLS_CA").trim();
    if crate::gateway::plain(file) && file.starts_with('/') && std::path::Path::new(file).is_file() {
        return Ok(file.to_owned());
    }
    Err(read.bad("GATEWAY_TLS_CA", "a file of certificates in PEM: a whole path of letters, digits and ._-"))
}

fn networks(read: &Reading<'_>) -> Result<Vec<Network>, BadSetting> {
    let bad = || read.bad("TRUSTED_PROXIES", "comma-separated addresses or networks such as 10.0.0.0/8");
    let network = |one: &str| {
        let (address, bits) = one.split_once('/').map_or((one, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok().filter(|bits| *bits <= most))?;
        Some(Network { address, bits })
    };
    listed(read.text("TRUSTED_PROXIES")).map(|one| network(one).ok_or_else(bad)).collect()
}

fn redis(read: &Reading<'_>) -> Result<RedisPlace, BadSetting> {
    let place = super::stores::redis(read)?.ok_or_else(|| missing("REDIS_URL"))?;
    let bad = || read.bad("REDIS_URL", "redis://:password@host:port, or rediss:// with TLS for every node");
    let mut all =
        RedisPlace { nodes: Vec::new(), user: None, password: None, database: None, cluster: place.cluster, tls: None };
    let scheme = if place.url.trim_start().starts_with("rediss://") { "rediss" } else { "redis" };
    for text in listed(&place.url) {
        let url = Url::parse(text).ok().filter(|url| url.scheme() == scheme).ok_or_else(bad)?;
        all.user = unescaped(url.username()).filter(|user| !user.is_empty());
        all.password = unescaped(url.password().unwrap_or_default()).filter(|password| !password.is_empty());
        let database = url.path().trim_start_matches('/');
        all.database = if database.is_empty() { None } else { Some(database.parse().map_err(|_| bad())?) };
        let (host, port) = (url.host_str().unwrap_or_default(), url.port().unwrap_or(6379));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let plain = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:".contains(&b));
        if !plain || (all.cluster && all.database.is_some_and(|number| number != 0)) {
            return Err(bad());
        }
        all.nodes.push((host.to_owned(), port));
    }
    if scheme == "rediss" {
        let first = all.nodes.first().map_or("", |(host, _)| host.as_str());
        all.tls = Some(certified(read, "GATEWAY_REDIS_TLS_NAME", first)?);
    }
    Ok(all)
}

/// Decodes the percent escapes of a URL.
fn unescaped(text: &str) -> Option<String> {
    // Characters that are special in a form are not special in a URL.
    let plain = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let (decoded, _) = url::form_urlencoded::parse(plain.as_bytes()).next().unwrap_or_default();
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "a-key-of-a-gateway-in-the-tests.";

    fn with(pairs: &[(&str, &str)]) -> Result<GatewaySettings, String> {
        let needed =
            [("GATEWAY_KEY", KEY), ("GATEWAY_UPSTREAMS", "127.0.0.1:5800"), ("REDIS_URL", "redis://127.0.0.1:6379")];
        let find =
            |all: &[(&str, &str)], name: &str| all.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        let environment = |name: &str| find(pairs, name).or_else(|| find(&needed, name)).filter(|v| !v.is_empty());
        let values = Values::gather(|_| None, environment, None).map_err(|e| e.to_string())?;
        GatewaySettings::understand(&values).map_err(|e| e.to_string())
    }

    #[test]
    fn defaults_apply_to_optional_settings() {
        let settings = with(&[]).unwrap();
        assert_eq!(settings.listen.to_string(), "0.0.0.0:8080");
        assert!(!settings.trust_user_header && !settings.wrap && settings.trusted_proxies.is_empty());
        assert_eq!((settings.user_rate, settings.address_rate), (20, 2_000));
    }

    #[test]
    fn errors_name_the_invalid_setting() {
        for (name, value) in [
            ("GATEWAY_HOST", "localhost"),
            ("GATEWAY_PORT", "0"),
            ("GATEWAY_UPSTREAMS", "127.0.0.1"),
            ("GATEWAY_UPSTREAMS", ""),
            ("GATEWAY_KEY", ""),
            ("GATEWAY_KEY", "short"),
            ("GATEWAY_KEY", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"),
            ("REDIS_URL", ""),
            ("REDIS_URL", "rediss://a:1,redis://b:1"),
            ("REDIS_URL", "redis://127.0.0.1:port"),
            ("REDIS_URL", "redis://h;x:1"),
            ("AUTH_MODE", "none"),
            ("TRUSTED_PROXIES", "10.0.0.0/33"),
            ("TRUSTED_PROXIES", "all"),
            ("GATEWAY_USER_RATE", "-1"),
            ("GATEWAY_CONNECTIONS", "10"),
            ("GATEWAY_ADDRESS_CONNECTIONS", "many"),
            ("GATEWAY_BODY_TIME", "0"),
            ("GATEWAY_WRAP", "yes"),
            ("GATEWAY_METRICS_LISTEN", "9145"),
            ("GATEWAY_WORKERS", "many"),
            ("FCFS_IP_WINDOW", "0"),
        ] {
            let why = with(&[(name, value)]).expect_err(name);
            assert!(why.starts_with(name), "{why}");
        }
    }

    #[test]
    fn redis_urls_are_parsed() {
        let one = with(&[("REDIS_URL", "redis://who:p%40ss+word@redis.example:7000/2")]).unwrap().redis;
        assert_eq!((one.user.as_deref(), one.password.as_deref()), (Some("who"), Some("p@ss+word")));
        assert_eq!((one.nodes, one.database), (vec![("redis.example".into(), 7000)], Some(2)));
        let all = with(&[("REDIS_URL", "redis://[::1]:1, redis://b"), ("REDIS_CLUSTER", "1")]).unwrap().redis;
        assert_eq!((all.nodes, all.cluster), (vec![("::1".into(), 1), ("b".into(), 6379)], true));
        let parts = with(&[("REDIS_URL", ""), ("REDIS_HOST", "h"), ("REDIS_PASSWORD", "a b&c=+")]).unwrap().redis;
        assert_eq!((parts.password.as_deref(), parts.nodes), (Some("a b&c=+"), vec![("h".into(), 6379)]));
    }

    #[test]
    fn names_to_verify() {
        let authorities = tempfile::NamedTempFile::new().unwrap();
        let ca = ("GATEWAY_TLS_CA", authorities.path().to_str().unwrap());
        let tls = |pairs: &[(&str, &str)]| {
            let settings = with(&[pairs, &[ca]].concat()).unwrap();
            (settings.redis.tls, settings.servers_tls)
        };
        assert_eq!(tls(&[]), (None, None));
        assert_eq!(tls(&[("REDIS_URL", "rediss://r.example")]), (Some("r.example".into()), None));
        let given = ("GATEWAY_REDIS_TLS_NAME", "cert.example");
        assert_eq!(tls(&[("REDIS_URL", "rediss://10.0.0.1:1"), given]), (Some("cert.example".into()), None));
        assert_eq!(tls(&[("GATEWAY_UPSTREAMS", "https://localhost:1")]), (None, Some("localhost".into())));
        assert!(with(&[("REDIS_URL", "rediss://r.example"), ("GATEWAY_TLS_CA", "/nowhere")]).is_err());
    }

    #[test]
    fn trusted_proxies_are_parsed() {
        let all = with(&[("TRUSTED_PROXIES", "10.0.0.0/8, 2001:db8::/32,127.0.0.1")]).unwrap().trusted_proxies;
        assert_eq!(all.iter().map(|n| n.bits).collect::<Vec<_>>(), [8, 32, 32]);
    }
}
