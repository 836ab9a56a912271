//! What the crowd remembers, and the figures computed from it.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// One request and how it ended, as its buyer saw it. Times are since the start of the rush.
#[derive(Clone, Debug)]
pub struct Memory {
    pub buyer: u64,
    /// When it was due: a late generator counts against the server, never for it.
    pub due: Duration,
    pub sent: Duration,
    pub ended: Duration,
    pub outcome: RushOutcome,
    /// Which process answered, as far as the answer's id shows it: ids begin with the server's own number.
    pub server: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RushOutcome {
    Reserved {
        seat: u64,
        id: String,
        number: Option<u64>,
        replayed: bool,
    },
    Cancelled {
        id: String,
    },
    /// Refused with this reason and status.
    Refused {
        reason: String,
        status: u16,
        number: Option<u64>,
    },
    /// The connection broke, or was broken by the buyer: what happened is not known.
    Unknown(Unanswered),
}

/// A request that was never answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    Seat,
    Cancellation { id: String },
}

impl RushOutcome {
    pub fn name(&self) -> &str {
        match self {
            RushOutcome::Reserved { .. } => "reserved",
            RushOutcome::Cancelled { .. } => "cancelled",
            RushOutcome::Refused { reason, .. } => reason,
            RushOutcome::Unknown(_) => "no answer",
        }
    }

    pub fn number(&self) -> Option<u64> {
        match self {
            RushOutcome::Reserved { number, .. } | RushOutcome::Refused { number, .. } => *number,
            RushOutcome::Cancelled { .. } | RushOutcome::Unknown(_) => None,
        }
    }
}

pub struct RushFigures {
    pub offered: u64,
    pub answered: u64,
    pub took: Duration,
    pub outcomes: BTreeMap<String, u64>,
    /// Microseconds from when a request was due to its answer.
    pub times: Histogram<u64>,
}

pub fn histogram() -> Histogram<u64> {
    // Bounds are constants that the library accepts.
    Histogram::new_with_bounds(1, 600_000_000, 3).unwrap_or_else(|_| unreachable!("sound bounds"))
}

impl RushFigures {
    pub fn of(memories: &[Memory], offered: u64) -> RushFigures {
        let mut outcomes = BTreeMap::new();
        let mut times = histogram();
        let (mut answered, mut took) = (0, Duration::ZERO);
        for memory in memories {
            *outcomes.entry(memory.outcome.name().to_owned()).or_insert(0) += 1;
            took = took.max(memory.ended);
            if matches!(memory.outcome, RushOutcome::Unknown(_)) {
                continue;
            }
            answered += 1;
            let micros = memory.ended.saturating_sub(memory.due).as_micros() as u64;
            times.saturating_record(micros);
        }
        RushFigures { offered, answered, took, outcomes, times }
    }

    /// Milliseconds at a quantile.
    pub fn ms(&self, quantile: f64) -> f64 {
        self.times.value_at_quantile(quantile) as f64 / 1000.0
    }
}
