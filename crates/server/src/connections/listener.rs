//! Accepts connections up to the limit. Beyond it they wait in the kernel's backlog, which costs no processor time.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{SendFlags, SocketFlags, acceptfrom_with, send};
use salvo::conn::http1::Builder;
use salvo::conn::{ConnCtrl, StraightStream};
use salvo::fuse::FuseConfig;
use salvo::http::uri::Scheme;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::client::ClientSocket;
use super::drive::{Stage, drive, http1};
use super::heads::is_one_request;
use super::open::OpenConnections;
use super::paced::PacedReads;
use super::service::GatedService;
use super::sifting::{AcceptedCounts, Sifted, Sifting};
use super::unparsed::OwnWords;
use super::unrouted::refused;
use super::wall::Wall;
use crate::app::App;
use crate::gate::{Accepting, thread_time};

/// The listen backlog. The kernel drops connection attempts beyond it, and the client retries after a
/// second; a sudden crowd exceeds the usual 128. The kernel's own limit (`net.core.somaxconn`) applies
/// too.
const BACKLOG: u32 = 4_096;
/// A client that reads nothing of its response for this long is disconnected.
const WRITE_STALL: Duration = Duration::from_secs(10);
/// A longer request is not refused before its connection is served.
const LOOKED_AT: usize = 4_096;
/// Connections refused between two checks of the time.
const REFUSED_AT_ONCE: usize = 8;
/// Pause after an `accept` error, such as no free file descriptor.
const PAUSE: Duration = Duration::from_millis(10);
/// `accept` errors are logged at most this often, with their count.
const LOGGED_EVERY: Duration = Duration::from_secs(10);

pub fn bind(wanted: SocketAddr) -> io::Result<TcpListener> {
    let socket = if wanted.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // On other systems this option lets two servers share a port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(wanted)?;
    if let Err(error) = Wall::foresee(&socket) {
        tracing::debug!(%error, "new connections cannot be filtered");
    }
    socket.listen(BACKLOG)
}

/// Which listener a connection came in by.
#[derive(Clone, Debug)]
pub enum ListenerKind {
    /// Requests pass the gate.
    Crowd,
    /// `ADMIN_LISTEN`: no request is refused for load, and all run on this listener's own threads. Tasks that the
    /// admin API spawns run on this runtime, that of the lanes.
    Operators(Handle),
}

/// A listener and what its connections share.
pub struct HttpListener {
    /// Declared first, so that the other sockets on the listener's address are closed before it.
    sifting: Mutex<Option<Sifting>>,
    listener: AsyncFd<std::net::TcpListener>,
    local: SocketAddr,
    open: Arc<OpenConnections>,
    app: Arc<App>,
    kind: ListenerKind,
    http1: Builder,
    service: salvo::Service,
    stage: watch::Sender<Stage>,
    accepted: AcceptedCounts,
}

impl HttpListener {
    pub fn new(
        listener: TcpListener,
        app: Arc<App>,
        open: Arc<OpenConnections>,
        kind: ListenerKind,
        routes: salvo::Router,
    ) -> io::Result<HttpListener> {
        let local = listener.local_addr()?;
        // Its successor is unsafe, because a type may close its file early. The standard listener does not.
        #[expect(deprecated)]
        let listener = AsyncFd::new(listener.into_std()?)?;
        let http1 = http1(app.settings.gateway_key.is_some());
        let (service, stage) = (salvo::Service::new(routes), watch::Sender::new(Stage::Serving));
        let accepted = AcceptedCounts::default();
        let sifting = match kind {
            ListenerKind::Crowd => Sifting::of(listener.get_ref()),
            ListenerKind::Operators(_) => None,
        };
        Ok(HttpListener {
            sifting: Mutex::new(sifting),
            listener,
            local,
            open,
            app,
            kind,
            http1,
            service,
            stage,
            accepted,
        })
    }

    /// Serves until `stop` completes. Then requests in progress get `drain` to be answered.
    pub async fn serve(self, stop: impl Future<Output = ()>, drain: Duration) {
        let (open, stage) = (self.open.clone(), self.stage.clone());
        // A task, because the thread that waits here is not one of the runtime's: waking it for every
        // connection takes longer than accepting one.
        let (mut accepting, this) = (JoinSet::new(), Arc::new(self));
        if let ListenerKind::Crowd = this.kind {
            sift(&this);
        }
        accepting.spawn(async move {
            let mut failures = Failures::default();
            loop {
                this.accept(&mut failures).await;
            }
        });
        stop.await;
        drop(accepting);
        stage.send_replace(Stage::Draining);
        if tokio::time::timeout(drain, open.all_ended()).await.is_err() {
            tracing::warn!(connections = open.count(), "connections were still open and are cut");
            stage.send_replace(Stage::Stopped);
        }
    }

    /// When to look at the backlog next, if ever.
    fn look(&self) -> Option<Duration> {
        let mut sifting = self.sifting.lock().unwrap_or_else(PoisonError::into_inner);
        let (listener, gate, accepted) = (self.listener.get_ref(), &*self.app.gate, &self.accepted);
        sifting.as_mut()?.look(&Sifted { listener, gate, accepted })
    }

