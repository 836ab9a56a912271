//! A rush over time, in slices of 100 ms: answers by outcome, latencies, and seats that stand.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::tally::{Memory, RushOutcome, Unanswered, histogram};

/// The widths of a slice in milliseconds. A soak of hours takes a wider one, so that its page stays small.
const WIDTHS_MS: [u64; 4] = [100, 1_000, 10_000, 60_000];
const MOST_SLICES: u64 = 12_000;

const PERCENTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

pub struct RushTimeline {
    slice_ms: u64,
    /// Requests that ended in each slice.
    outcomes: BTreeMap<String, Vec<u64>>,
    /// Microseconds from when a request was due to its answer.
    times: Vec<Option<Histogram<u64>>>,
    /// Seats that stand at the end of each slice.
    sold: Vec<i64>,
}

impl RushTimeline {
    pub fn of(memories: &[Memory]) -> RushTimeline {
        let took = memories.iter().map(|memory| memory.ended).max().unwrap_or_default().as_millis() as u64;
        let fits = |width: &&u64| took / **width < MOST_SLICES;
        let slice_ms = WIDTHS_MS.iter().find(fits).copied().unwrap_or(WIDTHS_MS[WIDTHS_MS.len() - 1]);
        let slice = |at: Duration| (at.as_millis() as u64 / slice_ms) as usize;
        let slices = (took / slice_ms) as usize + 1;
        let mut outcomes: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut times: Vec<Option<Histogram<u64>>> = vec![None; slices];
        for memory in memories {
            let at = slice(memory.ended);
            outcomes.entry(memory.outcome.name().to_owned()).or_insert_with(|| vec![0; slices])[at] += 1;
            if !matches!(memory.outcome, RushOutcome::Unknown(_)) {
                let micros = memory.ended.saturating_sub(memory.due).as_micros() as u64;
                times[at].get_or_insert_with(histogram).saturating_record(micros);
            }
        }
        let mut sold = vec![0; slices];
        for (at, change) in changes(memories) {
            sold[slice(at)] += change;
        }
        let mut standing = 0;
        for count in &mut sold {
            standing += *count;
            *count = standing;
        }
        RushTimeline { slice_ms, outcomes, times, sold }
    }

    pub fn machine(&self) -> Value {
        let of = |quantile: f64| -> Vec<Option<f64>> {
            let ms = |times: &Histogram<u64>| times.value_at_quantile(quantile) as f64 / 1000.0;
            self.times.iter().map(|times| times.as_ref().map(ms)).collect()
        };
        let latencies: serde_json::Map<String, Value> =
            PERCENTILES.iter().map(|(name, quantile)| ((*name).to_owned(), json!(of(*quantile)))).collect();
        json!({ "sliceMs": self.slice_ms, "outcomes": self.outcomes, "latencyMs": latencies, "sold": self.sold })
    }
}

/// When a receipt was given, and when it stopped to stand. What remains is what `Proof::sold` counts: a receipt
/// counts once however often it was repeated, and one whose cancellation got no answer does not count.
fn changes(memories: &[Memory]) -> Vec<(Duration, i64)> {
    let mut by_end: Vec<&Memory> = memories.iter().collect();
    by_end.sort_by_key(|memory| memory.ended);
    let mut seen = HashSet::new();
    let mut receipts: HashMap<&str, i64> = HashMap::new();
    let mut changes = Vec::new();
    for memory in by_end {
        match &memory.outcome {
            RushOutcome::Reserved { seat, id, .. } => {
                if seen.insert((id.as_str(), memory.buyer, *seat)) {
                    *receipts.entry(id).or_default() += 1;
                    changes.push((memory.ended, 1));
                }
            }
            RushOutcome::Cancelled { id } | RushOutcome::Unknown(Unanswered::Cancellation { id }) => {
                changes.push((memory.ended, -receipts.insert(id, 0).unwrap_or_default()));
            }
            RushOutcome::Refused { .. } | RushOutcome::Unknown(Unanswered::Seat) => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::proof::prove;

    fn memory(buyer: u64, due: u64, ended: u64, outcome: RushOutcome) -> Memory {
        let ms = Duration::from_millis;
        Memory { buyer, due: ms(due), sent: ms(due), ended: ms(ended), outcome, server: None }
    }

    fn seat(seat: u64, replayed: bool) -> RushOutcome {
        RushOutcome::Reserved { seat, id: format!("e1-{seat}"), number: None, replayed }
    }

    #[test]
    fn slices_add_up_to_the_figures() {
        let memories = [
            memory(1, 0, 40, seat(1, false)),
            memory(2, 0, 99, RushOutcome::Unknown(Unanswered::Seat)),
            memory(2, 10, 120, seat(2, false)),
            memory(2, 10, 130, seat(2, true)),
            memory(3, 100, 180, seat(3, false)),
            memory(3, 180, 310, RushOutcome::Cancelled { id: "e1-3".into() }),
            memory(4, 0, 310, RushOutcome::Refused { reason: "sold_out".into(), status: 409, number: None }),
        ];
        let told = RushTimeline::of(&memories).machine();
        assert_eq!(told["sliceMs"], 100);
        assert_eq!(told["outcomes"]["reserved"], json!([1, 3, 0, 0]));
        assert_eq!(told["outcomes"]["no answer"], json!([1, 0, 0, 0]));
        assert_eq!(told["outcomes"]["sold_out"], json!([0, 0, 0, 1]));
        assert_eq!(told["sold"], json!([1, 3, 3, 2]), "a repeated receipt is the same seat");
        assert_eq!(prove("r", &memories, None).sold, 2);
        assert_eq!(told["latencyMs"]["p50"][2], Value::Null, "nothing was answered");
        assert!((39.9..40.1).contains(&told["latencyMs"]["p99"][0].as_f64().unwrap()));
    }

    #[test]
    fn long_soaks_have_wider_slices() {
        let day = [memory(1, 0, 86_000_000, seat(1, false))];
        let told = RushTimeline::of(&day).machine();
        assert_eq!((told["sliceMs"].as_u64(), told["sold"].as_array().map(Vec::len)), (Some(10_000), Some(8_601)));
    }
}
