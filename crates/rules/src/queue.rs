//! The line in front of an event: who waits, in which order, and whose turn it is. The scripts `queue_*.lua` implement
//! the same rules in Lua.
//!
//! A place is a number, and numbers are never reused. A user who is silent for `idleTimeout` is passed over, and gets
//! the place back on return. A user who got `ready` and does not enter within `idleTimeout`, or within a quarter of a
//! minute with `admitPerMinute`, is passed over until they ask to enter. The ledger decides who is inside; it sends
//! these entries to the line, which counts each until its end. Each call passes over at most a thousand users. A
//! background task forgets users that have been silent for long; a ticket still proves their place. The line has a
//! maximum length, `queueMost`.
//!
//! Where the order is drawn ([`crate::event`]), the server draws the place of each user who gathers. The line accepts
//! it like the place of a ticket.

mod ranks;
mod replies;

pub use self::replies::{Asking, Forgotten, Place, PlaceClaim, QueueReply, Serving, Status, Supply, What};

use std::collections::{BTreeSet, HashMap};

use crate::entries::{DoorEntry, Entry, Moved, WaitingRoom};
use crate::event::State;
use crate::ids::{NUMBERS_PER_GENERATION, Number, User};
use crate::time::Moment;

use self::ranks::Ranks;

/// Each call passes over at most this many silent users.
pub const PASSED_PER_CALL: usize = 1_000;

/// Admissions are counted in this many buckets of ten seconds, the current one included.
const RATE_BUCKETS: usize = 6;
const RATE_BUCKET_MS: i64 = 10_000;

/// The poll interval grows by a second for this many people ahead.
const AHEAD_PER_SECOND: u64 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// In line and counted.
    Present,
    Silent,
    /// Was ready and did not enter. Not counted until they ask to enter.
    Passed,
}

/// Kept small, because a million may wait: 32 bytes.
#[derive(Clone, Copy, Debug)]
struct Person {
    number: Number,
    /// The last request. For a user who was passed over, the time when they were passed over or the last request since.
    seen: Moment,
    /// For a user who got `ready`, when the turn lapses; otherwise `NEVER`.
    ready_until: Moment,
    standing: Standing,
}

const NEVER: Moment = Moment(i64::MIN);
const _: () = assert!(size_of::<Person>() == 32);

impl Person {
    fn ready(&self) -> Option<Moment> {
        (self.ready_until != NEVER).then_some(self.ready_until)
    }
}

#[derive(Clone, Copy, Debug)]
struct Insider {
    n: u64,
    ends: Moment,
    cap: Moment,
}

/// The line of one event.
#[derive(Debug)]
pub struct Line {
    generation: u64,
    counter: u64,
    people: HashMap<User, Person>,
    present: Ranks,
    /// Users who are present, ordered by their last request. The key contains the user, because two users may draw the
    /// same number.
    seen: BTreeSet<(Moment, Number, User)>,
    /// Users who are silent or were passed over, in the same order.
    away: BTreeSet<(Moment, Number, User)>,
    /// Users who got `ready`, ordered by when their turn lapses.
    ready: BTreeSet<(Moment, Number, User)>,
    inside: HashMap<User, Insider>,
    ends: BTreeSet<(Moment, User)>,
    /// Nobody new is admitted before this time.
    from: Moment,
    admitted: [(i64, u64); RATE_BUCKETS],
}

