//! The audit in the background, and the census of seats and holds. Both read the ledger at a bounded rate: an audit rests for
//! fifty times as long as it took, and for `AUDIT_EVERY` at least.

use std::sync::Weak;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use rules::holds::{Hold, HoldState};
use rules::ids::EventId;
use rules::time::Moment;
use stores::ledger::LedgerFault;
use stores::ledger::holds::HoldCensus;
use stores::verify::{Finding, OVERSELL};

use super::switch;
use crate::app::App;

const REST: u32 = 50;
/// The census reads rows of events, and the index of holds.
const CENSUS_EVERY: Duration = Duration::from_secs(5);
const EVENTS: usize = 1_000;
const EVENTS_MOST: usize = 10_000;
const HOLDS_MOST: usize = 100_000;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SeatLabels {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AuditLabels {}

#[derive(Default)]
pub struct AuditFigures {
    oversell: Counter,
    broken: Gauge,
    newest: Family<AuditLabels, Gauge>,
    seconds: Gauge<f64, AtomicU64>,
    seats: Family<SeatLabels, Gauge>,
    holds: Family<SeatLabels, Gauge>,
    hold_changes: HoldChanges,
}

/// By state; each series is found once.
struct HoldChanges {
    family: Family<SeatLabels, Counter>,
    by_state: [Counter; HoldState::ALL.len()],
}

impl Default for HoldChanges {
    fn default() -> Self {
        let family: Family<SeatLabels, Counter> = Family::default();
        let by_state = HoldState::ALL.map(|state| family.get_or_create(&SeatLabels { state: state.as_str() }).clone());
        HoldChanges { family, by_state }
    }
}

impl AuditFigures {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "What the audit found sold beyond the stock or the limit; it must stay 0";
        registry.register("oversell", meaning, self.oversell.clone());
        registry.register("audit_broken", "Invariants that were broken in the last audit", self.broken.clone());
        let meaning = "When the last audit in the background ended, in seconds since 1970";
        registry.register("audit_newest_timestamp_seconds", meaning, self.newest.clone());
        registry.register_with_unit("audit_duration", "How long it took", Unit::Seconds, self.seconds.clone());
        registry.register("seats", "Seats of all events, by state", self.seats.clone());
        let meaning = "Holds on seats and nights: live, and lapsed but not turned yet; at most 100,000 are counted";
        registry.register("holds", meaning, self.holds.clone());
        let meaning = "Holds that began, were extended or ended through this server, by the state they are in since";
        registry.register("hold_changes", meaning, self.hold_changes.family.clone());
    }

    /// Only what was not broken in the last audit is counted: what stays broken is counted once.
    fn audited(&self, findings: &[Finding], known: &mut Vec<String>, ended: Moment, took: Duration) {
        let broken: Vec<&Finding> = findings.iter().filter(|finding| !finding.holds()).collect();
        let oversold = broken.iter().filter(|finding| OVERSELL.contains(&finding.name));
        let sentences: Vec<String> = oversold.flat_map(|finding| finding.broken.iter().cloned()).collect();
        let new = sentences.iter().filter(|sentence| !known.contains(sentence)).count();
        self.oversell.inc_by(new as u64);
        *known = sentences;
        self.broken.set(broken.len() as i64);
        self.newest.get_or_create(&AuditLabels {}).set(ended.0 / 1_000);
        self.seconds.set(took.as_secs_f64());
    }

    /// A batch has changed these.
    pub fn holds_changed(&self, holds: &[Hold]) {
        if switch::is_off() {
            return;
        }
        for hold in holds {
            if let Some(place) = HoldState::ALL.iter().position(|state| *state == hold.state) {
                self.hold_changes.by_state[place].inc();
            }
        }
    }

    fn seats(&self, sold: i64, held: i64, free: i64) {
        for (state, count) in [("sold", sold), ("held", held), ("free", free)] {
            self.seats.get_or_create(&SeatLabels { state }).set(count);
        }
    }
}

/// Audits until the server is gone. Zero: never.
pub async fn audit(app: Weak<App>, every: Duration) {
    let mut known = Vec::new();
    let mut rest = every;
    while !every.is_zero() {
        tokio::time::sleep(rest).await;
        let Some(app) = app.upgrade() else { return };
        let began = Instant::now();
        match app.ledger.audit().await {
            Ok((_, findings)) => {
                for broken in findings.iter().filter(|finding| !finding.holds()) {
                    tracing::error!(invariant = broken.name, found = ?broken.broken, "the ledger is broken");
                }
                app.metrics.audits.audited(&findings, &mut known, app.ledger.wall(), began.elapsed());
            }
            Err(fault) => tracing::warn!(%fault, "the ledger was not audited"),
        }
        rest = every.max(began.elapsed() * REST);
    }
}

/// Counts seats until the server is gone.
pub async fn census(app: Weak<App>) {
    loop {
        let Some(app) = app.upgrade() else { return };
        if let Err(fault) = count(&app).await {
            tracing::debug!(%fault, "the seats were not counted");
        }
        drop(app);
        tokio::time::sleep(CENSUS_EVERY).await;
    }
}

/// One census.
pub async fn count(app: &App) -> Result<(), LedgerFault> {
    let (mut after, mut read) = (None::<EventId>, 0);
    let (mut sold, mut held, mut free) = (0, 0, 0);
    while read < EVENTS_MOST {
        let events = app.ledger.events(false, after, EVENTS).await?;
        for event in &events {
            sold += i64::from(event.counts.sold);
            held += i64::from(event.counts.live());
            free += i64::from(event.remaining());
        }
        read += events.len();
        after = events.last().map(|event| event.id);
        if events.len() < EVENTS {
            break;
        }
    }
    app.metrics.audits.seats(sold, held, free);
    let HoldCensus { live, lapsed } = app.ledger.hold_census(HOLDS_MOST).await?;
    for (state, count) in [("live", live), ("lapsed", lapsed)] {
        app.metrics.audits.holds.get_or_create(&SeatLabels { state }).set(count as i64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_broken_is_counted_once() {
        let figures = AuditFigures::default();
        let mut known = Vec::new();
        let broken = |sentences: &[&str]| {
            let broken = sentences.iter().map(|sentence| (*sentence).to_owned()).collect();
            vec![Finding { name: OVERSELL[0], broken }, Finding { name: "history has no gap", broken: Vec::new() }]
        };
        for (sentences, counted) in [(&[][..], 0), (&["seat 1"], 1), (&["seat 1"], 1), (&["seat 1", "seat 2"], 2)] {
            figures.audited(&broken(sentences), &mut known, Moment(0), Duration::ZERO);
            assert_eq!(figures.oversell.get(), counted, "{sentences:?}");
            assert_eq!(figures.broken.get(), i64::from(!sentences.is_empty()));
        }
    }
}
