//! Bytes over TCP, for what no HTTP client sends: broken requests, half a request, half a close,
//! headers in just this spelling and order.

use std::net::SocketAddr;
use std::time::Duration;

use client::{HeaderMap, HeaderName, HeaderValue, HttpResponse};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::http::TestResponse;

/// A connection over which these bytes were sent.
pub async fn send(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    stream.write_all(bytes).await.expect("the bytes are taken");
    stream
}

/// Sends these bytes, and reads until the other side closes or is silent for this long. The other side may
/// close before it has read everything.
pub async fn exchange(address: SocketAddr, bytes: &[u8], silence: Duration) -> String {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while let Ok(Ok(read)) = tokio::time::timeout(silence, stream.read(&mut part)).await {
        if read == 0 {
            break;
        }
        answer.extend_from_slice(&part[..read]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of each response in what was read.
pub fn statuses(answer: &str) -> Vec<u16> {
    answer.split("HTTP/1.1 ").skip(1).filter_map(|part| part.get(..3)?.parse().ok()).collect()
}

/// The first header of this name in what was read.
pub fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next().unwrap_or_default();
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// A request whose headers are written as they are given, behind `Host` and before `Content-Length`.
pub async fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> TestResponse {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = if method == "GET" { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}{length}\r\n{body}");
    let mut stream = BufReader::new(send(address, text.as_bytes()).await);
    response(&mut stream).await.unwrap_or_else(|e| panic!("{method} {path}: {e}"))
}

async fn response(stream: &mut BufReader<TcpStream>) -> std::io::Result<TestResponse> {
    let first = line(stream).await?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| not_http(&first))?;
    let mut headers = HeaderMap::new();
    loop {
        let header = line(stream).await?;
        let Some((name, value)) = header.split_once(':') else { break };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| not_http(&header))?;
        headers.append(name, HeaderValue::from_str(value.trim()).map_err(|_| not_http(&header))?);
    }
    let mut body = Vec::new();
    let length = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(length) = length {
        body.resize(length, 0);
        stream.read_exact(&mut body).await?;
    } else if headers.contains_key("transfer-encoding") {
        loop {
            let size = line(stream).await?;
            let size = usize::from_str_radix(&size, 16).map_err(|_| not_http(&size))?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).await?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
    Ok(HttpResponse { status, headers, body: body.into() }.into())
}

async fn line(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut text = String::new();
    if stream.read_line(&mut text).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text.trim_end().to_owned())
}

fn not_http(text: &str) -> std::io::Error {
    std::io::Error::other(format!("not HTTP: {text:?}"))
}
