//! A plain HTTP/1.1 client over one connection. Small on purpose: it sends exactly what it is
//! told to, and can hang up whenever a test wants.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {:?}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn reason(&self) -> String {
        self.json()["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// The seat of a success.
    pub fn seat(&self) -> Option<u64> {
        if self.status == 200 { self.json()["seat"]["id"].as_u64() } else { None }
    }

    pub fn sequence(&self) -> Option<u64> {
        self.json()["sequence"].as_u64()
    }
}

pub const BUYER: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;

pub struct Client {
    address: SocketAddr,
    stream: Option<BufStream<TcpStream>>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        Client { address, stream: None }
    }

    /// Any request. Reconnects when the server closed the idle connection.
    pub async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.try_send(method, path, headers, body).await.unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    pub async fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<Answer> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: test\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || method != "GET" {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.raw(text.as_bytes()).await
    }

    /// Sends these bytes and reads one answer.
    pub async fn raw(&mut self, bytes: &[u8]) -> std::io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => BufStream::new(TcpStream::connect(self.address).await?),
        };
        stream.write_all(bytes).await?;
        stream.flush().await?;
        let answer = read(&mut stream).await?;
        if !answer.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close")) {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    pub async fn get_as(&mut self, user: &str, path: &str) -> Answer {
        self.send("GET", path, &[("X-User-Id", user)], "").await
    }

    pub async fn post_as(&mut self, user: &str, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[("X-User-Id", user), ("Content-Type", "application/json")], body).await
    }

    /// One seat of the event, first come, first served.
    pub async fn reserve(&mut self, event: u64, user: &str) -> Answer {
        self.post_as(user, &format!("/api/v1/events/{event}/seats/reservation/fcfs"), BUYER).await
    }

    pub async fn reserve_with_key(&mut self, event: u64, user: &str, key: &str, body: &str) -> Answer {
        let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
        let headers = [("X-User-Id", user), ("Content-Type", "application/json"), ("Idempotency-Key", key)];
        self.send("POST", &path, &headers, body).await
    }

    pub async fn cancel(&mut self, user: &str, reservation: &str) -> Answer {
        self.send("DELETE", &format!("/api/v1/reservations/{reservation}"), &[("X-User-Id", user)], "").await
    }
}

async fn read(stream: &mut BufStream<TcpStream>) -> std::io::Result<Answer> {
    let status_line = line(stream).await?;
    let status = status_line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(|| broken(&status_line))?;
    let mut headers = Vec::new();
    loop {
        let header = line(stream).await?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| broken(&header))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    if let Some(length) = answer.header("content-length").and_then(|v| v.parse().ok()) {
        answer.body = vec![0; length];
        stream.read_exact(&mut answer.body).await?;
    } else if answer.header("transfer-encoding").is_some() {
        loop {
            let size = line(stream).await?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(|_| broken(&size))?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).await?;
            if size == 0 {
                break;
            }
            answer.body.extend_from_slice(&chunk[..size]);
        }
    }
    Ok(answer)
}

async fn line(stream: &mut BufStream<TcpStream>) -> std::io::Result<String> {
    let mut text = String::new();
    if stream.read_line(&mut text).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text.trim_end().to_owned())
}

fn broken(text: &str) -> std::io::Error {
    std::io::Error::other(format!("not HTTP: {text:?}"))
}
