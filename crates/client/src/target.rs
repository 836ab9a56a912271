//! The server to send requests to: an `http://` URL, resolved once.

use std::fmt;
use std::net::SocketAddr;

use hyper::http::HeaderValue;
use url::{Position, Url};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub address: SocketAddr,
    /// As in the URL: the `Host` of every request.
    host: HeaderValue,
}

impl Target {
    /// From `http://host` or `http://host:port`. Looks up the name, which may block.
    pub fn resolve(url: &str) -> Result<Target, String> {
        let expected = || format!("{url}: expected http://host:port and nothing after it");
        // The parser drops line breaks and spaces; an address that contains them is a mistake.
        if url.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(expected());
        }
        let parsed = Url::parse(url).map_err(|why| format!("{url}: {why}; expected http://host:port"))?;
        let bare = parsed.username().is_empty()
            && parsed.password().is_none()
            && matches!(parsed.path(), "" | "/")
            && parsed.query().is_none()
            && parsed.fragment().is_none();
        if parsed.scheme() != "http" || !bare {
            return Err(expected());
        }
        let found = parsed.socket_addrs(|| None).map_err(|why| format!("{url}: {why}"))?;
        let address = *found.first().ok_or_else(|| format!("{url}: no such host"))?;
        let host = HeaderValue::from_str(&parsed[Position::BeforeHost..Position::AfterPort]).map_err(|_| expected())?;
        Ok(Target { address, host })
    }

    pub fn is_loopback(&self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }

    pub(crate) fn host(&self) -> &HeaderValue {
        &self.host
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Target {
        let host = HeaderValue::from_str(&address.to_string());
        // An address prints as digits, letters, dots, colons and brackets.
        let host = host.unwrap_or_else(|_| HeaderValue::from_static("localhost"));
        Target { address, host }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.host.to_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn urls_become_targets() {
        assert_eq!(Target::resolve("http://127.0.0.1:5800").unwrap().address.port(), 5800);
        assert_eq!(Target::resolve("http://127.0.0.1/").unwrap().address.port(), 80);
        assert!(Target::resolve("http://[::1]:5800").unwrap().is_loopback());
        assert!(!Target::resolve("http://192.0.2.1:80").unwrap().is_loopback());
        assert_eq!(Target::resolve("http://[::1]:5800/").unwrap().to_string(), "http://[::1]:5800");
        for bad in [
            "127.0.0.1",
            "https://127.0.0.1",
            "http://",
            "http://127.0.0.1/path",
            "http://127.0.0.1/?query",
            "http://a@127.0.0.1",
            "http://a\r\nb",
            "http://127.0.0.1 ",
        ] {
            assert!(Target::resolve(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_a_target() {
        let target = Target::from(std::net::SocketAddr::from(([127, 0, 0, 1], 81)));
        assert_eq!((target.to_string().as_str(), target.address.port()), ("http://127.0.0.1:81", 81));
    }
}
