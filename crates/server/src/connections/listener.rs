//! Accepts connections, as many as there may be. Beyond that they wait in the kernel's backlog, where
//! waiting costs no processor time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salvo::conn::http1::Builder;
use salvo::conn::{ConnCtrl, StraightStream};
use salvo::fuse::FuseConfig;
use salvo::http::uri::Scheme;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::client::ClientSocket;
use super::drive::{Stage, drive, http1};
use super::heads::CheckedHeads;
use super::open::OpenConnections;
use super::service::GatedService;
use crate::app::App;

/// The listen backlog. The kernel drops connection attempts beyond it, and the client retries after a
/// second; a sudden crowd exceeds the usual 128. The kernel's own limit (`net.core.somaxconn`) applies
/// too.
const BACKLOG: u32 = 4_096;
/// A client that takes nothing of its answer for this long is closed.
const WRITE_STALL: Duration = Duration::from_secs(10);
/// After an error of `accept`, such as no free file.
const PAUSE: Duration = Duration::from_millis(10);
/// Errors of `accept` are logged at most this often, with their number.
const LOGGED_EVERY: Duration = Duration::from_secs(10);

pub fn bind(wanted: SocketAddr) -> io::Result<TcpListener> {
    let socket = if wanted.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // On other systems this option lets two servers share a port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(wanted)?;
    socket.listen(BACKLOG)
}

/// Which listener a connection came in by.
#[derive(Clone, Debug)]
pub enum ListenerKind {
    /// Requests pass the gate.
    Crowd,
    /// `ADMIN_LISTEN`: no request is refused for load. Health checks and metrics run in this
    /// listener's own thread, the admin API in the runtime of the lanes.
    Operators(Handle),
}

/// A listener and what its connections share.
pub struct HttpListener {
    listener: TcpListener,
    local: SocketAddr,
    open: Arc<OpenConnections>,
    app: Arc<App>,
    kind: ListenerKind,
    http1: Builder,
    service: salvo::Service,
    stage: watch::Sender<Stage>,
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
        let http1 = http1(app.settings.gateway_key.is_some());
        let (service, stage) = (salvo::Service::new(routes), watch::Sender::new(Stage::Serving));
        Ok(HttpListener { listener, local, open, app, kind, http1, service, stage })
    }

    /// Serves until `stop` completes. Then requests in progress get `drain` to be answered.
    pub async fn serve(self, stop: impl Future<Output = ()>, drain: Duration) {
        let mut failures = Failures::default();
        tokio::select! {
            () = stop => {}
            () = async {
                loop {
                    self.accept(&mut failures).await;
                }
            } => {}
        }
        let HttpListener { listener, open, stage, .. } = self;
        drop(listener);
        stage.send_replace(Stage::Draining);
        if tokio::time::timeout(drain, open.all_ended()).await.is_err() {
            tracing::warn!(connections = open.count(), "connections were still open and are cut");
            stage.send_replace(Stage::Stopped);
        }
    }

    async fn accept(&self, failures: &mut Failures) {
        self.open.room().await;
        if let ListenerKind::Crowd = self.kind {
            self.app.gate.accepting().await;
        }
        match self.listener.accept().await {
            Ok((stream, peer)) => self.begin(stream, peer),
            Err(error) => {
                failures.count(&error);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Serves a connection in a task of its own. One that its address has no place for is closed.
    fn begin(&self, stream: TcpStream, peer: SocketAddr) {
        let Some(place) = self.open.enter(peer.ip()) else { return };
        let place = Arc::new(place);
        let (fuse, ctrl) = (FuseConfig::disabled().with_write_stall_timeout(WRITE_STALL), ConnCtrl::new());
        let (local, peer) = (self.local.into(), peer.into());
        let handler = self.service.hyper_handler(local, peer, Scheme::HTTP, Some(fuse), ctrl.clone(), None);
        let service = GatedService { app: self.app.clone(), place: place.clone(), handler, kind: self.kind.clone() };
        let client = ClientSocket::new(stream);
        let stream = StraightStream::new(CheckedHeads::new(client.clone()), Some(fuse), ctrl, None);
        let driving = drive(self.http1.clone(), stream, service, place, self.stage.subscribe());
        tokio::spawn(client.serving(driving));
    }
}

/// Errors of `accept` since the last log line.
#[derive(Default)]
struct Failures {
    count: u64,
    logged: Option<Instant>,
}

impl Failures {
    fn count(&mut self, error: &io::Error) {
        self.count += 1;
        if self.logged.is_none_or(|logged| logged.elapsed() >= LOGGED_EVERY) {
            tracing::error!(%error, failures = self.count, "connections could not be accepted");
            (self.count, self.logged) = (0, Some(Instant::now()));
        }
    }
}
