//! Holds on seats: one or many, all or none. What has lapsed is turned free before anything else
//! is decided, so that the rest of the rules never meets it.

use super::{Freed, HeldSeat, Holding, Session};
use crate::command::Command;
use crate::history::{Actor, EventRecord, Happened};
use crate::holds::{Ask, Hold, HoldState, HoldTerms, On, Repeat};
use crate::ids::{Seat, User};
use crate::outcome::{Done, Refusal};
use crate::seats::Unit;
use crate::stock::{Row, Was};
use crate::subject::{HoldId, SubjectId};
use crate::time::Moment;

/// A seat that its hold sells to its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmed {
    pub seat: Seat,
    pub hold: u64,
    /// History number of the sale.
    pub n: u64,
    pub at: Moment,
}

impl Session {
    pub(super) fn turn_lapsed(&mut self) {
        let now = self.now;
        let mut lapsed: Vec<(Moment, u64)> =
            self.holds.iter().filter(|(_, hold)| hold.lapsed(now)).map(|(n, hold)| (hold.ends_at, *n)).collect();
        lapsed.sort_unstable();
        for (_, n) in lapsed {
            self.end_hold(n, HoldState::Expired, Happened::Expired, None);
        }
        for (n, hold) in self.holds.iter().filter(|(_, hold)| hold.live(now)) {
            self.live.entry(hold.owner.clone()).or_default().push(*n);
        }
    }

    /// In the order of the contract: repeat, open, conflict of keys, limit, entry, stock.
    pub(super) fn hold_seats(&mut self, command: &Command, seats: &[Seat], key: &str) -> Result<Done, Refusal> {
        let user = command.actor.user().ok_or(Refusal::MissingUser)?;
        if seats.iter().any(|seat| !self.event.has_seat(*seat)) {
            return Err(Refusal::NotFound);
        }
        let on = On::Seats(seats.to_vec());
        let same = self.live_of(user).find(|hold| hold.on == on).cloned();
        if let Some(same) = &same
            && &*same.key == key
            && self.hold_terms().repeat == Repeat::Same
        {
            return Ok(Done::Held { hold: Box::new(same.clone()), now: self.now, fresh: false });
        }
        if let Some(refusal) = self.event.shut(self.now) {
            return Err(refusal);
        }
        let anothers = |hold: &Hold| hold.live(self.now) && &*hold.key == key && hold.owner != *user && hold.on == on;
        if self.holds.values().any(anothers) {
            return Err(Refusal::HoldKeyConflict);
        }
        self.within_limits(user, seats.len(), same.as_ref())?;
        self.needs_entry(command)?;
        let own = |seat: &Seat| same.is_some() && seats.contains(seat);
        let gone =
            |seat: &&Seat| !own(seat) && matches!(self.stock.row(**seat), Some(Row::Sold { .. } | Row::Held { .. }));
        let taken: Vec<Seat> = seats.iter().filter(gone).copied().collect();
        if !taken.is_empty() {
            return Err(Refusal::NotAvailable { nights: Vec::new(), seats: taken });
        }
        let replaced = same.map(|old| self.replace(&old, &command.actor));
        Ok(self.begin_hold(command, user.clone(), on, key, replaced))
    }

    /// Seats sold and on hold count alike; a hold that is replaced does not count against itself.
    fn within_limits(&self, user: &User, wanted: usize, replaced: Option<&Hold>) -> Result<(), Refusal> {
        let live = self.live_of(user).count() - usize::from(replaced.is_some());
        let mine = self.holdings.get(user).map_or(0, Vec::len) - replaced.map_or(0, |_| wanted);
        let most = self.event.max_per_user as usize;
        if mine >= most {
            return Err(self.at_the_limit(user));
        }
        if mine + wanted > most || live >= self.hold_terms().per_user as usize {
            return Err(Refusal::LimitReached { seats: self.held_by(user) });
        }
        Ok(())
    }

