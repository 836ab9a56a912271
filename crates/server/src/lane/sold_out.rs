//! Answers `sold_out` from memory: while many wait for an event that the last batch left sold out, further requests
//! are refused without the door and the ledger. They get no number, as at a gateway that answers from its hint.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rules::buyer::AskedFields;
use rules::command::{Command, EventAction};
use rules::decide::Answer;
use rules::event::{Event, State};
use rules::ids::User;
use rules::outcome::{Outcome, Refusal};
use rules::seats::Hall;
use rules::time::Moment;

/// Older knowledge is not used: another server may have freed a seat. Under the promised 250 ms.
const FRESH: Duration = Duration::from_millis(200);
/// Filter bits per seat. The filter is at most a mebibyte.
const BITS_PER_SEAT: usize = 8;
const BITS_MOST: usize = 8 * 1024 * 1024;
const BITS_LEAST: usize = 4_096;

/// What this server caches about an event.
pub struct EventFacts {
    /// An event keeps its hall for life.
    pub hall: Arc<Hall>,
    /// The fields that buyers are asked for, as bits.
    asked_fields: AtomicU8,
    newest: Mutex<Option<SeenEvent>>,
    buyers: BuyerFilter,
}

/// The event, and when the ledger was read.
struct SeenEvent {
    event: Event,
    asked: Instant,
}

impl EventFacts {
    pub fn new(event: Event) -> EventFacts {
        let asked_fields = AtomicU8::new(event.buyer_fields.bits());
        EventFacts { hall: event.hall, asked_fields, newest: Mutex::default(), buyers: BuyerFilter::default() }
    }

    pub fn asked_fields(&self) -> AskedFields {
        AskedFields::of_bits(self.asked_fields.load(Ordering::Relaxed))
    }

    pub fn saw(&self, event: &Event, asked: Instant) {
        let mut newest = self.newest.lock().unwrap_or_else(|p| p.into_inner());
        // A read may end after a batch that began later.
        if newest.as_ref().is_none_or(|seen| event.counts.n >= seen.event.counts.n) {
            self.asked_fields.store(event.buyer_fields.bits(), Ordering::Relaxed);
            *newest = Some(SeenEvent { event: event.clone(), asked });
        }
    }

    /// Adds users who may have a seat to the filter. Their requests go to the ledger, which tells them their seat.
    pub fn remember(&self, commands: &[Command<Event>], answers: &[Answer]) {
        for (command, answer) in commands.iter().zip(answers) {
            let empty_handed = matches!(answer.outcome, Outcome::Refused(Refusal::SoldOut));
            if let Some(user) = command.actor.user().filter(|_| !empty_handed) {
                self.buyers.insert(user, self.hall.seat_count() as usize);
            }
        }
    }

    /// Whether this user's request for any seat can only be refused with `sold_out`.
    pub fn sold_out(&self, user: Option<&User>, action: &EventAction, wall: Moment) -> bool {
        let newest = self.newest.lock().unwrap_or_else(|p| p.into_inner());
        matches!(action, EventAction::Reserve(_))
            && user.is_some_and(|user| !self.buyers.may_contain(user))
            && newest.as_ref().is_some_and(|SeenEvent { event, asked }| {
                asked.elapsed() < FRESH
                    && event.remaining() == 0
                    && event.counts.held == 0
                    && event.waiting_room.is_none()
                    && event.state_at(wall) == State::Open
            })
    }
}

/// A Bloom filter: it may report users who bought nothing, and misses no buyer of this server.
#[derive(Default)]
struct BuyerFilter {
    bits: OnceLock<Box<[AtomicU64]>>,
    hasher: RandomState,
}

impl BuyerFilter {
    fn insert(&self, user: &User, seats: usize) {
        let bits = self.bits.get_or_init(|| {
            let bits = (seats * BITS_PER_SEAT).clamp(BITS_LEAST, BITS_MOST).next_power_of_two();
            (0..bits / 64).map(|_| AtomicU64::new(0)).collect()
        });
        for (word, bit) in self.places(user, bits.len()) {
            bits[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn may_contain(&self, user: &User) -> bool {
        let Some(bits) = self.bits.get() else { return false };
        self.places(user, bits.len()).into_iter().all(|(word, bit)| bits[word].load(Ordering::Relaxed) & bit != 0)
    }

    /// Three bits, each as a word and the bit in it.
    fn places(&self, user: &User, words: usize) -> [(usize, u64); 3] {
        let hash = self.hasher.hash_one(user.as_str());
        let (first, step) = (hash as usize, (hash >> 32) as usize | 1);
        [0, 1, 2].map(|i| {
            let bit = first.wrapping_add(step.wrapping_mul(i)) % (words * 64);
            (bit / 64, 1 << (bit % 64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_misses_nobody_and_seldom_finds_strangers() {
        let filter = BuyerFilter::default();
        let user = |word: &str, i: usize| User::new(&format!("{word}{i}")).unwrap();
        assert!(!filter.may_contain(&user("buyer", 0)));
        for i in 0..10_000 {
            filter.insert(&user("buyer", i), 10_000);
        }
        assert!((0..10_000).all(|i| filter.may_contain(&user("buyer", i))));
        let strangers = (0..10_000).filter(|i| filter.may_contain(&user("stranger", *i))).count();
        assert!(strangers < 600, "{strangers} of 10,000");
    }
}
