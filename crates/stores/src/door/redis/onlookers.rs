//! Live holds under the key names of the fifth specification, for people who inspect them. Our code does not read them,
//! so no request waits for them: they have their own connection and queue, and use a small part of Redis' time. What
//! does not fit into the queue is dropped; the next change of such a hold writes it again.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use redis::Script;
use rules::holds::{Hold, HoldState, On};
use rules::nights::Night;
use rules::subject::{HoldId, SubjectId};
use rules::time::Moment;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::connection::RedisConnections;
use super::keys;
use crate::door::DoorFault;
use crate::limited;

/// Limits of the queue: batches, and holds on nights. Anything beyond is dropped.
const QUEUE: usize = 1_024;
const WAITING_MOST: usize = 100_000;
/// One round takes up to this many holds on nights from the queue.
const GATHERED: usize = 10_000;
/// This many holds are written together: each of their nights once.
const TOGETHER: usize = 128;
/// A call adds or removes at most this many holds on nights: a script blocks Redis while it runs.
const PAIRS_MOST: usize = 500;
/// The pause between two calls, as a multiple of the duration of the last call.
const REST: u32 = 4;

/// Holds of one subject that began or changed.
type Shown = (SubjectId, Vec<Hold>);

pub struct Onlookers {
    connections: Arc<RedisConnections>,
    clock_offset_ms: Arc<AtomicI64>,
    /// Created with the first hold; its task ends when this is dropped.
    queue: OnceLock<Sender<Shown>>,
    /// Holds on nights in the queue.
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
}

impl Onlookers {
    pub fn new(connections: RedisConnections, clock_offset_ms: Arc<AtomicI64>) -> Onlookers {
        Onlookers {
            connections: Arc::new(connections),
            clock_offset_ms,
            queue: OnceLock::new(),
            waiting: Arc::default(),
            dropped: Arc::default(),
        }
    }

    /// Does not wait.
    pub fn show(&self, subject: SubjectId, holds: Vec<Hold>) {
        let queue = self.queue.get_or_init(|| {
            let (queue, waiting) = channel(QUEUE);
            let (connections, clock_offset_ms) = (self.connections.clone(), self.clock_offset_ms.clone());
            let script = Script::new(include_str!("scripts/holds.lua"));
            let (waits, dropped) = (self.waiting.clone(), self.dropped.clone());
            let writer = HoldWriter { connections, clock_offset_ms, script, waits, dropped };
            tokio::spawn(writer.run(waiting));
            queue
        });
        let (count, size) = (holds.len() as u64, pairs(&holds));
        let fits = self.waiting.fetch_add(size, Ordering::Relaxed) < WAITING_MOST;
        if !fits || queue.try_send((subject, holds)).is_err() {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }
    }
}

struct HoldWriter {
    connections: Arc<RedisConnections>,
    clock_offset_ms: Arc<AtomicI64>,
    script: Script,
    waits: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
}

