//! A very small HTTP client: one request to the running server, over plain HTTP.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde_json::Value;

const TIME: Duration = Duration::from_secs(15);

pub struct Api {
    /// `host:port`.
    authority: String,
    token: Option<String>,
}

impl Api {
    pub fn at(url: &str, token: Option<String>) -> Result<Api, String> {
        let rest = url.strip_prefix("http://").ok_or(format!("--url {url}: expected http://host:port"))?;
        let authority = rest.trim_end_matches('/');
        if authority.is_empty() || authority.contains(['/', '@', '\r', '\n', ' ']) {
            return Err(format!("--url {url}: expected http://host:port and nothing behind it"));
        }
        let port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if port { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Api { authority, token })
    }

    pub fn get(&self, path: &str) -> Result<Value, String> {
        self.ask("GET", path, "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.ask("POST", path, &body.to_string())
    }

    /// The JSON of a success; a refusal in its own words.
    fn ask(&self, method: &str, path: &str, body: &str) -> Result<Value, String> {
        let at = &self.authority;
        let unreachable = |e: std::io::Error| format!("no server answers at http://{at}: {e}");
        let address = at.to_socket_addrs().map_err(unreachable)?.next().ok_or(format!("{at} has no address"))?;
        let mut stream = TcpStream::connect_timeout(&address, TIME).map_err(unreachable)?;
        stream.set_read_timeout(Some(TIME)).map_err(unreachable)?;
        stream.set_write_timeout(Some(TIME)).map_err(unreachable)?;
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n");
        if let Some(token) = &self.token {
            request += &format!("Authorization: Bearer {token}\r\n");
        }
        if !body.is_empty() {
            request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        }
        request += "\r\n";
        request += body;
        stream.write_all(request.as_bytes()).map_err(unreachable)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(unreachable)?;
        read(&answer).ok_or_else(|| format!("what answers at http://{at} is not Tickettock"))?
    }
}

/// None: not an answer of ours. Our answers carry their length, or end with the connection.
fn read(answer: &[u8]) -> Option<Result<Value, String>> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status: u16 = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let body: Value = serde_json::from_slice(&answer[end + 4..]).ok()?;
    if (200..300).contains(&status) {
        return Some(Ok(body));
    }
    let message = body["message"].as_str()?;
    let hint = match body["reason"].as_str() {
        Some("unauthorized") => " Give ADMIN_TOKEN, or DATA_DIR as the server has it.",
        _ => "",
    };
    Some(Err(format!("{message}{hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let authority = |url: &str| Api::at(url, None).map(|api| api.authority);
        assert_eq!(authority("http://127.0.0.1:5800/").unwrap(), "127.0.0.1:5800");
        assert_eq!(authority("http://[::1]:5800").unwrap(), "[::1]:5800");
        assert_eq!(authority("http://example.test").unwrap(), "example.test:80");
        for bad in ["", "127.0.0.1:5800", "https://x", "http://", "http://a/b", "http://a@b", "http://a\r\nb"] {
            assert!(authority(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn answers() {
        let ok = read(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"success\":true}").unwrap();
        assert_eq!(ok.unwrap()["success"], true);
        let no = read(b"HTTP/1.1 409 Conflict\r\n\r\n{\"reason\":\"in_use\",\"message\":\"It is in use.\"}").unwrap();
        assert_eq!(no.unwrap_err(), "It is in use.");
        assert!(read(b"SSH-2.0").is_none());
    }
}
