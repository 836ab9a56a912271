//! The test kit. Fixtures that every suite uses: a seeded RNG, a clock that is moved, folders that
//! are kept when a test fails, an HTTP client, servers, and stands to run the conformance suite on.
//! And what those run on: private PostgreSQL, Redis and Redis Cluster on loopback, an nginx, and a
//! proxy that injects faults.
//!
//! The shared services are started once per run by whichever test comes first, and end by
//! themselves when no test has used them for a while; see `scripts/services.sh`.

#[cfg(feature = "server")]
pub mod backing;
pub mod clock;
pub mod database;
pub mod folder;
#[cfg(feature = "server")]
pub mod gateway;
pub mod http;
pub mod nginx;
pub mod postgres;
#[cfg(feature = "server")]
pub mod process;
pub mod proxy;
pub mod raw_tcp;
pub mod redis;
pub mod rng;
#[cfg(feature = "server")]
pub mod server;
pub mod services;
pub mod stands;

use std::net::{Ipv4Addr, TcpListener};

use url::{Host, Url};

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}

/// The same URL with another port, such as that of a proxy.
pub fn with_port(url: &str, port: u16) -> String {
    let mut url = Url::parse(url).unwrap_or_else(|e| panic!("{url}: {e}"));
    url.set_port(Some(port)).expect("a URL with a host");
    url.into()
}

/// Only loopback: faults and load never leave this machine.
fn assert_loopback(name: &str, text: &str) {
    let url = Url::parse(text).unwrap_or_else(|e| panic!("{name} is {text}: {e}"));
    // Schemes that the parser does not know keep an address as it is written.
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback()),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    assert!(loopback, "{name} must be on loopback, it is {text}");
}

/// Root may not run PostgreSQL.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_the_host_and_nothing_else() {
        for good in ["redis://127.0.0.1:1", "postgres://a:b@localhost/x", "redis://[::1]:1", "redis://localhost"] {
            assert_loopback("X", good);
        }
        for bad in ["redis://127.0.0.1.example.org", "postgres://127.0.0.1@db.example.org/x", "redis://10.0.0.1"] {
            assert!(std::panic::catch_unwind(|| assert_loopback("X", bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_port_is_replaced() {
        let other = with_port("postgres://postgres@127.0.0.1:5432/x?sslmode=disable", 1);
        assert_eq!(other, "postgres://postgres@127.0.0.1:1/x?sslmode=disable");
    }
}
