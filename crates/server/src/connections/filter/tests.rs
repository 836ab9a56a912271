use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use socket2::{Domain, Socket, Type};

use super::super::listener;
use super::super::steering::is_served;
use super::*;

/// The kernel repeats an attempt after a second.
const WITHIN: Duration = Duration::from_millis(500);
const LISTENERS: [(&str, &[&str]); 5] = [
    ("127.0.0.1:0", &["127.0.0.1"]),
    ("127.0.0.7:0", &["127.0.0.7"]),
    ("[::1]:0", &["::1"]),
    ("0.0.0.0:0", &["127.0.0.1"]),
    ("[::]:0", &["127.0.0.1", "::1"]),
];

/// A listener with its filter.
struct Filtered {
    // Dropped before the listener, as in the server.
    filter: ConnectionFilter,
    listener: TcpListener,
    local: SocketAddr,
}

/// As the server does, without its runtime.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _in_runtime = runtime.enter();
    let listener = listener::bind(address)?.into_std()?;
    listener.set_nonblocking(false)?;
    Ok(listener)
}

impl Filtered {
    fn on(address: &str) -> Filtered {
        let listener = bind(address.parse().unwrap()).unwrap();
        let local = listener.local_addr().unwrap();
        Filtered { filter: ConnectionFilter::of(&listener).unwrap(), listener, local }
    }

    fn let_in(&mut self, share: u32) {
        self.filter.let_in(&self.listener, share).unwrap();
    }

    fn waiting(&mut self) -> u64 {
        self.filter.length().unwrap().waiting
    }

    fn dropped(&mut self) -> u32 {
        self.filter.length().unwrap().dropped
    }

    /// Where somebody at this address of the machine finds it.
    fn at(&self, ip: &str) -> SocketAddr {
        SocketAddr::new(ip.parse::<IpAddr>().unwrap(), self.local.port())
    }
}

fn connects(to: SocketAddr) -> Option<TcpStream> {
    TcpStream::connect_timeout(&to, WITHIN).ok()
}

/// Attempts at the same time, each with the port that it came from.
fn attempts(to: SocketAddr, count: usize) -> Vec<(u16, Option<Socket>)> {
    let attempt = move || {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(to.ip(), 0).into()).unwrap();
        let port = socket.local_addr().unwrap().as_socket().unwrap().port();
        let connected = socket.connect_timeout(&to.into(), WITHIN);
        (port, connected.ok().map(|()| socket))
    };
    let attempts: Vec<_> = (0..count).map(|_| std::thread::spawn(attempt)).collect();
    attempts.into_iter().map(|attempt| attempt.join().unwrap()).collect()
}

#[test]
fn filter_drops_new_connections_and_leaves_open_ones_alone() {
    for (address, clients) in LISTENERS {
        let mut filtered = Filtered::on(address);
        for client in clients {
            let to = filtered.at(client);
            let mut before = connects(to).unwrap();
            let dropped = filtered.dropped();
            filtered.let_in(0);
            assert_eq!((filtered.waiting(), filtered.dropped()), (1, dropped), "{address}");
            assert!(connects(to).is_none(), "{address}");
            assert_eq!((filtered.waiting(), filtered.dropped()), (1, dropped + 1), "{address}");
            let (mut accepted, _) = filtered.listener.accept().unwrap();
            before.write_all(b"x").unwrap();
            accepted.read_exact(&mut [0]).unwrap();
            filtered.let_in(ALL);
            let after: Vec<_> = (0..16).filter_map(|_| connects(to)).collect();
            assert_eq!((after.len(), filtered.waiting()), (16, 16), "{address}");
            after.iter().for_each(|_| drop(filtered.listener.accept().unwrap()));
        }
    }
}

#[test]
fn filter_chooses_its_share_by_the_port() {
    for (address, clients) in LISTENERS {
        let mut filtered = Filtered::on(address);
        for (client, share) in clients.iter().zip([ALL / 2, ALL / 3]) {
            filtered.let_in(share);
            for (port, connected) in attempts(filtered.at(client), 32) {
                let served = is_served(port, share, filtered.filter.salt);
                assert_eq!(connected.is_some(), served, "{address} from {client} port {port}");
            }
        }
    }
}