    fn begin_hold(&mut self, command: &Command, user: User, on: On, key: &str, replaced: Option<Replaced>) -> Done {
        let n = self.event.counts.n + 1;
        let first_at = replaced.as_ref().map_or(self.now, |old| old.first_at);
        let mut hold = Hold {
            id: HoldId { subject: SubjectId::Event(self.event.id), n },
            owner: user.clone(),
            key: key.into(),
            on,
            first_at,
            at: self.now,
            ends_at: self.now,
            state: HoldState::Held,
            ended_at: None,
            reserved: Vec::new(),
        };
        hold.ends_at = hold.extended(&self.hold_terms(), self.now);
        let mut pending = replaced.map(|old| old.pending).unwrap_or_default();
        for seat in seats_of(&hold) {
            let row = || Row::Held { owner: user.clone(), ends_at: hold.ends_at };
            // A row that this batch was going to write is still to be written in the same way.
            let known = pending.iter().position(|held| held.seat == seat).map(|i| pending.swap_remove(i).was);
            let was = known.or_else(|| self.stock.take(seat, row)).unwrap_or(Was::Free);
            let unit = self.free_unit(&user);
            let n = self.seat_happened(Happened::Held, &hold, seat, Some(&command.actor));
            self.event.counts.held += 1;
            let holding = Holding { seat, n, unit, at: self.now };
            self.holdings.entry(user.clone()).or_default().push(holding);
            let unit = Unit { user: user.clone(), unit, limit: self.event.max_per_user };
            self.writes.held.push(HeldSeat {
                seat,
                n,
                unit,
                hold: hold.id.n,
                at: self.now,
                ends_at: hold.ends_at,
                was,
            });
        }
        self.first_end = Some(self.first_end.map_or(hold.ends_at, |end| end.min(hold.ends_at)));
        self.holds.insert(n, hold.clone());
        self.live.entry(user).or_default().push(n);
        self.touched.push(n);
        self.begun.insert(n);
        Done::Held { hold: Box::new(hold), now: self.now, fresh: true }
    }

    /// Units above the limit cannot be met: the limit was asked before.
    fn free_unit(&self, user: &User) -> u32 {
        let mine = self.holdings.get(user).map(Vec::as_slice).unwrap_or_default();
        (1..).find(|unit| mine.iter().all(|holding| holding.unit != *unit)).unwrap_or(u32::MAX)
    }

    /// The old hold makes place for a new one of the same seats.
    fn replace(&mut self, old: &Hold, actor: &Actor) -> Replaced {
        let n = old.id.n;
        let mut pending = Vec::new();
        if self.begun.contains(&n) {
            pending = self.writes.held.extract_if(.., |held| held.hold == n).collect();
        }
        self.finish_hold(n, HoldState::Replaced, Happened::Replaced, Some(actor), pending.is_empty());
        Replaced { first_at: old.first_at, pending }
    }

    pub(super) fn on_hold(&mut self, command: &Command, n: u64, ask: Ask) -> Result<Done, Refusal> {
        let whose = match &command.actor {
            Actor::Admin => None,
            Actor::User(user) => Some(user),
            Actor::Nobody => return Err(Refusal::MissingUser),
        };
        let hold = self.holds.get(&n).ok_or(Refusal::HoldNotFound)?;
        hold.open_to(whose, self.now)?;
        match ask {
            Ask::Confirm => Ok(self.confirm(command, n)),
            Ask::Cancel => {
                self.end_hold(n, HoldState::Cancelled, Happened::Released, Some(&command.actor));
                Ok(Done::Released)
            }
            Ask::Extend => self.extend(command, n),
        }
    }

    /// One change of the hold's own state, in the transaction that sells what it held.
    fn confirm(&mut self, command: &Command, n: u64) -> Done {
        let Some(mut hold) = self.holds.remove(&n) else { return Done::Released };
        hold.state = HoldState::Confirmed;
        hold.ended_at = Some(self.now);
        for seat in seats_of(&hold) {
            let n = self.seat_happened(Happened::Reserved, &hold, seat, Some(&command.actor));
            self.event.counts.held -= 1;
            self.event.counts.sold += 1;
            if let Some(mine) = self.holdings.get_mut(&hold.owner)
                && let Some(holding) = mine.iter_mut().find(|holding| holding.seat == seat)
            {
                (holding.n, holding.at) = (n, self.now);
            }
            hold.reserved.push(n);
            self.writes.confirmed.push(Confirmed { seat, hold: hold.id.n, n, at: self.now });
        }
        self.let_go(&hold);
        self.entry_served(&hold.owner);
        self.holds.insert(n, hold.clone());
        Done::Confirmed { hold: Box::new(hold) }
    }

