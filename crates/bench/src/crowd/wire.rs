//! One request of the crowd, as bytes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// `EINPROGRESS` of Linux.
const IN_PROGRESS: i32 = 115;
/// Addresses people come from.
const SOURCES: u8 = 16;
const BODY: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;

/// What matters of an answer.
pub struct CrowdAnswer {
    pub status: u16,
    pub retry_after: Option<Duration>,
    /// How long the connection took.
    pub connecting: Duration,
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
    let stream = begin(target)?;
    stream.writable().await?;
    match stream.take_error()? {
        None => Ok(stream),
        Some(error) => Err(error),
    }
}

/// One loopback address after the other: a single one has too few ports for a crowd whose attempts are dropped.
fn source() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    Ipv4Addr::new(127, 0, 1, 1 + NEXT.fetch_add(1, Ordering::Relaxed) % SOURCES)
}

/// Starts to connect. On loopback the connection mostly stands when the call returns.
fn begin(target: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(target), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_linger(Some(Duration::ZERO))?;
    if target.is_ipv4() {
        socket.bind(&SocketAddr::from((source(), 0)).into())?;
    }
    match socket.connect(&target.into()) {
        Err(error) if error.raw_os_error() != Some(IN_PROGRESS) => return Err(error),
        _ => {}
    }
    TcpStream::from_std(socket.into())
}

/// Asks on a connection of its own. As a real client's, the request follows the handshake at once, and does not
/// wait until this generator comes round.
pub async fn ask(target: SocketAddr, request: &[u8]) -> io::Result<CrowdAnswer> {
    let (mut stream, began) = (begin(target)?, Instant::now());
    if SockRef::from(&stream).send(request).is_ok_and(|sent| sent == request.len()) {
        return answer(&mut stream).await;
    }
    stream.writable().await?;
    let connecting = began.elapsed();
    let answer = exchange(&mut stream, request).await?;
    Ok(CrowdAnswer { connecting, ..answer })
}

pub async fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<CrowdAnswer> {
    stream.write_all(request).await?;
    answer(stream).await
}

async fn answer(stream: &mut TcpStream) -> io::Result<CrowdAnswer> {
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
    Some(CrowdAnswer {
        status,
        retry_after: header("retry-after").map(Duration::from_secs),
        connecting: Duration::ZERO,
    })
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
