//! The actions of an operator on an event.

use super::{Event, EventAmendment, State, Turn};
use crate::buyer::AskedFields;
use crate::decide::Deciding;
use crate::entries::WaitingRoom;
use crate::history::{Actor, EventRecord, Happened};
use crate::outcome::{Done, Expected, FieldError, Problem, Refusal};

impl Deciding<Event> {
    pub(super) fn turn(&mut self, turn: Turn, by: &Actor) -> Result<Done, Refusal> {
        let (state, what) = match turn {
            Turn::Open => (State::Open, Happened::Opened),
            Turn::Pause => (State::Paused, Happened::Paused),
            Turn::Resume => (State::Open, Happened::Resumed),
            Turn::Close => (State::Closed, Happened::Closed),
            Turn::Archive => (State::Closed, Happened::Archived),
            Turn::Unarchive => (State::Closed, Happened::Unarchived),
        };
        let archived = self.subject.archived_at.is_some();
        if archived != (turn == Turn::Unarchive) {
            let wanted = if archived { Expected::ListedEvent } else { Expected::ArchivedEvent };
            return Err(FieldError::refused("state", Problem::Expected(wanted)));
        }
        if turn == Turn::Resume && self.subject.state != State::Paused {
            return Err(FieldError::refused("state", Problem::Expected(Expected::PausedEvent)));
        }
        if turn == Turn::Pause && self.subject.state_at(self.wall) != State::Open {
            return Err(FieldError::refused("state", Problem::Expected(Expected::OpenEvent)));
        }
        if turn == Turn::Archive {
            self.nobody_is_buying()?;
        }
        self.subject.state = state;
        // Compare with the wall clock, as it is displayed.
        self.subject.archived_at = (turn == Turn::Archive).then_some(self.wall);
        self.end_draw();
        Ok(self.changed(what, by))
    }

    /// Users who are paying or were admitted finish first. A closed sale admits nobody else.
    fn nobody_is_buying(&self) -> Result<(), Refusal> {
        if self.subject.state == State::Closed {
            return Ok(());
        }
        let holding = self.draft.first_end.is_some() && self.subject.counts.live() > 0;
        let (held, inside) = (if holding { self.subject.counts.live() } else { 0 }, self.subject.counts.inside);
        if held == 0 && inside == 0 {
            return Ok(());
        }
        Err(self.lacking(Refusal::StillBuying { held, inside }))
    }

    pub(super) fn amend(&mut self, amendment: &EventAmendment, by: &Actor) -> Result<Done, Refusal> {
        // Check everything that can be refused first: a refusal changes nothing.
        let room = match amendment.waiting_room {
            None => self.subject.waiting_room,
            Some(None) => None,
            Some(Some(room)) => Some(room.apply(self.subject.waiting_room)?),
        };
        self.subject.check_draw_stays(amendment, room, self.wall)?;
        self.subject.gathered |= room.is_none() && self.subject.draw_has_begun(self.wall);
        let gathered = self.subject.gathered;
        self.subject.waiting_room = room.map(|room| WaitingRoom { gathered, ..room });
        self.subject.occasion.change(&amendment.occasion);
        if let Some(name) = &amendment.name {
            self.subject.name = name.clone();
        }
        if let Some(most) = amendment.max_per_user {
            self.subject.max_per_user = most;
        }
        if let Some(hold_ttl_ms) = amendment.hold_ttl_ms {
            self.subject.hold_ttl_ms = hold_ttl_ms;
        }
        if let Some(fields) = amendment.buyer_fields {
            let before = self.subject.buyer_fields;
            self.subject.buyer_fields = fields.map_or_else(AskedFields::default, |change| before.changed(change));
        }
        if let Some(price) = &amendment.price {
            self.subject.price = price.clone();
        }
        if let Some(opens_at) = amendment.opens_at {
            // A closed or paused sale stays closed or paused: only `Turn` reopens it.
            let waits = matches!(self.subject.state, State::Scheduled | State::Open);
            self.subject.opens_at = opens_at;
            if waits {
                self.subject.state = opens_at.map_or(State::Open, |_| State::Scheduled);
            }
        }
        self.end_draw();
        Ok(self.changed(Happened::Amended, by))
    }

    /// Stores that the draw is over, if it is.
    pub(super) fn end_draw(&mut self) {
        self.writes.event_changed |= self.subject.end_draw(self.wall);
    }

    pub(super) fn delete(&mut self, by: &Actor) -> Result<Done, Refusal> {
        // Lapsed holds count as free, marked expired or not.
        if self.subject.counts.sold > 0 {
            return Err(Refusal::InUse);
        }
        // Without a first end no hold is live, counted or not.
        if self.draft.first_end.is_some() && self.subject.counts.live() > 0 {
            return Err(self.lacking(Refusal::InUse));
        }
        self.subject.deleted = true;
        Ok(self.changed(Happened::Deleted, by))
    }

    /// Its rows are removed like those of every deleted event; the ledger removes sold rows of a rehearsal only.
    pub(super) fn delete_sold(&mut self, by: &Actor) -> Result<Done, Refusal> {
        if !self.subject.rehearsal {
            return Err(FieldError::refused("sold", Problem::Expected(Expected::Rehearsal)));
        }
        self.subject.deleted = true;
        Ok(self.changed(Happened::Deleted, by))
    }

    fn changed(&mut self, what: Happened, by: &Actor) -> Done {
        self.writes.event_changed = true;
        self.subject.counts.n += 1;
        let entry = EventRecord {
            n: self.subject.counts.n,
            what,
            seat: None,
            owner: None,
            admin: by.admin().cloned(),
            number: None,
            at: self.now,
            hold: None,
            origin: self.origin.clone(),
            details: None,
        };
        self.writes.history.push(entry);
        Done::Changed(Box::new(self.subject.clone()))
    }
}
