//! What tests stand on when they need more than one file: private PostgreSQL, Redis and Redis
//! Cluster on loopback, servers of one's own to kill, an nginx, and a wire that can be cut.
//!
//! The shared services are started once per run by whichever test comes first, and end by
//! themselves when no test has used them for a while; see `scripts/services.sh`.

pub mod database;
pub mod nginx;
pub mod postgres;
pub mod proxy;
pub mod redis;
pub mod services;

use std::net::{Ipv4Addr, TcpListener};

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}

/// Only loopback: faults and load never leave this machine.
fn assert_loopback(name: &str, url: &str) {
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let loopback =
        ["127.0.0.1:", "127.0.0.1/", "localhost:", "localhost/", "[::1]"].iter().any(|h| host.starts_with(h));
    assert!(loopback || host == "127.0.0.1" || host == "localhost", "{name} must be on loopback, it is {url}");
}

/// Root may not run PostgreSQL.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}
