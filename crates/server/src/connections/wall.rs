//! A second listener on the address of the served one. Its backlog is always full, so the kernel drops every SYN that
//! is steered to it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::sockopt::set_socket_reuseport;
use socket2::{Domain, Socket, Type};

use super::backlog::ListenBacklog;
use super::steering::Steering;

/// The kernel queues one more. With a backlog of 0, some kernels treat every attempt as a SYN flood, and log that.
const BACKLOG: i32 = 1;
const FILLING: usize = 2;
/// The connection is local, but the kernel is busy when a crowd comes.
const CONNECTED_WITHIN: Duration = Duration::from_millis(200);
/// A handshake may complete a moment after the call that began it.
const LOOKS: usize = 100;
const LOOK: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub struct Wall {
    // Queried, and never accepted from.
    _listener: TcpListener,
    _filling: Vec<Socket>,
    pub backlog: ListenBacklog,
}

impl Wall {
    /// Prepares a socket that is bound and does not listen yet for a wall. The kernel accepts a program for two
    /// listeners then, or when the second one listens already, which is too late: it would get half of the
    /// connections.
    pub fn foresee(socket: &impl AsFd) -> io::Result<()> {
        // On for this call only: a second server on the address has to fail.
        set_socket_reuseport(socket, true)?;
        let attached = Steering::AllServed.attach(socket);
        set_socket_reuseport(socket, false)?;
        attached
    }

    /// The listener must be alone on its address and prepared by `foresee`. No other connection is steered to the
    /// wall before it is full, nor afterwards until a share is set.
    pub fn beside(listener: &TcpListener) -> io::Result<Wall> {
        let local = listener.local_addr()?;
        let socket = Socket::new(Domain::for_address(local), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_reuse_address(true)?;
        set_socket_reuseport(&socket, true)?;
        set_socket_reuseport(listener, true)?;
        Steering::AllServed.attach(listener)?;
        socket.bind(&local.into())?;
        socket.listen(BACKLOG)?;
        let wall = TcpListener::from(socket);
        let mut backlog = ListenBacklog::of(&wall)?;
        let filling = fill(listener, local)?;
        Steering::AllServed.attach(listener)?;
        for _ in 0..LOOKS {
            let length = backlog.length()?;
            if length.waiting > length.limit {
                return Ok(Wall { _listener: wall, _filling: filling, backlog });
            }
            std::thread::sleep(LOOK);
        }
        Err(io::Error::other("the backlog of the second listener did not fill"))
    }
}

/// Our own connections, to the first address of the listener that this machine has.
fn fill(listener: &TcpListener, local: SocketAddr) -> io::Result<Vec<Socket>> {
    let mut failed = io::ErrorKind::AddrNotAvailable.into();
    for ip in own_addresses(local.ip()) {
        let mut target = local;
        target.set_ip(ip);
        match (0..FILLING).map(|_| connect(listener, target)).collect() {
            Ok(filling) => return Ok(filling),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn own_addresses(listener: IpAddr) -> Vec<IpAddr> {
    let (v4, v6) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
    match listener.to_canonical() {
        // A machine that listens on `[::]` may have no IPv6 address at all.
        IpAddr::V6(ip) if ip.is_unspecified() => vec![v6, v4],
        IpAddr::V4(ip) if ip.is_unspecified() => vec![v4],
        ip => vec![ip],
    }
}

fn connect(listener: &TcpListener, target: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(target), Type::STREAM, None)?;
    let mut source = target;
    source.set_port(0);
    socket.bind(&source.into())?;
    source = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Steering::OneToWall(source).attach(listener)?;
    socket.connect_timeout(&target.into(), CONNECTED_WITHIN)?;
    Ok(socket)
}
