//! One request of the crowd, as bytes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const BODY: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;

/// What matters of an answer.
pub struct CrowdAnswer {
    pub status: u16,
    pub retry_after: Option<Duration>,
}

pub fn request(user: u64) -> Vec<u8> {
    format!(
        "POST /api/v1/events/1/seats/reservation/fcfs HTTP/1.1\r\nHost: localhost\r\nX-User-Id: user-{user:016x}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}

/// One to one, so that no user comes twice; and not in order, as real users come.
pub fn user(seed: u32, i: u64) -> u64 {
    let mut x = (u64::from(seed) << 48) ^ i;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Closing sends a reset, so that the port can be used again at once: a crowd needs more than there are.
pub async fn open(target: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    stream.set_zero_linger()?;
    Ok(stream)
}

pub async fn ask(target: SocketAddr, request: &[u8]) -> io::Result<CrowdAnswer> {
    exchange(&mut open(target).await?, request).await
}

pub async fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<CrowdAnswer> {
    stream.write_all(request).await?;
    let (mut answer, mut length) = ([0; 2_048], 0);
    loop {
        let read = stream.read(&mut answer[length..]).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        length += read;
        if let Some(answer) = understand(&answer[..length]) {
            return Ok(answer);
        }
        if length == answer.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// None: it is not complete.
fn understand(bytes: &[u8]) -> Option<CrowdAnswer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.get(9..12)?.parse().ok()?;
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.parse::<u64>().ok())
    };
    if header("content-length").is_some_and(|length| (body.len() as u64) < length) {
        return None;
    }
    Some(CrowdAnswer { status, retry_after: header("retry-after").map(Duration::from_secs) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood_when_they_are_complete() {
        let text = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 2\r\n\r\n{}";
        assert!((0..text.len()).all(|end| understand(&text[..end]).is_none()));
        let answer = understand(text).unwrap();
        assert_eq!((answer.status, answer.retry_after), (503, Some(Duration::from_secs(7))));
    }
}