    fn extend(&mut self, command: &Command, n: u64) -> Result<Done, Refusal> {
        let (terms, now) = (self.hold_terms(), self.now);
        let hold = self.holds.get_mut(&n).ok_or(Refusal::HoldNotFound)?;
        let end = hold.extended(&terms, now);
        if end <= hold.ends_at {
            return Err(Refusal::LimitReached { seats: Vec::new() });
        }
        hold.ends_at = end;
        let hold = hold.clone();
        self.touched.push(n);
        for seat in seats_of(&hold) {
            self.seat_happened(Happened::Extended, &hold, seat, Some(&command.actor));
        }
        Ok(Done::Extended { hold: Box::new(hold), now })
    }

    fn end_hold(&mut self, n: u64, state: HoldState, what: Happened, actor: Option<&Actor>) {
        self.finish_hold(n, state, what, actor, true);
    }

    /// The hold ends without a sale: its seats come back, if they have rows to come back.
    fn finish_hold(&mut self, n: u64, state: HoldState, what: Happened, actor: Option<&Actor>, rows: bool) {
        let Some(mut hold) = self.holds.remove(&n) else { return };
        hold.state = state;
        hold.ended_at = Some(self.now);
        for (i, seat) in seats_of(&hold).into_iter().enumerate() {
            self.event.counts.held -= 1;
            if rows {
                self.stock.give_back(seat);
                // The seats of a hold were numbered one after another.
                self.writes.freed.push(Freed { seat, n: n + i as u64 });
            }
            if let Some(mine) = self.holdings.get_mut(&hold.owner) {
                mine.retain(|holding| holding.seat != seat);
            }
            self.seat_happened(what, &hold, seat, actor);
        }
        self.let_go(&hold);
        self.holds.insert(n, hold);
    }

    fn let_go(&mut self, hold: &Hold) {
        self.touched.push(hold.id.n);
        if let Some(mine) = self.live.get_mut(&hold.owner) {
            mine.retain(|n| *n != hold.id.n);
        }
    }

    fn live_of<'a>(&'a self, user: &User) -> impl Iterator<Item = &'a Hold> + use<'a> {
        self.live.get(user).into_iter().flatten().filter_map(|n| self.holds.get(n))
    }

    /// Seats that a user has on hold, oldest hold first.
    pub(super) fn held_by(&self, user: &User) -> Vec<Seat> {
        let mut holds: Vec<&Hold> = self.live_of(user).collect();
        holds.sort_by_key(|hold| hold.id.n);
        holds.into_iter().flat_map(seats_of).collect()
    }

    /// Nothing is free: sold out, or only until the first hold ends.
    pub(super) fn nothing_free(&self) -> Refusal {
        if self.event.counts.held == 0 {
            return Refusal::SoldOut;
        }
        let retry_after = self.first_end.map_or(1, |end| self.now.seconds_until(end).max(1));
        Refusal::HeldOut { retry_after }
    }

    fn hold_terms(&self) -> HoldTerms {
        let ttl_ms = self.event.hold_ttl_ms.unwrap_or(self.terms.holds.ttl_ms);
        HoldTerms { ttl_ms, ..self.terms.holds }
    }

    fn seat_happened(&mut self, what: Happened, hold: &Hold, seat: Seat, actor: Option<&Actor>) -> u64 {
        self.event.counts.n += 1;
        let n = self.event.counts.n;
        self.writes.history.push(EventRecord {
            n,
            what,
            seat: Some(seat),
            owner: Some(hold.owner.clone()),
            by_admin: actor == Some(&Actor::Admin),
            number: None,
            at: self.now,
            hold: Some(hold.id.n),
        });
        n
    }
}

/// What a replaced hold leaves to its successor.
struct Replaced {
    first_at: Moment,
    /// Rows that this batch was going to write for it.
    pending: Vec<HeldSeat>,
}

fn seats_of(hold: &Hold) -> Vec<Seat> {
    match &hold.on {
        On::Seats(seats) => seats.clone(),
        On::Nights(_) => Vec::new(),
    }
}
