//! Holds on seats: one seat or several, all or none.

use super::Event;
use super::stock::{SeatRow, Was};
use super::writes::{ConfirmedSeat, FreedSeat, HeldSeat, Holding};
use crate::buyer::Buyer;
use crate::command::Command;
use crate::decide::Deciding;
use crate::history::{Actor, Details, EventRecord, Happened};
use crate::holds::{Ask, Hold, HoldState, LapsedMark, On};
use crate::ids::{Seat, User};
use crate::outcome::{Done, Refusal};
use crate::seats::Unit;

impl Deciding<Event> {
    /// Checks in the order of the contract: repeat, open, key conflict, limit, entry, cool-down, stock.
    pub(super) fn hold_seats(&mut self, command: &Command, seats: &[Seat], key: &str) -> Result<Done, Refusal> {
        let user = command.actor.user().ok_or(Refusal::MissingUser)?;
        if seats.iter().any(|seat| !self.subject.has_seat(*seat)) {
            return Err(Refusal::NotFound);
        }
        let on = On::Seats(seats.to_vec());
        let same = self.holds.same(user, &on);
        if let Some(repeated) = self.holds.repeat(same, key, &self.hold_terms()) {
            return Ok(repeated);
        }
        if let Some(refusal) = self.subject.shut(self.wall) {
            return Err(refusal);
        }
        self.holds.conflict(user, key, &on)?;
        self.within_limits(user, seats.len(), same)?;
        self.needs_entry(command)?;
        if same.is_none() {
            self.holds.cooled_down(user, &on, &self.hold_terms())?;
        }
        let own = |seat: &Seat| same.is_some() && seats.contains(seat);
        let gone = |seat: &&Seat| {
            let state = self.draft.stock.row(**seat);
            !own(seat) && matches!(state, Some(SeatRow::Sold { .. } | SeatRow::Held { .. }))
        };
        let taken: Vec<Seat> = seats.iter().filter(gone).copied().collect();
        if !taken.is_empty() {
            return Err(Refusal::NotAvailable { nights: Vec::new(), seats: taken });
        }
        let replaced = same.map(|old| old.id.n);
        Ok(self.begin_hold(command, user, on, key, replaced))
    }

    /// Sold seats and held seats count alike; a hold that is being replaced does not count against itself.
    fn within_limits(&self, user: &User, wanted: usize, replaced: Option<&Hold>) -> Result<(), Refusal> {
        let live = self.holds.live_of(user).count() - usize::from(replaced.is_some());
        let mine = self.draft.holdings.get(user).map_or(0, Vec::len) - replaced.map_or(0, |_| wanted);
        let most = self.subject.max_per_user as usize;
        if mine >= most {
            return Err(self.at_the_limit(user, wanted));
        }
        if mine + wanted > most {
            let limit = self.seats_limit(wanted, mine);
            return Err(Refusal::LimitReached { seats: self.held_by(user), limit });
        }
        self.hold_terms().one_more(live).map_err(|limit| Refusal::LimitReached { seats: self.held_by(user), limit })
    }

    pub(super) fn hold_each_seat(&mut self, hold: &Hold, actor: &Actor) {
        let user = &hold.owner;
        let mut unwritten = std::mem::take(&mut self.draft.unwritten);
        for seat in seats_of(hold) {
            let state = || SeatRow::Held { owner: user.clone(), ends_at: hold.ends_at };
            // A row that this batch has not written yet is still written in the same way (INSERT or UPDATE).
            let known = unwritten.iter().position(|held| held.seat == seat).map(|i| unwritten.swap_remove(i).was);
            let was = known.or_else(|| self.draft.stock.take(seat, state)).unwrap_or(Was::Free);
            let unit = self.free_unit(user);
            let n = self.seat_happened(Happened::Held, hold, seat, Some(actor));
            self.subject.counts.held += 1;
            let holding = Holding { seat, n, unit, at: self.now };
            self.draft.holdings.entry(user.clone()).or_default().push(holding);
            let unit = Unit { user: user.clone(), unit, limit: self.subject.max_per_user };
            let (at, ends_at, hold) = (self.now, hold.ends_at, hold.id.n);
            self.writes.held.push(HeldSeat { seat, n, unit, hold, at, ends_at, was });
        }
        let first_end = self.draft.first_end;
        self.draft.first_end = Some(first_end.map_or(hold.ends_at, |end| end.min(hold.ends_at)));
    }

    /// Never above the limit, which was checked before.
    fn free_unit(&self, user: &User) -> u32 {
        let mine = self.draft.holdings.get(user).map(Vec::as_slice).unwrap_or_default();
        (1..).find(|unit| mine.iter().all(|holding| holding.unit != *unit)).unwrap_or(u32::MAX)
    }

