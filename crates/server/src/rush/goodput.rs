//! What a crowd got that may have been too large: how many were served, how often they had to ask, how long
//! those waited who were served and those who were refused, and how many gave up.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::report::grouped;
use super::tally::{Memory, RushOutcome, histogram};

pub struct Goodput {
    pub people: u64,
    pub served: u64,
    /// People who were told to come again, or got no answer, and did not come again.
    pub gave_up: u64,
    pub requests: u64,
    /// Seats sold per second while people arrived.
    pub per_second: f64,
    pub served_ms: [f64; 2],
    pub refused_ms: [f64; 2],
}

impl Goodput {
    /// `arriving`: how long people arrived.
    pub fn of(memories: &[Memory], people: u64, arriving: Duration) -> Goodput {
        let (mut sold, mut refused) = (histogram(), histogram());
        let mut in_time = 0u64;
        // By buyer: whether it has an answer that settles it.
        let mut settled: HashMap<u64, bool> = HashMap::new();
        for memory in memories {
            let micros = memory.ended.saturating_sub(memory.due).as_micros() as u64;
            let answer = settled.entry(memory.buyer).or_insert(false);
            match &memory.outcome {
                RushOutcome::Reserved { replayed: false, .. } => {
                    *answer = true;
                    sold.saturating_record(micros);
                    in_time += u64::from(memory.ended <= arriving);
                }
                RushOutcome::Refused { status: 429 | 503, .. } => refused.saturating_record(micros),
                RushOutcome::Unknown(_) => {}
                _ => *answer = true,
            }
        }
        let ms = |all: &hdrhistogram::Histogram<u64>| [0.5, 0.99].map(|q| all.value_at_quantile(q) as f64 / 1000.0);
        Goodput {
            people,
            served: sold.len(),
            gave_up: people - settled.values().filter(|settled| **settled).count() as u64,
            requests: memories.len() as u64,
            per_second: in_time as f64 / arriving.as_secs_f64().max(0.001),
            served_ms: ms(&sold),
            refused_ms: ms(&refused),
        }
    }

    /// Requests per person.
    pub fn amplification(&self) -> f64 {
        self.requests as f64 / self.people.max(1) as f64
    }

    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let ms = |[p50, p99]: [f64; 2]| format!("{p50:.0} / {p99:.0} ms");
        vec![
            ("people", grouped(self.people)),
            ("served", grouped(self.served)),
            ("gave up", grouped(self.gave_up)),
            ("sold per second", grouped(self.per_second as u64)),
            ("requests per person", format!("{:.2}", self.amplification())),
            ("served p50 / p99", ms(self.served_ms)),
            ("refused p50 / p99", ms(self.refused_ms)),
        ]
    }

    pub fn machine(&self) -> Value {
        let ms = |[p50, p99]: [f64; 2]| json!({ "p50": p50, "p99": p99 });
        json!({
            "people": self.people, "served": self.served, "gaveUp": self.gave_up, "goodput": self.per_second,
            "amplification": self.amplification(), "servedMs": ms(self.served_ms), "refusedMs": ms(self.refused_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::tally::Unanswered;

    #[test]
    fn people_are_counted_once_and_requests_each() {
        let ms = Duration::from_millis;
        let memory = |buyer, due, ended, outcome| Memory {
            buyer,
            due: ms(due),
            sent: ms(due),
            ended: ms(ended),
            outcome,
            server: None,
        };
        let full = || RushOutcome::Refused { reason: "service_unavailable".into(), status: 503, number: None };
        let seat = || RushOutcome::Reserved { seat: 1, id: "e1-1".into(), number: None, replayed: false };
        let memories = [
            memory(0, 0, 10, seat()),
            memory(1, 0, 5, full()),
            memory(1, 1_000, 1_400, seat()),
            memory(2, 0, 5, full()),
            memory(3, 0, 5, RushOutcome::Unknown(Unanswered::Seat)),
            memory(4, 0, 20, RushOutcome::Refused { reason: "sold_out".into(), status: 409, number: None }),
        ];
        let goodput = Goodput::of(&memories, 5, ms(1_000));
        assert_eq!((goodput.served, goodput.gave_up, goodput.requests), (2, 2, 6));
        assert!((goodput.per_second - 1.0).abs() < 1e-9, "the second came after the arrivals");
        assert!((goodput.amplification() - 1.2).abs() < 1e-9);
        assert!((399.0..402.0).contains(&goodput.served_ms[1]) && goodput.refused_ms[1] < 6.0);
    }
}
