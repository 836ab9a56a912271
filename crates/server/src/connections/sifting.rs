//! Looks at the backlog of a listener and lets as many new connections in as can be served soon.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::backlog::ListenBacklog;
use super::sieve::{ALL, ListenerBeat, Sieve};
use crate::gate::Gate;

/// The backlog is looked at this often.
const BEAT: Duration = Duration::from_millis(20);

/// Connections accepted so far.
#[derive(Debug, Default)]
pub struct AcceptedCounts {
    /// To be served.
    pub served: AtomicU64,
    /// To be refused.
    pub refused: AtomicU64,
}

/// Where the kernel tells nothing about a backlog, everybody is let in, as long as there is room in it.
pub async fn sift(listener: &TcpListener, address: SocketAddr, gate: &Gate, accepted: &AcceptedCounts) {
    let backlog = match ListenBacklog::of(address).and_then(|backlog| backlog.length().map(|_| backlog)) {
        Ok(backlog) => backlog,
        Err(error) => return tracing::debug!(%error, "the backlog cannot be seen"),
    };
    let (mut sieve, mut last) = (Sieve::default(), Instant::now());
    let (mut served, mut refused, mut refused_by_gate) = (0, 0, 0);
    loop {
        tokio::time::sleep(BEAT).await;
        let elapsed = last.elapsed();
        last = Instant::now();
        let Ok(length) = backlog.length() else { continue };
        let now = (accepted.served.load(Ordering::Relaxed), accepted.refused.load(Ordering::Relaxed), gate.refused());
        let change = sieve.beat(ListenerBeat {
            elapsed,
            served: now.0 - served,
            refused: now.1 - refused,
            excess: gate.unread() > 0 || now.2 > refused_by_gate,
            backlog: length,
        });
        (served, refused, refused_by_gate) = now;
        gate.refusals().see_backlog(sieve.wait(length));
        let Some(share) = change else { continue };
        if let Err(error) = backlog.let_in(listener, share) {
            return tracing::warn!(%error, "new connections cannot be filtered");
        }
        let share = f64::from(share) / f64::from(ALL);
        tracing::debug!(share, waiting = length.waiting, "this share of new connections is let in");
        gate.let_in(share);
    }
}