    async fn accept(&self, failures: &mut Failures) {
        self.open.room().await;
        let accepting = match self.kind {
            ListenerKind::Crowd => self.app.gate.accepting().await,
            ListenerKind::Operators(_) => Accepting::ToServe,
        };
        if accepting == Accepting::ToRefuse {
            return self.refuse_waiting(failures).await;
        }
        let accepted = self.listener.async_io(Interest::READABLE, accept).await;
        match accepted.and_then(|(stream, peer)| Ok((TcpStream::from_std(stream)?, peer))) {
            Ok((stream, peer)) => {
                self.accepted.served.fetch_add(1, Ordering::Relaxed);
                self.begin(stream, peer, accepting);
            }
            Err(error) => failures.pause(&error).await,
        }
    }

    /// Refuses connections that arrived since the last beat: their requests have arrived meanwhile. Accepting them
    /// counts as part of the refusal's cost. Only a few at once, because others may get a place meanwhile. Stops at
    /// one that is served: there may be no room for another connection.
    async fn refuse_waiting(&self, failures: &mut Failures) {
        let began = thread_time();
        let ended = (0..REFUSED_AT_ONCE).map(|_| self.refuse_next()).find(|next| !matches!(next, Ok(true)));
        self.app.gate.refusals().spend(thread_time().saturating_sub(began));
        let Some(Err(error)) = ended else { return };
        if error.kind() != io::ErrorKind::WouldBlock {
            failures.pause(&error).await;
        }
        self.app.gate.next_beat().await;
    }

    /// Accepts a connection. Returns whether it was refused; otherwise it is served.
    fn refuse_next(&self) -> io::Result<bool> {
        let (stream, peer) = accept(self.listener.get_ref())?;
        let served = self.looked_at(stream)?;
        let refused = served.is_none();
        let counted = if refused { &self.accepted.refused } else { &self.accepted.served };
        counted.fetch_add(1, Ordering::Relaxed);
        if let Some(stream) = served {
            self.begin(stream, peer, Accepting::ToRefuse);
        }
        Ok(refused)
    }

    /// Returns the connection if it is to be served. None: its request had already arrived and was refused, at a
    /// fraction of the cost of serving the connection.
    fn looked_at(&self, mut stream: std::net::TcpStream) -> io::Result<Option<TcpStream>> {
        let mut start = [0; LOOKED_AT];
        // Peeks, because a more important request is still served.
        if let Ok(length) = stream.peek(&mut start)
            && is_one_request(&start[..length])
            && let Some(answer) = refused(&self.app, &start[..length], true, true)
        {
            // Read to the end, so that closing does not reset the connection before the answer is read.
            let read = stream.read(&mut start);
            // The answer and the FIN go out in one packet.
            let _ = read.map(|_| send(&stream, &answer, SendFlags::MORE | SendFlags::NOSIGNAL));
            return Ok(None);
        }
        TcpStream::from_std(stream).map(Some)
    }

    /// Serves a connection in a task of its own. Closes it if its address has too many.
    fn begin(&self, stream: TcpStream, peer: SocketAddr, accepting: Accepting) {
        let Some(place) = self.open.enter(peer.ip()) else { return };
        if accepting == Accepting::ToAdmit {
            place.called();
        }
        let crowd = matches!(self.kind, ListenerKind::Crowd);
        let coming = (crowd && accepting != Accepting::ToRefuse).then(|| self.app.gate.expect());
        let place = Arc::new(place);
        let (fuse, ctrl) = (FuseConfig::disabled().with_write_stall_timeout(WRITE_STALL), ConnCtrl::new());
        let (local, peer) = (self.local.into(), peer.into());
        let handler = self.service.hyper_handler(local, peer, Scheme::HTTP, Some(fuse), ctrl.clone(), None);
        let (kind, coming) = (self.kind.clone(), Mutex::new(coming));
        let service = GatedService { app: self.app.clone(), place: place.clone(), handler, kind, coming };
        let client = ClientSocket::new(stream);
        let crowd = crowd.then(|| self.app.clone());
        let reads = PacedReads::new(client.clone(), place.clone(), crowd);
        let stream = StraightStream::new(
            tokio::io::join(reads, OwnWords::new(client.clone(), self.app.clone())),
            Some(fuse),
            ctrl,
            None,
        );
        let driving = drive(self.http1.clone(), stream, service, place, self.stage.subscribe());
        tokio::spawn(client.serving(driving));
    }
}

/// Checks the listener's backlog until the listener is closed. On its own thread: the tasks of a crowd delay the
/// runtime, just when the backlog must be checked.
fn sift(listener: &Arc<HttpListener>) {
    let listener = Arc::downgrade(listener);
    let looking = move || {
        while let Some(time) = listener.upgrade().and_then(|listener| listener.look()) {
            std::thread::sleep(time);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("backlog".to_owned()).spawn(looking) {
        tracing::warn!(%error, "the backlog is not looked at");
    }
}

fn accept(listener: &std::net::TcpListener) -> io::Result<(std::net::TcpStream, SocketAddr)> {
    let (stream, peer) = acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).ok_or(io::ErrorKind::NotConnected)?;
    Ok((stream.into(), peer))
}

/// Errors of `accept` since the last log line.
#[derive(Default)]
struct Failures {
    count: u64,
    logged: Option<Instant>,
}

impl Failures {
    async fn pause(&mut self, error: &io::Error) {
        self.count += 1;
        if self.logged.is_none_or(|logged| logged.elapsed() >= LOGGED_EVERY) {
            tracing::error!(%error, failures = self.count, "connections could not be accepted");
            (self.count, self.logged) = (0, Some(Instant::now()));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
