//! The hold book: every hold that one batch knows of, which of them are live, and which of them the batch changed. It
//! knows holds only; the subject manages the stock that a hold takes.

use std::collections::{HashMap, HashSet};

use super::{Hold, HoldState, HoldTerms, On, Repeat};
use crate::buyer::Metadata;
use crate::history::Actor;
use crate::ids::User;
use crate::outcome::{Done, Limit, Refusal};
use crate::subject::HoldId;
use crate::time::Moment;

#[derive(Debug)]
pub struct HoldBook {
    /// By the history number at which each began.
    holds: HashMap<u64, Hold>,
    /// The live holds of each user.
    live: HashMap<User, Vec<u64>>,
    /// Holds that changed, in the order of the changes. A hold may occur more than once.
    touched: Vec<u64>,
    /// Of these, the holds that began in this batch.
    begun: HashSet<u64>,
    now: Moment,
}

/// The data of a new hold.
#[derive(Clone, Debug)]
pub struct NewHold {
    pub id: HoldId,
    pub owner: User,
    pub key: Box<str>,
    pub on: On,
    /// Copied from the replaced hold: a chain of replacements does not restart the time.
    pub first_at: Option<Moment>,
    pub metadata: Option<Metadata>,
}

/// The holds that a batch must write, each once.
#[derive(Clone, Debug, Default)]
pub struct HoldChanges {
    /// The ledger refuses to change a hold that is not held.
    pub changed: Vec<Hold>,
    pub begun: Vec<Hold>,
}

impl HoldBook {
    pub fn new(holds: HashMap<u64, Hold>, now: Moment) -> HoldBook {
        let mut live: HashMap<User, Vec<u64>> = HashMap::new();
        for (n, hold) in holds.iter().filter(|(_, hold)| hold.live(now)) {
            live.entry(hold.owner.clone()).or_default().push(*n);
        }
        HoldBook { holds, live, touched: Vec::new(), begun: HashSet::new(), now }
    }

    /// Lapsed holds whose rows still say that they are held, oldest end first.
    pub fn lapsed(&self) -> Vec<u64> {
        let lapsed = self.holds.iter().filter(|(_, hold)| hold.lapsed(self.now));
        let mut lapsed: Vec<(Moment, u64)> = lapsed.map(|(n, hold)| (hold.ends_at, *n)).collect();
        lapsed.sort_unstable();
        lapsed.into_iter().map(|(_, n)| n).collect()
    }