impl Line {
    pub fn new(generation: u64) -> Line {
        Line {
            generation,
            counter: 0,
            people: HashMap::new(),
            present: Ranks::default(),
            seen: BTreeSet::new(),
            away: BTreeSet::new(),
            ready: BTreeSet::new(),
            inside: HashMap::new(),
            ends: BTreeSet::new(),
            from: Moment(i64::MIN),
            admitted: [(i64::MIN, 0); RATE_BUCKETS],
        }
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A higher generation begins at number 1. Nobody loses their place.
    pub fn raise(&mut self, generation: u64) {
        if generation > self.generation {
            self.generation = generation;
            self.counter = 0;
        }
    }

    /// After a loss of state: these users are inside, according to the ledger at its history number `n`, and admission
    /// pauses for a while. The ledger's clock is behind this one's by `skew_ms`.
    pub fn restore(&mut self, entries: &[Entry], n: u64, skew_ms: i64, from: Option<Moment>) {
        let kept: Vec<(User, Insider)> = self.inside.drain().filter(|(_, insider)| insider.n > n).collect();
        self.ends.clear();
        for (user, insider) in kept {
            self.let_in(user, insider);
        }
        for entry in entries {
            self.admit(entry, skew_ms);
        }
        if let Some(from) = from {
            self.from = self.from.max(from);
        }
    }

    /// The ledger changed who is inside. The ledger's clock is behind this one's by `skew_ms`.
    pub fn moved(&mut self, moved: &Moved, skew_ms: i64, now: Moment) {
        match moved {
            Moved::In(entry) => {
                if self.admit(entry, skew_ms) {
                    self.count_admission(now);
                }
            }
            Moved::Renewed { user, n, ends } => {
                let ends = ends.plus_ms(skew_ms);
                if let Some(insider) = self.inside.get(user).copied()
                    && insider.n == *n
                    && ends > insider.ends
                {
                    self.ends.remove(&(insider.ends, user.clone()));
                    self.let_in(user.clone(), Insider { ends, ..insider });
                }
            }
            Moved::Out { user, n } => {
                if self.inside.get(user).is_some_and(|insider| insider.n <= *n) {
                    self.put_out(user);
                }
            }
        }
    }

    /// False if this state or a newer one is already known.
    fn admit(&mut self, entry: &Entry, skew_ms: i64) -> bool {
        if self.inside.get(&entry.user).is_some_and(|insider| insider.n >= entry.n) {
            return false;
        }
        self.put_out(&entry.user);
        self.forget(&entry.user);
        self.let_in(
            entry.user.clone(),
            Insider { n: entry.n, ends: entry.ends.plus_ms(skew_ms), cap: entry.cap.plus_ms(skew_ms) },
        );
        true
    }

    fn let_in(&mut self, user: User, insider: Insider) {
        self.ends.insert((insider.ends, user.clone()));
        self.inside.insert(user, insider);
    }

    fn put_out(&mut self, user: &User) {
        if let Some(insider) = self.inside.remove(user) {
            self.ends.remove(&(insider.ends, user.clone()));
        }
    }

    /// The users who are inside.
    pub fn insiders(&self, now: Moment) -> Vec<DoorEntry> {
        let live = self.inside.iter().filter(|(_, insider)| insider.ends > now);
        live.map(|(user, insider)| DoorEntry { user: user.clone(), n: insider.n, left_ms: now.ms_until(insider.ends) })
            .collect()
    }

    /// The place of a user, present or away.
    pub fn number_of(&self, user: &User) -> Option<Number> {
        self.people.get(user).map(|person| person.number)
    }

    pub fn ask(&mut self, room: &WaitingRoom, supply: Supply, asking: &Asking, now: Moment) -> QueueReply {
        self.touch(&asking.user, now);
        self.pass_over(room, now);
        if let Some(insider) = self.inside.get(&asking.user).filter(|insider| insider.ends > now) {
            return QueueReply::Inside { left_ms: now.ms_until(insider.ends), cap_left_ms: now.ms_until(insider.cap) };
        }
        if asking.what == What::Leave {
            self.forget(&asking.user);
            return QueueReply::Gone;
        }
        let known = self.people.contains_key(&asking.user);
        if !known && asking.claim.is_none() && asking.what != What::Join {
            return QueueReply::NotQueued;
        }
        if !known && self.people.len() as u64 >= asking.most(room) {
            return QueueReply::Full;
        }
        if let Some(claim) = asking.claim {
            self.prove(&asking.user, claim.number, now);
        } else if !known {
            if self.counter + 1 >= NUMBERS_PER_GENERATION {
                return QueueReply::NoNumber;
            }
            self.counter += 1;
            self.stand(&asking.user, Number(self.given(room)), now);
        }
        self.take_back(&asking.user, asking.what == What::Enter, now);
        self.answer(room, supply, asking, now)
    }

    fn answer(&mut self, room: &WaitingRoom, supply: Supply, asking: &Asking, now: Moment) -> QueueReply {
        let Some(person) = self.people.get(&asking.user).copied() else { return QueueReply::NotQueued };
        let rank = self.present.below(person.number);
        let places = self.places(room, now);
        let turn = self.admits(supply, now) && rank < places;
        // How many users must be admitted before it is this user's turn.
        let ahead = if turn { 0 } else { (rank + 1).saturating_sub(places) };
        let poll_after = poll_after(room, ahead);
        if asking.what == What::Enter {
            if turn {
                return QueueReply::MayEnter { number: person.number };
            }
            let retry_after = if self.from > now { now.seconds_until(self.from).max(1) } else { poll_after };
            return QueueReply::NotReady { retry_after };
        }
        self.set_ready(&asking.user, person, turn, now.plus_ms(room.turn_ms()));
        let status = match (supply.sold_out(), turn) {
            (true, _) => Status::SoldOut,
            (false, true) => Status::Ready,
            (false, false) => Status::Waiting,
        };
        QueueReply::Place(Place { number: person.number, rank, ahead, status, poll_after })
    }

    pub fn serving(&mut self, room: &WaitingRoom, supply: Supply, now: Moment) -> Serving {
        self.pass_over(room, now);
        let (waiting, places) = (self.present.count(), self.places(room, now));
        let given = self.given(room);
        let serving = if !self.admits(supply, now) || places == 0 {
            self.present.nth(0).map_or(given, |first| first.0 - 1)
        } else if waiting <= places {
            self.present.nth(waiting.wrapping_sub(1)).map_or(given, |last| last.0.max(given))
        } else {
            self.present.nth(places - 1).map_or(given, |last| last.0)
        };
        let (admitted_per_minute, counted_ms) = (self.admitted_lately(now), self.counted_ms(now));
        let inside = self.ends.len() as u64;
        Serving { serving, waiting, admitted_per_minute, counted_ms, sold_out: supply.sold_out(), inside }
    }

    fn admits(&self, supply: Supply, now: Moment) -> bool {
        supply.state == State::Open && supply.free > 0 && now >= self.from
    }

    /// The highest number that was assigned by arrival.
    fn given(&self, room: &WaitingRoom) -> u64 {
        room.arrivals_from() + self.generation * NUMBERS_PER_GENERATION + self.counter
    }

    /// How many may enter now: the free places inside, limited by `admitPerMinute`. Entries whose end has passed were
    /// removed before.
    fn places(&self, room: &WaitingRoom, now: Moment) -> u64 {
        let free = u64::from(room.max_concurrent).saturating_sub(self.ends.len() as u64);
        let Some(most) = room.admit_per_minute.map(u64::from) else { return free };
        // Spread admissions over the minute: each bucket has its part.
        let part = most.div_ceil(RATE_BUCKETS as u64);
        let left = most.saturating_sub(self.admitted_lately(now));
        free.min(left).min(part.saturating_sub(self.admitted_now(now)))
    }

    /// Admissions in the last minute.
    fn admitted_lately(&self, now: Moment) -> u64 {
        let since = now.0.div_euclid(RATE_BUCKET_MS) - RATE_BUCKETS as i64;
        self.admitted.iter().filter(|(at, _)| *at > since).map(|(_, count)| count).sum()
    }

    /// Time since the first bucket with a count, a minute at most.
    fn counted_ms(&self, now: Moment) -> u64 {
        const MINUTE_MS: i64 = RATE_BUCKETS as i64 * RATE_BUCKET_MS;
        let first = self.admitted.iter().map(|(at, _)| *at).filter(|at| *at > i64::MIN).min();
        first.map_or(MINUTE_MS, |at| now.0 - at * RATE_BUCKET_MS).clamp(1, MINUTE_MS) as u64
    }

    /// Admissions in the current bucket.
    fn admitted_now(&self, now: Moment) -> u64 {
        let bucket = now.0.div_euclid(RATE_BUCKET_MS);
        self.admitted.iter().filter(|(at, _)| *at == bucket).map(|(_, count)| count).sum()
    }

    fn count_admission(&mut self, now: Moment) {
        let at = now.0.div_euclid(RATE_BUCKET_MS);
        let bucket = &mut self.admitted[at.rem_euclid(RATE_BUCKETS as i64) as usize];
        if bucket.0 != at {
            *bucket = (at, 0);
        }
        bucket.1 += 1;
    }

    /// Records that the user was seen.
    fn touch(&mut self, user: &User, now: Moment) {
        if let Some(person) = self.people.get_mut(user) {
            let by_time = if person.standing == Standing::Present { &mut self.seen } else { &mut self.away };
            if let Some((_, number, user)) = by_time.take(&(person.seen, person.number, user.clone())) {
                by_time.insert((now, number, user));
            }
            person.seen = now;
        }
    }

    /// The place that a ticket proves, unless the user has a better one.
    fn prove(&mut self, user: &User, proven: Number, now: Moment) {
        match self.people.get(user) {
            Some(person) if person.number <= proven => {}
            _ => {
                self.forget(user);
                self.stand(user, proven, now);
            }
        }
    }

    fn stand(&mut self, user: &User, number: Number, now: Moment) {
        self.people.insert(user.clone(), Person { number, seen: now, ready_until: NEVER, standing: Standing::Present });
        self.present.insert(number);
        self.seen.insert((now, number, user.clone()));
    }

    /// Gives a silent user their place back; a user who was passed over gets it only on asking to enter.
    fn take_back(&mut self, user: &User, enters: bool, now: Moment) {
        let Some(person) = self.people.get_mut(user) else { return };
        let back = match person.standing {
            Standing::Present => false,
            Standing::Silent => true,
            Standing::Passed => enters,
        };
        if back {
            let number = person.number;
            self.away.remove(&(person.seen, number, user.clone()));
            person.standing = Standing::Present;
            person.seen = now;
            self.present.insert(number);
            self.seen.insert((now, number, user.clone()));
        }
    }

    /// `ready` begins with the first reply that reports it, and ends when it is no longer the user's turn.
    fn set_ready(&mut self, user: &User, person: Person, turn: bool, until: Moment) {
        if person.standing != Standing::Present {
            return;
        }
        let ready = match (person.ready(), turn) {
            (None, true) => {
                self.ready.insert((until, person.number, user.clone()));
                Some(until)
            }
            (Some(before), false) => {
                self.ready.remove(&(before, person.number, user.clone()));
                None
            }
            (before, _) => before,
        };
        if let Some(person) = self.people.get_mut(user) {
            person.ready_until = ready.unwrap_or(NEVER);
        }
    }

    fn forget(&mut self, user: &User) {
        if let Some(person) = self.people.remove(user) {
            self.step_aside(user, person);
            if let Some(until) = person.ready() {
                self.ready.remove(&(until, person.number, user.clone()));
            }
        }
    }

    /// Removes the user from the count.
    fn step_aside(&mut self, user: &User, person: Person) {
        let at = (person.seen, person.number, user.clone());
        if person.standing == Standing::Present {
            self.present.remove(person.number);
            self.seen.remove(&at);
        } else {
            self.away.remove(&at);
        }
    }

    /// Forgets at most `most` users who are silent or were passed over and have not asked for `silent_ms`.
    pub fn forget_silent(&mut self, room: &WaitingRoom, silent_ms: i64, most: usize, now: Moment) -> Forgotten {
        self.pass_over(room, now);
        let before = now.plus_ms(-silent_ms);
        let mut forgotten = 0;
        while forgotten < most
            && let Some((seen, _, user)) = self.away.first()
            && *seen <= before
        {
            let user = user.clone();
            self.forget(&user);
            forgotten += 1;
        }
        if self.people.capacity() > 4 * self.people.len() + 64 {
            self.people.shrink_to(2 * self.people.len());
        }
        Forgotten { forgotten, left: self.people.len() }
    }

    /// Removes ended entries, and passes over silent users and users whose turn lapsed.
    fn pass_over(&mut self, room: &WaitingRoom, now: Moment) {
        while let Some((ends, user)) = self.ends.first().cloned().filter(|(ends, _)| *ends <= now) {
            self.ends.remove(&(ends, user.clone()));
            self.inside.remove(&user);
        }
        let mut most = PASSED_PER_CALL;
        let silent = now.plus_ms(-room.idle_ms);
        while most > 0
            && let Some((seen, _, user)) = self.seen.first()
            && *seen <= silent
        {
            let user = user.clone();
            self.set_aside(&user, Standing::Silent, now);
            most -= 1;
        }
        while most > 0
            && self.ready.first().is_some_and(|(until, ..)| *until <= now)
            && let Some((_, _, user)) = self.ready.pop_first()
        {
            self.set_aside(&user, Standing::Passed, now);
            most -= 1;
        }
    }

    fn set_aside(&mut self, user: &User, standing: Standing, now: Moment) {
        let Some(person) = self.people.get_mut(user) else { return };
        let before = *person;
        person.standing = standing;
        person.seen = now;
        if standing == Standing::Passed {
            person.ready_until = NEVER;
        }
        self.step_aside(user, before);
        self.away.insert((now, before.number, user.clone()));
    }
}

/// Grows with the distance: at least a second, at most a third of the idle timeout.
fn poll_after(room: &WaitingRoom, ahead: u64) -> u64 {
    let most = (room.idle_ms / 3_000).max(1) as u64;
    (1 + ahead / AHEAD_PER_SECOND).min(most)
}
