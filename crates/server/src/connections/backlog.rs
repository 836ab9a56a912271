//! Reads the length of a listener's backlog in the kernel, and how many attempts it has dropped. This needs no
//! privileges.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use rustix::fs::fstat;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

/// The length of a backlog, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogLength {
    pub waiting: u64,
    pub limit: u64,
    /// Attempts dropped since the listener was opened, because the backlog was full. The counter wraps at 2^32.
    pub dropped: u32,
}

/// From `linux/sock_diag.h`, `linux/netlink.h` and `linux/inet_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const IPPROTO_TCP: u8 = 6;
const HEADER: usize = 16;
const QUESTION: usize = HEADER + 56;
const REMOTE_PORT: usize = HEADER + 10;
/// After the header: four bytes, the address (48 bytes), a timer (4 bytes).
const WAITING: usize = HEADER + 56;
const LIMIT: usize = WAITING + 4;
/// After the limit: a user and an inode, then attributes.
const INODE: usize = LIMIT + 8;
const ATTRIBUTES: usize = LIMIT + 12;
/// `INET_DIAG_SKMEMINFO`, requested with a bit. Its ninth number counts the drops.
const MEMORY: u16 = 7;
const DROPPED: usize = 8 * 4;

/// With two listeners on an address, each request finds either with equal probability.
const QUESTIONS: usize = 64;

/// The backlog of one listener.
#[derive(Debug)]
pub struct ListenBacklog {
    diagnosis: OwnedFd,
    question: [u8; QUESTION],
    /// When a second listener has the same address, the kernel chooses one by the remote port.
    remote_port: u16,
    inode: u32,
}

impl ListenBacklog {
    pub fn of(listener: &TcpListener) -> io::Result<ListenBacklog> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let diagnosis = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        let inode = fstat(listener)?.st_ino as u32;
        Ok(ListenBacklog { diagnosis, question: question(listener.local_addr()?), remote_port: 0, inode })
    }

    pub fn length(&mut self) -> io::Result<BacklogLength> {
        for _ in 0..QUESTIONS {
            let (inode, length) = self.ask()?;
            if inode == self.inode {
                return Ok(length);
            }
            self.remote_port = self.remote_port.wrapping_add(1);
            self.question[REMOTE_PORT..][..2].copy_from_slice(&self.remote_port.to_be_bytes());
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Queries one listener on the address, with its inode.
    fn ask(&self) -> io::Result<(u32, BacklogLength)> {
        send(&self.diagnosis, &self.question, SendFlags::empty())?;
        let mut answer = [0; 512];
        // The kernel answers before `send` returns.
        let (length, _) = recv(&self.diagnosis, &mut answer, RecvFlags::empty())?;
        let field = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
        let kind = u16::from_ne_bytes([answer[4], answer[5]]);
        match (field(WAITING), field(LIMIT), field(INODE)) {
            (Some(waiting), Some(limit), Some(inode)) if kind == SOCK_DIAG_BY_FAMILY && length >= ATTRIBUTES => {
                let dropped = dropped(answer.get(ATTRIBUTES..length).unwrap_or_default()).unwrap_or(0);
                Ok((inode, BacklogLength { waiting: waiting.into(), limit: limit.into(), dropped }))
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Parses the attributes of a response: each has a length, a type and a value, and is aligned to four bytes.
fn dropped(mut attributes: &[u8]) -> Option<u32> {
    while let Some((head, _)) = attributes.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = attributes.get(4..length)?;
        if u16::from_ne_bytes([head[2], head[3]]) == MEMORY {
            return value.get(DROPPED..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// Requests one socket, not a dump of all.
fn question(listener: SocketAddr) -> [u8; QUESTION] {
    let mut bytes = [0; QUESTION];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &(QUESTION as u32).to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &NLM_F_REQUEST.to_ne_bytes());
    let family = if listener.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    put(HEADER, &[family.as_raw() as u8, IPPROTO_TCP, 1 << (MEMORY - 1)]);
    put(HEADER + 4, &u32::MAX.to_ne_bytes());
    put(HEADER + 8, &listener.port().to_be_bytes());
    match listener.ip() {
        IpAddr::V4(ip) => put(HEADER + 12, &ip.octets()),
        IpAddr::V6(ip) => put(HEADER + 12, &ip.octets()),
    }
    // No cookie.
    put(HEADER + 48, &[0xff; 8]);
    bytes
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn length_of_the_backlog_is_known_on_both_families() {
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let mut local = listener.local_addr().unwrap();
            let mut backlog = ListenBacklog::of(&listener).unwrap();
            let empty = backlog.length().unwrap();
            assert_eq!(empty, BacklogLength { waiting: 0, limit: 128, dropped: 0 }, "{address}");
            if local.ip().is_unspecified() {
                local.set_ip("127.0.0.1".parse().unwrap());
            }
            let _waiting: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(local).unwrap()).collect();
            assert_eq!(backlog.length().unwrap().waiting, 3, "{address}");
            listener.accept().unwrap();
            assert_eq!(backlog.length().unwrap().waiting, 2, "{address}");
        }
    }

    #[test]
    fn attempts_beyond_a_full_backlog_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let mut backlog = ListenBacklog::of(&listener).unwrap();
        let attempt = || {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            let _ = socket.connect(&local.into());
            socket
        };
        let _attempts: Vec<socket2::Socket> = (0..140).map(|_| attempt()).collect();
        let length = backlog.length().unwrap();
        assert!(length.waiting >= length.limit && length.dropped >= 5, "{length:?}");
    }
}