    pub fn live_of<'a>(&'a self, user: &User) -> impl Iterator<Item = &'a Hold> + use<'a> {
        self.live.get(user).into_iter().flatten().filter_map(|n| self.holds.get(n))
    }

    /// The live hold that a user has on exactly this stock.
    pub fn same(&self, user: &User, on: &On) -> Option<&Hold> {
        self.live_of(user).find(|hold| hold.on == *on)
    }

    /// A repeated request gets the existing hold, unless a repeat means a replacement.
    pub fn repeat(&self, same: Option<&Hold>, key: &str, terms: &HoldTerms) -> Option<Done> {
        let same = same.filter(|same| &*same.key == key && terms.repeat == Repeat::Same)?;
        Some(Done::Held { hold: Box::new(same.clone()), now: self.now, fresh: false })
    }

    /// Two users must not use one key for the same stock.
    pub fn conflict(&self, user: &User, key: &str, on: &On) -> Result<(), Refusal> {
        let anothers = |hold: &Hold| hold.live(self.now) && &*hold.key == key && hold.owner != *user && hold.on == *on;
        if self.holds.values().any(anothers) { Err(Refusal::HoldKeyConflict) } else { Ok(()) }
    }

    /// The cool-down: a user who gave this stock back can hold it again only after a while, so that others get a
    /// chance.
    pub fn cooled_down(&self, user: &User, on: &On, terms: &HoldTerms) -> Result<(), Refusal> {
        if terms.again_after_ms == 0 {
            return Ok(());
        }
        let mine = self.holds.values().filter(|hold| hold.owner == *user && hold.on == *on);
        let Some(given_back) = mine.filter_map(Hold::given_back_at).max() else { return Ok(()) };
        let again = given_back.plus_ms(terms.again_after_ms);
        if again <= self.now {
            return Ok(());
        }
        Err(Refusal::HeldLately { retry_after: self.now.seconds_until(again).max(1) })
    }

    pub fn begin(&mut self, new: NewHold, terms: &HoldTerms) -> Hold {
        let NewHold { id, owner, key, on, first_at, metadata } = new;
        let now = self.now;
        let mut hold = Hold {
            id,
            owner,
            key,
            on,
            first_at: first_at.unwrap_or(now),
            at: now,
            ends_at: now,
            state: HoldState::Held,
            ended_at: None,
            reserved: Vec::new(),
            metadata,
            reason: None,
        };
        hold.ends_at = hold.extended(terms, now);
        self.holds.insert(id.n, hold.clone());
        self.live.entry(hold.owner.clone()).or_default().push(id.n);
        self.touched.push(id.n);
        self.begun.insert(id.n);
        hold
    }

    /// This batch will insert the hold.
    pub fn begun_here(&self, n: u64) -> bool {
        self.begun.contains(&n)
    }

    /// The check before confirm, cancel and extend: only the caller's own live hold passes. For the admin every live
    /// hold passes.
    pub fn open(&self, n: u64, actor: &Actor) -> Result<&Hold, Refusal> {
        let whose = match actor {
            Actor::Admin(_) => None,
            Actor::User(user) => Some(user),
            Actor::Nobody => return Err(Refusal::MissingUser),
        };
        let hold = self.holds.get(&n).ok_or(Refusal::HoldNotFound)?;
        hold.open_to(whose, self.now)?;
        Ok(hold)
    }

    pub fn extend(&mut self, n: u64, terms: &HoldTerms) -> Result<Hold, Refusal> {
        let hold = self.holds.get_mut(&n).ok_or(Refusal::HoldNotFound)?;
        let end = hold.extended(terms, self.now);
        if end <= hold.ends_at {
            return Err(Refusal::LimitReached { seats: Vec::new(), limit: Limit::HoldAge });
        }
        hold.ends_at = end;
        self.touched.push(n);
        Ok(hold.clone())
    }

    /// Ends a hold. Returns its new state, or None if it is not known.
    pub fn end(&mut self, n: u64, state: HoldState) -> Option<Hold> {
        let hold = self.holds.get_mut(&n)?;
        hold.state = state;
        hold.ended_at = Some(self.now);
        self.touched.push(n);
        if let Some(mine) = self.live.get_mut(&hold.owner) {
            mine.retain(|other| *other != n);
        }
        Some(hold.clone())
    }

    /// Records why the hold was given back.
    pub fn explain(&mut self, n: u64, reason: Option<&str>) {
        if let (Some(hold), Some(reason)) = (self.holds.get_mut(&n), reason) {
            hold.reason = Some(reason.into());
        }
    }

    /// Records the reservations that a confirmed hold became.
    pub fn became(&mut self, n: u64, reserved: Vec<u64>) -> Option<Hold> {
        let hold = self.holds.get_mut(&n)?;
        hold.reserved = reserved;
        Some(hold.clone())
    }

    pub fn finish(mut self) -> HoldChanges {
        let (mut seen, mut changes) = (HashSet::new(), HoldChanges::default());
        for n in self.touched.into_iter().filter(|n| seen.insert(*n)) {
            let Some(hold) = self.holds.remove(&n) else { continue };
            if self.begun.contains(&n) { &mut changes.begun } else { &mut changes.changed }.push(hold);
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::AdminName;
    use crate::ids::{EventId, Seat};
    use crate::subject::SubjectId;

    const NOW: Moment = Moment(1_000_000);
    const KEY: &str = "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11";

    fn user(name: &str) -> User {
        User::stored(name)
    }

    fn new(n: u64, owner: &str, seat: u32) -> NewHold {
        let id = HoldId { subject: SubjectId::Event(EventId(1)), n };
        NewHold {
            id,
            owner: user(owner),
            key: KEY.into(),
            on: On::Seats(vec![Seat(seat)]),
            first_at: None,
            metadata: None,
        }
    }

    fn book_with(holds: &[NewHold], at: Moment) -> HoldBook {
        let mut book = HoldBook::new(HashMap::new(), at);
        for new in holds {
            book.begin(new.clone(), &HoldTerms::default());
        }
        let begun = book.finish().begun;
        HoldBook::new(begun.into_iter().map(|hold| (hold.id.n, hold)).collect(), NOW)
    }

    #[test]
    fn lapsed_holds_come_oldest_end_first_and_are_not_live() {
        let early = book_with(&[new(5, "a", 1)], Moment(0));
        let mut holds = early.holds;
        holds.extend(book_with(&[new(3, "a", 2)], Moment(1)).holds);
        holds.extend(book_with(&[new(9, "a", 3)], NOW).holds);
        let book = HoldBook::new(holds, NOW);
        assert_eq!(book.lapsed(), [5, 3]);
        assert_eq!(book.live_of(&user("a")).map(|hold| hold.id.n).collect::<Vec<_>>(), [9]);
    }

    #[test]
    fn repeats_and_conflicts_are_about_the_same_stock() {
        let book = book_with(&[new(2, "a", 1)], NOW);
        let (on, terms) = (On::Seats(vec![Seat(1)]), HoldTerms::default());
        let same = book.same(&user("a"), &on);
        assert!(matches!(book.repeat(same, KEY, &terms), Some(Done::Held { fresh: false, .. })));
        assert!(book.repeat(same, "another", &terms).is_none());
        assert!(book.repeat(same, KEY, &HoldTerms { repeat: Repeat::Replace, ..terms }).is_none());
        assert_eq!(book.conflict(&user("b"), KEY, &on), Err(Refusal::HoldKeyConflict));
        assert_eq!(book.conflict(&user("b"), KEY, &On::Seats(vec![Seat(2)])), Ok(()));
        assert_eq!(book.conflict(&user("a"), KEY, &on), Ok(()));
    }

    #[test]
    fn stock_that_was_given_back_cools_down_for_its_last_owner() {
        let terms = HoldTerms { again_after_ms: 30_000, ..HoldTerms::default() };
        let mut book = book_with(&[new(2, "a", 1), new(4, "a", 2), new(6, "a", 3)], NOW);
        let seat = |seat| On::Seats(vec![Seat(seat)]);
        book.end(2, HoldState::Cancelled);
        book.end(4, HoldState::Replaced);
        assert_eq!(book.cooled_down(&user("a"), &seat(1), &terms), Err(Refusal::HeldLately { retry_after: 30 }));
        assert_eq!(book.cooled_down(&user("b"), &seat(1), &terms), Ok(()), "others may have it");
        assert_eq!(book.cooled_down(&user("a"), &seat(2), &terms), Ok(()), "what was replaced is not given back");
        assert_eq!(book.cooled_down(&user("a"), &seat(3), &terms), Ok(()), "what is held is not given back");
        assert_eq!(book.cooled_down(&user("a"), &seat(1), &HoldTerms::default()), Ok(()), "0 is off");
        let ended = book.holds[&2].clone();
        for (later, cool) in [(29_999, false), (30_000, true)] {
            let book = HoldBook::new([(2, ended.clone())].into(), NOW.plus_ms(later));
            assert_eq!(book.cooled_down(&user("a"), &seat(1), &terms).is_ok(), cool);
        }
        let lapsed = Hold { state: HoldState::Expired, ends_at: Moment(NOW.0 - 30_000), ..ended };
        let book = HoldBook::new([(2, lapsed)].into(), NOW);
        assert_eq!(book.cooled_down(&user("a"), &seat(1), &terms), Ok(()), "it ended when it lapsed");
    }

    #[test]
    fn the_gate_passes_a_live_hold_of_the_callers() {
        let mut book = book_with(&[new(2, "a", 1)], NOW);
        assert!(book.open(2, &Actor::User(user("a"))).is_ok());
        assert!(book.open(2, &Actor::Admin(AdminName::default())).is_ok());
        assert!(matches!(book.open(2, &Actor::User(user("b"))), Err(Refusal::Forbidden(_))));
        assert_eq!(book.open(2, &Actor::Nobody).err(), Some(Refusal::MissingUser));
        assert_eq!(book.open(7, &Actor::Admin(AdminName::default())).err(), Some(Refusal::HoldNotFound));
        book.end(2, HoldState::Cancelled);
        assert!(matches!(
            book.open(2, &Actor::Admin(AdminName::default())),
            Err(Refusal::HoldProcessed { confirmed: None })
        ));
    }

    #[test]
    fn every_hold_is_written_once_however_often_it_changed() {
        let mut book = book_with(&[new(2, "a", 1), new(4, "a", 2)], NOW);
        book.end(4, HoldState::Confirmed);
        book.became(4, vec![11]);
        book.begin(new(12, "a", 3), &HoldTerms::default());
        book.end(12, HoldState::Replaced);
        let HoldChanges { changed, begun } = book.finish();
        assert_eq!(changed.iter().map(|h| (h.id.n, h.state)).collect::<Vec<_>>(), [(4, HoldState::Confirmed)]);
        assert_eq!(changed[0].reserved, [11]);
        assert_eq!(begun.iter().map(|h| (h.id.n, h.state)).collect::<Vec<_>>(), [(12, HoldState::Replaced)]);
    }
}
