//! One keep-alive connection that asks one thing at a time. Small, because a generator that costs
//! more than the server measures itself.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Nothing we ask for is larger.
const ANSWER_MOST: usize = 256 * 1024 * 1024;

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

/// An answer that lies in the connection's buffer.
#[derive(Debug)]
pub struct Answer<'a> {
    pub status: u16,
    pub head: &'a str,
    pub body: &'a [u8],
}

impl Answer<'_> {
    pub fn header(&self, name: &str) -> Option<&str> {
        header(self.head, name)
    }
}

impl Connection {
    pub async fn open(target: SocketAddr) -> io::Result<Connection> {
        Connection::begin(TcpStream::connect(target).await?)
    }

    /// Comes from this address: on loopback a crowd can have many.
    pub async fn open_from(target: SocketAddr, from: IpAddr) -> io::Result<Connection> {
        let socket = if target.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.bind(SocketAddr::new(from, 0))?;
        Connection::begin(socket.connect(target).await?)
    }

    fn begin(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: vec![0; 4096], filled: 0 })
    }

    /// Sends without waiting for an answer, as one does who hangs up.
    pub async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request).await
    }

    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.send(request).await?;
        self.filled = 0;
        let head_end = loop {
            if let Some(end) = find(&self.buffer[..self.filled], b"\r\n\r\n") {
                break end + 4;
            }
            self.fill().await?;
        };
        let head = std::str::from_utf8(&self.buffer[..head_end]).map_err(io::Error::other)?;
        let status = head.get(9..12).and_then(|s| s.parse().ok()).ok_or_else(|| io::Error::other("not HTTP"))?;
        let length: usize = header(head, "content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
        if length > ANSWER_MOST {
            return Err(io::Error::other("the answer is too large"));
        }
        while self.filled < head_end + length {
            self.fill().await?;
        }
        let head = std::str::from_utf8(&self.buffer[..head_end]).map_err(io::Error::other)?;
        Ok(Answer { status, head, body: &self.buffer[head_end..head_end + length] })
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = self.stream.read(&mut self.buffer[self.filled..]).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.filled += read;
        Ok(())
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
