//! What an operator does to an event.

use super::Session;
use crate::event::{EventAmendment, State, Turn};
use crate::history::{EventRecord, Happened};
use crate::outcome::{Done, Expected, FieldError, Problem, Refusal};

impl Session {
    pub(super) fn turn(&mut self, turn: Turn) -> Result<Done, Refusal> {
        let (state, what) = match turn {
            Turn::Open => (State::Open, Happened::Opened),
            Turn::Pause => (State::Paused, Happened::Paused),
            Turn::Resume => (State::Open, Happened::Resumed),
            Turn::Close => (State::Closed, Happened::Closed),
        };
        if turn == Turn::Resume && self.event.state != State::Paused {
            return Err(FieldError::refused("state", Problem::Expected(Expected::PausedEvent)));
        }
        if turn == Turn::Pause && self.event.state_at(self.now) != State::Open {
            return Err(FieldError::refused("state", Problem::Expected(Expected::OpenEvent)));
        }
        self.event.state = state;
        Ok(self.changed(what))
    }

    pub(super) fn amend(&mut self, amendment: &EventAmendment) -> Result<Done, Refusal> {
        if let Some(name) = &amendment.name {
            self.event.name = name.clone();
        }
        if let Some(most) = amendment.max_per_user {
            self.event.max_per_user = most;
        }
        if let Some(hold_ttl_ms) = amendment.hold_ttl_ms {
            self.event.hold_ttl_ms = hold_ttl_ms;
        }
        if let Some(opens_at) = amendment.opens_at {
            // A closed or paused sale stays so: opening it again is a decision of its own.
            let waits = matches!(self.event.state, State::Scheduled | State::Open);
            self.event.opens_at = opens_at;
            if waits {
                self.event.state =
                    if opens_at.is_some_and(|opens| opens > self.now) { State::Scheduled } else { State::Open };
            }
        }
        if let Some(room) = amendment.waiting_room {
            self.event.waiting_room = room;
        }
        Ok(self.changed(Happened::Amended))
    }

    pub(super) fn delete(&mut self) -> Result<Done, Refusal> {
        if self.event.counts.sold > 0 || self.event.counts.held > 0 {
            return Err(Refusal::InUse);
        }
        self.event.deleted = true;
        Ok(self.changed(Happened::Deleted))
    }

    fn changed(&mut self, what: Happened) -> Done {
        self.writes.event_changed = true;
        self.event.counts.n += 1;
        let entry = EventRecord {
            n: self.event.counts.n,
            what,
            seat: None,
            owner: None,
            by_admin: true,
            number: None,
            at: self.now,
            hold: None,
        };
        self.writes.history.push(entry);
        Done::Changed(Box::new(self.event.clone()))
    }
}
