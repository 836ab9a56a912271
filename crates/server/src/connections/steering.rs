//! Selects which of two listeners on one address gets a SYN: the served one, or the wall. The kernel runs a classic
//! BPF program (`SO_ATTACH_REUSEPORT_CBPF`), for which a process needs no privileges.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use nix::libc::{sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt};

use super::sieve::ALL;

/// Classic BPF, from `linux/bpf_common.h`.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF_BEHIND_INDEX: u16 = 0x48;
const SET_INDEX: u16 = 0x01;
/// Four times the lower half of a byte: the length of an IPv4 header.
const SET_INDEX_TO_LENGTH: u16 = 0xb1;
const XOR: u16 = 0xa4;
const MULTIPLY: u16 = 0x24;
const SHIFT_RIGHT: u16 = 0x74;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
/// `SKF_NET_OFF`: offsets count from the IP header. Without it, they count from the end of the TCP header.
const IP_HEADER: u32 = 0xfff0_0000;
const IPV4: u32 = 4;
const IPV4_SOURCE: u32 = IP_HEADER + 12;
const IPV4_LENGTH: u32 = 20;
/// The last four bytes.
const IPV6_SOURCE: u32 = IP_HEADER + 20;
const IPV6_LENGTH: u32 = 40;
/// The golden ratio: neighbouring ports are spread evenly.
const SPREAD: u32 = 0x9E37_79B1;
/// Indexes in the order of `listen`.
const SERVED: u32 = 0;
const WALL: u32 = 1;

#[derive(Clone, Copy, Debug)]
pub enum Steering {
    /// No attempt goes to the wall.
    AllServed,
    /// The attempt from this address does.
    OneToWall(SocketAddr),
    /// All but this share do, selected by their port and this server's salt.
    ShareServed { share: u32, salt: u16 },
}

impl Steering {
    /// Takes effect at both listeners. One without `SO_REUSEPORT` must have had it when a program was first attached.
    pub fn attach(self, listener: &impl AsFd) -> io::Result<()> {
        let mut steps = self.program();
        let program = sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        Ok(setsockopt(listener, sockopt::AttachReusePortCbpf, &program)?)
    }

    fn program(self) -> Vec<sock_filter> {
        let jump = |code, jt, jf, k| sock_filter { code, jt, jf, k };
        let step = |code, k| sock_filter { code, jt: 0, jf: 0, k };
        match self {
            Steering::AllServed | Steering::ShareServed { share: ALL.., .. } => vec![step(RETURN, SERVED)],
            Steering::OneToWall(source) => {
                let (end, address_at, length) = match source.ip() {
                    IpAddr::V4(ip) => (ip.to_bits(), IPV4_SOURCE, IPV4_LENGTH),
                    IpAddr::V6(ip) => (ip.to_bits() as u32, IPV6_SOURCE, IPV6_LENGTH),
                };
                vec![
                    step(LOAD_WORD, address_at),
                    jump(JUMP_EQUAL, 0, 3, end),
                    step(LOAD_HALF, IP_HEADER + length),
                    jump(JUMP_EQUAL, 0, 1, source.port().into()),
                    step(RETURN, WALL),
                    step(RETURN, SERVED),
                ]
            }
            // A retransmitted SYN that met the wall meets it again: its port is the same. A listener on `[::]` gets
            // both families.
            Steering::ShareServed { share, salt } => vec![
                step(SET_INDEX, IPV6_LENGTH),
                step(LOAD_BYTE, IP_HEADER),
                step(SHIFT_RIGHT, 4),
                jump(JUMP_EQUAL, 0, 1, IPV4),
                step(SET_INDEX_TO_LENGTH, IP_HEADER),
                step(LOAD_HALF_BEHIND_INDEX, IP_HEADER),
                step(XOR, salt.into()),
                step(MULTIPLY, SPREAD),
                step(SHIFT_RIGHT, 16),
                jump(JUMP_AT_LEAST, 1, 0, share),
                step(RETURN, SERVED),
                step(RETURN, WALL),
            ],
        }
    }
}

/// Whether an attempt from this port is served.
#[cfg(test)]
pub fn is_served(port: u16, share: u32, salt: u16) -> bool {
    u32::from(port ^ salt).wrapping_mul(SPREAD) >> 16 < share
}
