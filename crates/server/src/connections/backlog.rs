//! The kernel's side of a listener: how many connections wait in its backlog, and a filter that lets only a share
//! of new ones in. A process may ask for both without privileges.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use socket2::{SockFilter, SockRef};

use super::sieve::ALL;

/// What waits in a backlog, and how many may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogLength {
    pub waiting: u64,
    pub limit: u64,
    /// Attempts dropped since the listener was opened, by the filter or because the backlog was full. The kernel
    /// counts to 2^32 and begins anew.
    pub dropped: u32,
}

/// From `linux/sock_diag.h`, `linux/netlink.h` and `linux/inet_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const IPPROTO_TCP: u8 = 6;
const HEADER: usize = 16;
const QUESTION: usize = HEADER + 56;
/// Behind the header: four bytes, the address (48 bytes), a time (4 bytes).
const WAITING: usize = HEADER + 56;
const LIMIT: usize = WAITING + 4;
/// Behind the limit: a user and an inode, then attributes.
const ATTRIBUTES: usize = LIMIT + 12;
/// `INET_DIAG_SKMEMINFO`, which is asked for with a bit; the ninth number in it is what was dropped.
const MEMORY: u16 = 7;
const DROPPED: usize = 8 * 4;

/// Classic BPF, from `linux/bpf_common.h`.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const AND: u16 = 0x54;
const XOR: u16 = 0xa4;
const MULTIPLY: u16 = 0x24;
const SHIFT_RIGHT: u16 = 0x74;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
/// The filter sees a packet from its TCP header on.
const SOURCE_PORT: u32 = 0;
const TCP_FLAGS: u32 = 13;
const SYN: u32 = 0x02;
const SYN_OR_ACK: u32 = 0x12;
/// The golden ratio: neighbouring ports are spread evenly.
const SPREAD: u32 = 0x9E37_79B1;

/// The backlog of one listener.
#[derive(Debug)]
pub struct ListenBacklog {
    diagnosis: OwnedFd,
    question: [u8; QUESTION],
    /// Two servers behind one address must not drop the same people.
    salt: u32,
}

impl ListenBacklog {
    pub fn of(listener: SocketAddr) -> io::Result<ListenBacklog> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let diagnosis = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        let salt = RandomState::new().hash_one(listener) as u16;
        Ok(ListenBacklog { diagnosis, question: question(listener), salt: salt.into() })
    }

    pub fn length(&self) -> io::Result<BacklogLength> {
        send(&self.diagnosis, &self.question, SendFlags::empty())?;
        let mut answer = [0; 512];
        // The kernel answers before `send` returns.
        let (length, _) = recv(&self.diagnosis, &mut answer, RecvFlags::empty())?;
        let field = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
        let kind = u16::from_ne_bytes([answer[4], answer[5]]);
        match (field(WAITING), field(LIMIT)) {
            (Some(waiting), Some(limit)) if kind == SOCK_DIAG_BY_FAMILY && length >= LIMIT + 4 => {
                let dropped = dropped(answer.get(ATTRIBUTES..length).unwrap_or_default()).unwrap_or(0);
                Ok(BacklogLength { waiting: waiting.into(), limit: limit.into(), dropped })
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Lets this share of new connections in. An attempt that is dropped is dropped again when the client's
    /// kernel repeats it, because it comes from the same port. Open connections are not touched.
    pub fn let_in(&self, listener: impl AsFd, share: u32) -> io::Result<()> {
        let socket = SockRef::from(&listener);
        if share >= ALL {
            return socket.detach_filter();
        }
        socket.attach_filter(&[
            SockFilter::new(LOAD_BYTE, 0, 0, TCP_FLAGS),
            SockFilter::new(AND, 0, 0, SYN_OR_ACK),
            SockFilter::new(JUMP_EQUAL, 0, 5, SYN),
            SockFilter::new(LOAD_HALF, 0, 0, SOURCE_PORT),
            SockFilter::new(XOR, 0, 0, self.salt),
            SockFilter::new(MULTIPLY, 0, 0, SPREAD),
            SockFilter::new(SHIFT_RIGHT, 0, 0, 16),
            SockFilter::new(JUMP_AT_LEAST, 1, 0, share),
            SockFilter::new(RETURN, 0, 0, u32::MAX),
            SockFilter::new(RETURN, 0, 0, 0),
        ])
    }
}

/// From the attributes of an answer: each has its length, its kind and its value, and begins at a multiple of four.
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

/// Asks for one socket, not for a list of all.
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
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;

    fn connects(to: SocketAddr) -> Option<TcpStream> {
        TcpStream::connect_timeout(&to, Duration::from_millis(200)).ok()
    }

    #[test]
    fn length_of_the_backlog_is_known_on_both_families() {
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let mut local = listener.local_addr().unwrap();
            let backlog = ListenBacklog::of(local).unwrap();
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
        let backlog = ListenBacklog::of(local).unwrap();
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

    #[test]
    fn filter_drops_new_connections_and_leaves_open_ones_alone() {
        use std::io::{Read, Write};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let backlog = ListenBacklog::of(local).unwrap();
        let mut before = connects(local).unwrap();
        backlog.let_in(&listener, 0).unwrap();
        assert!(connects(local).is_none());
        assert_eq!(backlog.length().unwrap().dropped, 1);
        let (mut accepted, _) = listener.accept().unwrap();
        before.write_all(b"x").unwrap();
        accepted.read_exact(&mut [0]).unwrap();
        backlog.let_in(&listener, ALL).unwrap();
        assert!(connects(local).is_some());
    }

    #[test]
    fn filter_lets_about_its_share_in() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let backlog = ListenBacklog::of(local).unwrap();
        backlog.let_in(&listener, ALL / 2).unwrap();
        let attempts: Vec<_> = (0..64).map(|_| std::thread::spawn(move || connects(local))).collect();
        let came = attempts.into_iter().filter_map(|attempt| attempt.join().unwrap()).count();
        assert!((12..=52).contains(&came), "{came} of 64");
    }
}
