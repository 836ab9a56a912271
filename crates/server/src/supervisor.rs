//! Speaks to systemd, or whatever started this process, by its notification protocol: ready, reloading, stopping,
//! and still alive. Without `NOTIFY_SOCKET` nothing is sent.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

pub struct Supervisor {
    socket: Option<UnixDatagram>,
    /// The supervisor ends a process that is silent for this long.
    watchdog: Option<Duration>,
}

impl Supervisor {
    pub fn from_environment() -> Supervisor {
        let set = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let micros = set("WATCHDOG_USEC").and_then(|text| text.parse().ok()).map(Duration::from_micros);
        // Meant for another process: of a shell around us, for instance.
        let ours = set("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().to_string());
        Supervisor::at(set("NOTIFY_SOCKET").as_deref(), micros.filter(|_| ours))
    }

    pub fn at(socket: Option<&str>, watchdog: Option<Duration>) -> Supervisor {
        let socket = socket.and_then(|name| match connect(name) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(%error, "NOTIFY_SOCKET cannot be used");
                None
            }
        });
        Supervisor { socket, watchdog }
    }

    fn say(&self, text: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(text.as_bytes())
        {
            tracing::debug!(%error, "the supervisor does not listen");
        }
    }

    pub fn ready(&self, address: std::net::SocketAddr) {
        self.say(&format!("READY=1\nSTATUS=Listens on {address}"));
    }

    /// `ready` must follow.
    pub fn reloading(&self) {
        // The clock of systemd, which is in this process's CLOCK_MONOTONIC.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1_000;
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    pub fn reloaded(&self) {
        self.say("READY=1");
    }

    pub fn stopping(&self) {
        self.say("STOPPING=1\nSTATUS=Answers what was accepted");
    }

    /// A task of the runtime that serves: when that hangs, nobody says that it is alive.
    pub async fn stay_alive(&self) {
        let Some(most) = self.watchdog.filter(|_| self.socket.is_some()) else {
            return std::future::pending().await;
        };
        loop {
            self.say("WATCHDOG=1");
            tokio::time::sleep(most / 3).await;
        }
    }
}

/// A path, or with `@` a name without a file.
fn connect(name: &str) -> std::io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match name.strip_prefix('@') {
        Some(name) => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        None => socket.connect(name)?,
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}
