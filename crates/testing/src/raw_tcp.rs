//! Bytes over TCP, for what no HTTP client sends: broken requests, half a request, half a close.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection over which these bytes were sent.
pub async fn send(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    stream.write_all(bytes).await.expect("the bytes are taken");
    stream
}

/// Sends these bytes, and reads until the other side closes or has been silent for so long. The other side may
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
