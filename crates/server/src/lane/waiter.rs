//! A request in a lane: its command, and where its answer goes.

use std::time::{Duration, Instant};

use rules::command::Command;
use rules::decide::Answer;
use rules::ids::Number;
use rules::outcome::{Outcome, Refusal};
use stores::door::Release;
use tokio::sync::oneshot;

use super::in_flight::InFlight;
use super::served::Served;
use crate::connections::ClientSocket;
use crate::telemetry::journey::LaneMarks;
use crate::telemetry::ledger_marks::LedgerTimes;
use crate::telemetry::traces::context::SpanContext;

/// While too many wait, a request is refused after this time. The others still get their answers within a second.
pub const STALE_AFTER: Duration = Duration::from_millis(600);

/// The answer to a request, with its arrival number and the times of its steps.
pub type NumberedAnswer = (Answer, Option<Number>, LaneMarks);

/// A request in the queue.
pub struct Queued<S: Served> {
    pub command: Command<S>,
    pub waiter: Waiter,
}

/// Where the answer goes, and what must be released first.
pub struct Waiter {
    /// Dropped before `reply`: when the handler sees a closed channel, the depth is already right.
    pub in_flight: InFlight,
    /// Such requests get `lock_timeout` in place of `contention`.
    pub about_a_hold: bool,
    /// The mark that its arrival left at the door.
    pub mark: Option<Release>,
    pub number: Option<Number>,
    pub arrived: Instant,
    /// When it got its place in the queue, when its batch was handed to the ledger, and when the batch was durable.
    pub queued: Option<Instant>,
    pub batched: Option<Instant>,
    pub committed: Option<Instant>,
    /// The ledger's times for its batch in between.
    pub ledger: LedgerTimes,
    /// If its trace is sampled.
    pub span: Option<SpanContext>,
    /// The span of its batch.
    pub batch: Option<SpanContext>,
    pub deadline: Instant,
    /// Who asked, if it came over a connection.
    pub client: Option<ClientSocket>,
    /// None: it was answered early.
    pub reply: Option<oneshot::Sender<NumberedAnswer>>,
}

impl Waiter {
    /// Whether it has waited too long to be served while too many wait.
    pub fn stale(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.arrived) >= STALE_AFTER
    }

    pub fn client_has_left(&self) -> bool {
        self.client.as_ref().is_some_and(ClientSocket::has_left)
    }

    /// Answers the request, which is no longer in flight.
    pub fn answer(self, answer: Answer, now: Instant) {
        let marks = self.marks(now);
        let Waiter { in_flight, about_a_hold, number, reply, .. } = self;
        drop(in_flight);
        send(reply, answer, about_a_hold, number, marks);
    }

    /// Answers before the batch has ended. The request stays in flight: the ledger still has it.
    pub fn answer_early(&mut self, refusal: Refusal) {
        let marks = self.marks(Instant::now());
        send(self.reply.take(), Outcome::from(refusal).into(), self.about_a_hold, self.number, marks);
    }

    fn marks(&self, answered: Instant) -> LaneMarks {
        let Waiter { arrived, queued, batched, ledger, committed, batch, .. } = *self;
        LaneMarks { arrived, queued, batched, ledger, committed, answered, batch }
    }
}

fn send(
    reply: Option<oneshot::Sender<NumberedAnswer>>,
    answer: Answer,
    about_a_hold: bool,
    number: Option<Number>,
    marks: LaneMarks,
) {
    let answer = match answer.outcome {
        Outcome::Refused(Refusal::Contention) if about_a_hold => Outcome::from(Refusal::LockTimeout).into(),
        _ => answer,
    };
    if let Some(reply) = reply {
        // The client may have disconnected.
        let _ = reply.send((answer, number, marks));
    }
}
