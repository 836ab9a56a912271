//! When a request passed the steps of the path, for the log of slow requests and for traces. The task that serves the
//! request carries the marks; the lane sends its own with the answer.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rules::subject::SubjectId;

use super::ledger_marks::LedgerTimes;
use super::traces::context::{RequestSpan, SpanContext};

tokio::task_local! {
    static JOURNEY: Journey;
}

/// The marks of one request while it is served.
#[derive(Debug, Default)]
pub struct Journey {
    marks: Cell<RequestMarks>,
    /// Present: its trace is sampled.
    span: Option<RequestSpan>,
}

/// What is known of the way of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestMarks {
    /// How long the client took to send the body.
    pub body: Duration,
    /// Where it went, and what the lane noted.
    pub lane: Option<(SubjectId, LaneMarks)>,
}

/// When a request passed the steps of its lane. A step that it did not reach has no mark.
#[derive(Clone, Copy, Debug)]
pub struct LaneMarks {
    pub arrived: Instant,
    /// The door let it in: it has its place in the queue.
    pub queued: Option<Instant>,
    /// Its batch was handed to the ledger, for the first time.
    pub batched: Option<Instant>,
    /// How far the ledger came with its batch.
    pub ledger: LedgerTimes,
    /// Its batch is durable.
    pub committed: Option<Instant>,
    pub answered: Instant,
    /// The span of its batch, if that is traced.
    pub batch: Option<SpanContext>,
}

/// The steps in their order.
pub const PATH_STEPS: [&str; 8] = ["read", "arrive", "batch", "admit", "decide", "commit", "publish", "respond"];

/// One step of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    pub name: &'static str,
    pub from: Instant,
    pub to: Instant,
}

impl Journey {
    /// Runs `serving` as a request whose marks are kept.
    pub async fn of<T>(span: Option<RequestSpan>, serving: impl Future<Output = T>) -> T {
        JOURNEY.scope(Journey { marks: Cell::default(), span }, serving).await
    }
}

/// The marks of the request that this task serves.
pub fn marks() -> RequestMarks {
    JOURNEY.try_with(|journey| journey.marks.get()).unwrap_or_default()
}

/// The span of the request that this task serves, if its trace is sampled.
pub fn span() -> Option<RequestSpan> {
    JOURNEY.try_with(|journey| journey.span).ok().flatten()
}

/// The client took so long to send a body.
pub fn body_took(time: Duration) {
    note(|marks| marks.body += time);
}

/// A lane has answered.
pub fn passed_lane(subject: SubjectId, lane: LaneMarks) {
    note(|marks| marks.lane = Some((subject, lane)));
}

fn note(change: impl FnOnce(&mut RequestMarks)) {
    let _ = JOURNEY.try_with(|journey| {
        let mut marks = journey.marks.get();
        change(&mut marks);
        journey.marks.set(marks);
    });
}

impl RequestMarks {
    /// The steps in order, without gaps, from `began` to `ended`. Empty: the request did not go to a lane.
    pub fn steps(&self, began: Instant, ended: Instant) -> impl Iterator<Item = PathStep> {
        let mut steps = [None; PATH_STEPS.len()];
        if let Some((_, lane)) = self.lane {
            steps[0] = Some(PathStep { name: "read", from: began, to: lane.arrived });
            let mut from = lane.arrived;
            let LedgerTimes { admitted, decided } = lane.ledger;
            let marks = [lane.queued, lane.batched, admitted, decided, lane.committed, Some(lane.answered)];
            for ((step, name), mark) in steps[1..].iter_mut().zip(&PATH_STEPS[1..]).zip(marks) {
                // A ledger that does not say when it decided: all of it is the commit.
                if mark.is_none() && lane.committed.is_some() {
                    continue;
                }
                // The step that it was in when it was answered is its last.
                let to = mark.unwrap_or(lane.answered);
                *step = Some(PathStep { name, from, to });
                from = to;
                if mark.is_none() {
                    break;
                }
            }
            steps[PATH_STEPS.len() - 1] = Some(PathStep { name: "respond", from: lane.answered, to: ended });
        }
        steps.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::ids::EventId;

    type Mark = Option<u64>;

    fn steps([queued, batched, admitted, decided, committed]: [Mark; 5]) -> Vec<(&'static str, u128)> {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let lane = LaneMarks {
            arrived: at(1),
            queued: queued.map(at),
            batched: batched.map(at),
            ledger: LedgerTimes { admitted: admitted.map(at), decided: decided.map(at) },
            committed: committed.map(at),
            answered: at(127),
            batch: None,
        };
        let marks = RequestMarks { body: Duration::ZERO, lane: Some((SubjectId::Event(EventId(1)), lane)) };
        let took = |step: PathStep| (step.name, (step.to - step.from).as_millis());
        marks.steps(began, at(136)).map(took).collect()
    }

    #[test]
    fn steps_have_no_gaps_and_end_where_the_request_left_the_path() {
        let of = |times: &[u128]| PATH_STEPS.iter().copied().zip(times.iter().copied()).collect::<Vec<_>>();
        let last = |mut steps: Vec<(&'static str, u128)>| {
            steps.push(("respond", 9));
            steps
        };
        let mut marks = [3, 7, 15, 31, 63].map(Some);
        assert_eq!(steps(marks), of(&[1, 2, 4, 8, 16, 32, 64, 9]));
        marks[4] = None;
        assert_eq!(steps(marks), last(of(&[1, 2, 4, 8, 16, 96])));
        marks[3] = None;
        assert_eq!(steps(marks), last(of(&[1, 2, 4, 8, 112])));
        marks[2] = None;
        assert_eq!(steps(marks), last(of(&[1, 2, 4, 120])));
        assert_eq!(steps([None; 5]), last(of(&[1, 126])));
        let silent = [("read", 1), ("arrive", 2), ("batch", 4), ("commit", 56), ("publish", 64), ("respond", 9)];
        assert_eq!(steps([Some(3), Some(7), None, None, Some(63)]), silent);
        let now = Instant::now();
        assert_eq!(RequestMarks::default().steps(now, now).count(), 0);
    }
}