    /// The seats of a hold that began in this batch have no written row to free: the hold that replaces it takes them
    /// over as they are.
    pub(super) fn free_each_seat(&mut self, hold: &Hold, why: Happened, actor: Option<&Actor>) {
        let n = hold.id.n;
        if hold.state == HoldState::Replaced && self.holds.begun_here(n) {
            self.draft.unwritten = self.writes.held.extract_if(.., |held| held.hold == n).collect();
        }
        let rows = self.draft.unwritten.is_empty();
        for (i, seat) in seats_of(hold).into_iter().enumerate() {
            let counts = &mut self.subject.counts;
            counts.held -= 1;
            if (LapsedMark { ends_at: hold.ends_at, place: seat.0.into() }) <= counts.counted {
                counts.lapsed = counts.lapsed.saturating_sub(1);
            }
            if rows {
                self.draft.stock.give_back(seat);
                // The seats of a hold have consecutive history numbers.
                self.writes.freed.push(FreedSeat { seat, n: n + i as u64 });
            }
            if let Some(mine) = self.draft.holdings.get_mut(&hold.owner) {
                mine.retain(|holding| holding.seat != seat);
            }
            self.seat_happened(why, hold, seat, actor);
        }
    }

    /// Confirms a hold. Buyer fields that the event requires are required here; fields that it does not set are
    /// optional, because a hold names no buyer. Every seat is sold to the same buyer.
    pub(super) fn confirm_with(&mut self, command: &Command, n: u64, buyer: Option<&Buyer>) -> Result<Done, Refusal> {
        // First check that there is such a hold.
        self.holds.open(n, &command.actor)?;
        let asked = self.subject.buyer_fields;
        let buyer = buyer.map(|buyer| asked.or(buyer.otherwise).take(buyer)).transpose()?;
        let first = self.writes.confirmed.len();
        let done = self.on_hold(command, n, Ask::Confirm)?;
        let Some(buyer) = buyer else { return Ok(done) };
        for seat in &mut self.writes.confirmed[first..] {
            seat.buyer_name = buyer.name.map(Into::into);
            seat.phone = buyer.phone.map(Into::into);
            seat.email = buyer.email.map(Into::into);
        }
        Ok(done)
    }

    pub(super) fn sell_each_seat(&mut self, hold: &Hold, actor: &Actor) -> Vec<u64> {
        let mut reserved = Vec::new();
        for seat in seats_of(hold) {
            let n = self.seat_happened(Happened::Reserved, hold, seat, Some(actor));
            self.subject.counts.held -= 1;
            self.subject.counts.sold += 1;
            if let Some(mine) = self.draft.holdings.get_mut(&hold.owner)
                && let Some(holding) = mine.iter_mut().find(|holding| holding.seat == seat)
            {
                (holding.n, holding.at) = (n, self.now);
            }
            reserved.push(n);
            self.writes.confirmed.push(ConfirmedSeat {
                seat,
                hold: hold.id.n,
                n,
                at: self.now,
                metadata: hold.metadata.clone(),
                buyer_name: None,
                phone: None,
                email: None,
            });
        }
        self.entry_served(&hold.owner);
        reserved
    }

    pub(super) fn extend_each_seat(&mut self, hold: &Hold, actor: &Actor) {
        for seat in seats_of(hold) {
            self.seat_happened(Happened::Extended, hold, seat, Some(actor));
        }
    }

    /// Seats that a user has on hold, oldest hold first.
    pub(super) fn held_by(&self, user: &User) -> Vec<Seat> {
        let mut holds: Vec<&Hold> = self.holds.live_of(user).collect();
        holds.sort_by_key(|hold| hold.id.n);
        holds.into_iter().flat_map(seats_of).collect()
    }

    /// Nothing is free: sold out, or taken only until the first hold ends.
    pub(super) fn nothing_free(&self) -> Refusal {
        if self.subject.counts.live() == 0 {
            return Refusal::SoldOut;
        }
        let retry_after = self.draft.first_end.map_or(1, |end| self.now.seconds_until(end).max(1));
        Refusal::HeldOut { retry_after }
    }

    fn seat_happened(&mut self, what: Happened, hold: &Hold, seat: Seat, actor: Option<&Actor>) -> u64 {
        self.subject.counts.n += 1;
        let n = self.subject.counts.n;
        // One sale per seat, and the whole hold once, with its first seat.
        let first = matches!(&hold.on, On::Seats(seats) if seats.first() == Some(&seat));
        let details = match what {
            Happened::Reserved => Details::of(hold.metadata.as_ref(), None),
            Happened::Held | Happened::Released | Happened::Expired if first => {
                Details::of(hold.metadata.as_ref(), hold.reason.as_deref())
            }
            _ => None,
        };
        self.writes.history.push(EventRecord {
            n,
            what,
            seat: Some(seat),
            owner: Some(hold.owner.clone()),
            admin: actor.and_then(Actor::admin).cloned(),
            number: None,
            at: self.now,
            hold: Some(hold.id.n),
            origin: self.origin.clone(),
            details,
        });
        n
    }
}

fn seats_of(hold: &Hold) -> Vec<Seat> {
    match &hold.on {
        On::Seats(seats) => seats.clone(),
        On::Nights(_) => Vec::new(),
    }
}
