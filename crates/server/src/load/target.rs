//! A server that is asked over plain HTTP: by a crowd, or by a command.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub host: String,
    pub address: SocketAddr,
}

impl Target {
    /// From `http://host:port`, resolved once.
    pub fn read(url: &str) -> Result<Target, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| format!("{url}: expected http://host:port"))?;
        let host = rest.trim_end_matches('/');
        if host.is_empty() || host.contains(['/', '?', '#', '@', '\r', '\n', ' ']) {
            return Err(format!("{url}: expected http://host:port and nothing behind it"));
        }
        let with_port = if host.rsplit(':').next().is_some_and(|p| p.parse::<u16>().is_ok()) && !host.ends_with(']') {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        let mut found = with_port.to_socket_addrs().map_err(|e| format!("{url}: {e}"))?;
        let address = found.next().ok_or_else(|| format!("{url}: no such host"))?;
        Ok(Target { host: host.to_owned(), address })
    }

    pub fn is_loopback(&self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }

    /// The bytes of a request.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host);
        for (name, value) in headers {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value);
            text.push_str("\r\n");
        }
        if !body.is_empty() {
            text.push_str("Content-Type: application/json\r\n");
        }
        if !body.is_empty() || method != "GET" {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body);
        text.into_bytes()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn targets() {
        assert_eq!(Target::read("http://127.0.0.1:5800").unwrap().address.port(), 5800);
        assert_eq!(Target::read("http://127.0.0.1/").unwrap().address.port(), 80);
        assert!(Target::read("http://[::1]:5800").unwrap().is_loopback());
        assert!(!Target::read("http://192.0.2.1:80").unwrap().is_loopback());
        for bad in [
            "127.0.0.1",
            "https://127.0.0.1",
            "http://",
            "http://127.0.0.1/path",
            "http://a@127.0.0.1",
            "http://a\r\nb",
        ] {
            assert!(Target::read(bad).is_err(), "{bad}");
        }
    }
}
