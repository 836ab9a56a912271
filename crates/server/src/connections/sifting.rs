//! Checks the backlog of a listener and admits as many new connections as can be served soon.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::filter::ConnectionFilter;
use super::sieve::{ALL, ListenerBeat, Sieve};
use crate::gate::{BacklogWait, Gate};

/// The interval of checks while the backlog is empty and all are admitted.
const CALM_BEAT: Duration = Duration::from_millis(20);
/// The interval otherwise. A crowd of ten times the capacity fills the backlog in a tenth of a second, and a client
/// dropped from a full backlog retries a second later.
const BEAT: Duration = Duration::from_millis(10);

/// Connections accepted so far.
#[derive(Debug, Default)]
pub struct AcceptedCounts {
    /// To be served.
    pub served: AtomicU64,
    /// To be refused.
    pub refused: AtomicU64,
}

/// What a check of a listener needs.
pub struct Sifted<'a> {
    pub listener: &'a TcpListener,
    pub gate: &'a Gate,
    pub accepted: &'a AcceptedCounts,
}

/// The state of a listener at the last beat.
pub struct Sifting {
    filter: ConnectionFilter,
    sieve: Sieve,
    last: Instant,
    accepted: u64,
    /// Accepted connections that were served.
    ended: u64,
    refused: u64,
    refused_by_gate: u64,
    dropped: u32,
}

impl Sifting {
    /// None if the kernel does not report the backlog: then all are admitted, as long as there is room in it.
    pub fn of(listener: &TcpListener) -> Option<Sifting> {
        let seen = |mut filter: ConnectionFilter| filter.length().map(|_| filter);
        let filter = match ConnectionFilter::of(listener).and_then(seen) {
            Ok(filter) => filter,
            Err(error) => {
                tracing::debug!(%error, "the backlog cannot be seen");
                return None;
            }
        };
        let (sieve, last) = (Sieve::default(), Instant::now());
        let (accepted, ended, refused, refused_by_gate, dropped) = (0, 0, 0, 0, 0);
        Some(Sifting { filter, sieve, last, accepted, ended, refused, refused_by_gate, dropped })
    }

    /// Returns when to check next. None: never again, new connections cannot be filtered.
    pub fn look(&mut self, at: &Sifted<'_>) -> Option<Duration> {
        let Sifted { listener, gate, accepted } = at;
        let Ok(length) = self.filter.length() else { return Some(CALM_BEAT) };
        let elapsed = self.last.elapsed();
        self.last = Instant::now();
        let since = |total: u64, last: &mut u64| total - std::mem::replace(last, total);
        let newly_accepted = since(accepted.served.load(Ordering::Relaxed), &mut self.accepted);
        let refused = since(accepted.refused.load(Ordering::Relaxed), &mut self.refused);
        // Connections accepted all at once in a crowd are not served yet.
        let ended = self.ended.max(self.accepted.saturating_sub(gate.taken() as u64));
        let change = self.sieve.beat(ListenerBeat {
            elapsed,
            accepted: newly_accepted,
            served: since(ended, &mut self.ended),
            refused,
            dropped: length.dropped.wrapping_sub(self.dropped).into(),
            excess: since(gate.refused(), &mut self.refused_by_gate) > 0 || gate.unread() > 0,
            backlog: length,
        });
        self.dropped = length.dropped;
        gate.refusals().see_backlog(self.sieve.wait(length));
        if let Some(share) = change {
            if let Err(error) = self.filter.let_in(listener, share) {
                tracing::warn!(%error, "new connections cannot be filtered");
                gate.let_in(1.0);
                gate.refusals().see_backlog(BacklogWait::Unknown);
                return None;
            }
            let share = f64::from(share) / f64::from(ALL);
            tracing::debug!(share, waiting = length.waiting, "this share of new connections is let in");
            gate.let_in(share);
        }
        Some(if length.waiting == 0 && self.sieve.lets_all_in() { CALM_BEAT } else { BEAT })
    }
}