impl HoldWriter {
    async fn run(self, mut waiting: Receiver<Shown>) {
        while let Some(first) = waiting.recv().await {
            let (taken, gathered) = gather(first, &mut waiting);
            for (subject, holds) in gathered {
                for some in holds.chunks(TOGETHER) {
                    if let Err(fault) = self.write(subject, some).await {
                        self.dropped.fetch_add(some.len() as u64, Ordering::Relaxed);
                        tracing::debug!(%subject, %fault, "onlookers were not shown which holds changed");
                    }
                }
            }
            self.waits.fetch_sub(taken, Ordering::Relaxed);
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                limited!(warn, dropped, "changes of holds were not shown to onlookers");
            }
        }
    }

    async fn write(&self, subject: SubjectId, holds: &[Hold]) -> Result<(), DoorFault> {
        let mut nights = by_night(holds).into_iter().peekable();
        let mut first = true;
        while first || nights.peek().is_some() {
            let (mut some, mut pairs) = (Vec::new(), 0);
            while let Some((_, on)) = nights.peek()
                && (some.is_empty() || pairs + on.len() <= PAIRS_MOST)
            {
                pairs += on.len();
                some.extend(nights.next());
            }
            let began = Instant::now();
            self.call(subject, holds, first, &some).await?;
            first = false;
            tokio::time::sleep(began.elapsed() * REST).await;
        }
        Ok(())
    }

    /// The first call of a group writes the holds themselves.
    async fn call(
        &self,
        subject: SubjectId,
        holds: &[Hold],
        first: bool,
        nights: &[(Night, Vec<usize>)],
    ) -> Result<(), DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut script = self.script.prepare_invoke();
        script.arg(self.clock_offset_ms.load(Ordering::Acquire)).arg(u8::from(first)).arg(holds.len());
        for hold in holds {
            let ends_at = if hold.state == HoldState::Held { hold.ends_at.0 } else { 0 };
            script.key(keys::hold(subject, hold.id)).arg(hold.id.to_string()).arg(ends_at);
            script.arg(if first { shown(hold) } else { String::new() });
        }
        for (night, on) in nights {
            script.key(keys::hold_count(subject, *night)).arg(on.len());
            for hold in on {
                script.arg(hold + 1);
            }
        }
        let _: u64 = self.connections.run(&mut connected, &script).await?;
        Ok(())
    }
}

/// Takes what is in the queue: each hold once in its latest state, and the count of holds on nights taken.
fn gather(first: Shown, waiting: &mut Receiver<Shown>) -> (usize, Vec<Shown>) {
    let mut subjects: HashMap<SubjectId, BTreeMap<HoldId, Hold>> = HashMap::new();
    let (mut taken, mut next) = (0, Some(first));
    while let Some((subject, holds)) = next {
        taken += pairs(&holds);
        subjects.entry(subject).or_default().extend(holds.into_iter().map(|hold| (hold.id, hold)));
        next = if taken < GATHERED { waiting.try_recv().ok() } else { None };
    }
    (taken, subjects.into_iter().map(|(subject, holds)| (subject, holds.into_values().collect())).collect())
}

fn pairs(holds: &[Hold]) -> usize {
    holds.iter().map(|hold| if let On::Nights(dates) = &hold.on { dates.count() } else { 1 }).sum()
}

/// The indexes of the holds on each night, in order of the nights.
fn by_night(holds: &[Hold]) -> BTreeMap<Night, Vec<usize>> {
    let mut nights: BTreeMap<Night, Vec<usize>> = BTreeMap::new();
    for (at, hold) in holds.iter().enumerate() {
        if let On::Nights(dates) = &hold.on {
            for night in dates.nights() {
                nights.entry(night).or_default().push(at);
            }
        }
    }
    nights
}

fn shown(hold: &Hold) -> String {
    let id = hold.id.subject.row().abs();
    let mut shown = match &hold.on {
        On::Nights(dates) => {
            json!({ "roomTypeId": id, "checkIn": dates.check_in.to_string(), "checkOut": dates.check_out.to_string() })
        }
        On::Seats(seats) => json!({ "eventId": id, "seatIds": seats.iter().map(|seat| seat.0).collect::<Vec<_>>() }),
    };
    shown["userId"] = hold.owner.as_str().into();
    shown["clientHoldKey"] = (*hold.key).into();
    shown["createdAt"] = rfc3339(hold.at).into();
    shown["expiredAt"] = rfc3339(hold.ends_at).into();
    shown.to_string()
}

const DAY_MS: i64 = 86_400_000;

fn rfc3339(at: Moment) -> String {
    let (day, ms) = (at.0.div_euclid(DAY_MS), at.0.rem_euclid(DAY_MS));
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{:03}Z", Night(day as i32), ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_rfc3339() {
        assert_eq!(rfc3339(Moment(1_798_135_200_123)), "2026-12-24T18:00:00.123Z");
        assert_eq!(rfc3339(Moment(0)), "1970-01-01T00:00:00.000Z");
    }
}