#[test]
fn filter_lets_about_its_share_in() {
    for share in [ALL / 16, ALL / 2, ALL - ALL / 16] {
        let served = (32_768..61_000).filter(|port| is_served(*port, share, 0x1234)).count();
        let wanted = (61_000 - 32_768) * share as usize / ALL as usize;
        assert!(served.abs_diff(wanted) < 300, "{served} instead of {wanted}");
    }
}

#[test]
fn filter_needs_no_privileges() {
    // Of this thread alone.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).unwrap();
    let mut filtered = Filtered::on("127.0.0.1:0");
    filtered.let_in(0);
    assert!(connects(filtered.local).is_none());
    filtered.let_in(ALL);
    assert!(connects(filtered.local).is_some());
}

#[test]
fn second_server_on_the_address_fails_with_a_filter_too() {
    let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let local = first.local_addr().unwrap();
    let second_fails = || bind(local).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
    assert!(second_fails());
    let mut filter = ConnectionFilter::of(&first).unwrap();
    for share in [ALL / 2, ALL, ALL / 16] {
        filter.let_in(&first, share).unwrap();
        assert!(second_fails(), "{share}");
    }
    let _open = {
        filter.let_in(&first, ALL).unwrap();
        (connects(local).unwrap(), first.accept().unwrap())
    };
    drop((filter, first));
    assert!(bind(local).is_ok(), "a new server may take the address of one that has ended");
}

/// Listens where somebody else of this user may, too.
fn shared(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    set_socket_reuseport(&socket, true)?;
    socket.bind(&address.into())?;
    socket.listen(128)?;
    Ok(socket.into())
}

/// How many of 64 reach a second listener that has just been opened.
fn reach_the_second(first: &TcpListener) -> u64 {
    let local = first.local_addr().unwrap();
    set_socket_reuseport(first, true).unwrap();
    let second = shared(local).unwrap();
    let all: Vec<_> = (0..64).filter_map(|_| connects(local)).collect();
    assert_eq!(all.len(), 64);
    ListenBacklog::of(&second).unwrap().length().unwrap().waiting
}

#[test]
fn nobody_reaches_a_wall_that_has_just_been_opened() {
    let foreseen = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    assert_eq!(reach_the_second(&foreseen), 0);
    let unforeseen = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(reach_the_second(&unforeseen) > 0);
}

#[test]
fn wall_that_was_not_foreseen_is_not_opened() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut filter = ConnectionFilter::of(&listener).unwrap();
    filter.let_in(&listener, 0).unwrap_err();
    let all = (0..16).filter_map(|_| connects(listener.local_addr().unwrap())).count();
    assert_eq!(all, 16);
}

#[test]
fn nobody_shares_the_address_of_a_listener_without_a_wall() {
    let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    assert_eq!(shared(listener.local_addr().unwrap()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
}

#[test]
fn wall_that_does_not_fill_is_taken_down() {
    // Of three on one address, the wall is not the second.
    let listener = shared("127.0.0.1:0".parse().unwrap()).unwrap();
    let local = listener.local_addr().unwrap();
    let other = shared(local).unwrap();
    let mut filter = ConnectionFilter::of(&listener).unwrap();
    filter.let_in(&listener, 0).unwrap_err();
    assert!(filter.wall.is_none());
    drop(other);
    let all = (0..16).filter_map(|_| connects(local)).count();
    assert_eq!(all, 16);
}

#[test]
fn after_an_error_everybody_is_let_in() {
    let mut filtered = Filtered::on("127.0.0.1:0");
    filtered.let_in(0);
    // No program can be attached to one that has no wall.
    let unrelated = TcpListener::bind("127.0.0.1:0").unwrap();
    filtered.filter.let_in(&unrelated, ALL / 2).unwrap_err();
    let all = (0..16).filter_map(|_| connects(filtered.local)).count();
    assert_eq!(all, 16);
}
