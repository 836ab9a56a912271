//! Admits only a share of new connections. The kernel drops the others, which costs the server nothing.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::TcpListener;

use rustix::net::sockopt::set_socket_reuseport;

use super::backlog::{BacklogLength, ListenBacklog};
use super::sieve::ALL;
use super::steering::Steering;
use super::wall::Wall;

/// The filter between a listener and its clients.
#[derive(Debug)]
pub struct ConnectionFilter {
    backlog: ListenBacklog,
    /// Two servers behind one address must not drop the same clients.
    salt: u16,
    /// Set when the share first falls below 1.
    wall: Option<Wall>,
}

impl ConnectionFilter {
    pub fn of(listener: &TcpListener) -> io::Result<ConnectionFilter> {
        let salt = RandomState::new().hash_one(listener.local_addr()?) as u16;
        Ok(ConnectionFilter { backlog: ListenBacklog::of(listener)?, salt, wall: None })
    }

    /// The listener's backlog, with the attempts dropped there and at the wall.
    pub fn length(&mut self) -> io::Result<BacklogLength> {
        let mut length = self.backlog.length()?;
        if let Some(wall) = &mut self.wall {
            length.dropped = length.dropped.wrapping_add(wall.backlog.length()?.dropped);
        }
        Ok(length)
    }

    /// Admits this share of new connections. A dropped attempt is dropped again when the client's kernel retransmits
    /// the SYN, because the port is the same. Open connections are not affected. After an error all are admitted.
    pub fn let_in(&mut self, listener: &TcpListener, share: u32) -> io::Result<()> {
        let steered = self.steer(listener, share);
        if steered.is_err() {
            self.wall = None;
            let _ = set_socket_reuseport(listener, false);
        }
        steered
    }

    fn steer(&mut self, listener: &TcpListener, share: u32) -> io::Result<()> {
        if self.wall.is_none() {
            if share >= ALL {
                return Ok(());
            }
            self.wall = Some(Wall::beside(listener)?);
        }
        Steering::ShareServed { share, salt: self.salt }.attach(listener)
    }
}

#[cfg(test)]
mod tests;
