//! A very small HTTP client: one request to the running server, over plain HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::load::target::Target;

const TIME: Duration = Duration::from_secs(15);

pub struct Api {
    target: Target,
    /// `Bearer` and the token.
    authorization: Option<String>,
}

impl Api {
    pub fn at(url: &str, token: Option<String>) -> Result<Api, String> {
        let target = Target::read(url).map_err(|why| format!("--url {why}"))?;
        Ok(Api { target, authorization: token.map(|token| format!("Bearer {token}")) })
    }

    pub fn get(&self, path: &str) -> Result<Value, String> {
        self.ask("GET", path, "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.ask("POST", path, &body.to_string())
    }

    /// The JSON of a success; a refusal in its own words.
    fn ask(&self, method: &str, path: &str, body: &str) -> Result<Value, String> {
        let target = &self.target;
        let unreachable = |e: std::io::Error| format!("no server answers at {target}: {e}");
        let mut stream = TcpStream::connect_timeout(&target.address, TIME).map_err(unreachable)?;
        stream.set_read_timeout(Some(TIME)).map_err(unreachable)?;
        stream.set_write_timeout(Some(TIME)).map_err(unreachable)?;
        let mut headers = vec![("Connection", "close")];
        headers.extend(self.authorization.as_deref().map(|shown| ("Authorization", shown)));
        stream.write_all(&target.request(method, path, &headers, body)).map_err(unreachable)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(unreachable)?;
        read(&answer).ok_or_else(|| format!("what answers at {target} is not Tickettock"))?
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
    fn answers() {
        let ok = read(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"success\":true}").unwrap();
        assert_eq!(ok.unwrap()["success"], true);
        let no = read(b"HTTP/1.1 409 Conflict\r\n\r\n{\"reason\":\"in_use\",\"message\":\"It is in use.\"}").unwrap();
        assert_eq!(no.unwrap_err(), "It is in use.");
        assert!(read(b"SSH-2.0").is_none());
    }
}
