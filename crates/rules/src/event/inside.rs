//! Entries in a batch: who enters, who leaves, and who may book.

use super::writes::{EndedEntry, NewEntry, RenewedEntry};
use super::{Event, State};
use crate::command::Command;
use crate::decide::Deciding;
use crate::entries::{Entry, EntryToken, Moved, WaitingRoom};
use crate::history::Happened;
use crate::ids::{Number, User};
use crate::outcome::{Done, Refusal};
use crate::time::Moment;

/// A place may become free a moment later.
const ASK_AGAIN_S: u64 = 1;

impl Deciding<Event> {
    /// Reserving and holding in an event with a waiting room require a live entry of that user, proved by its token.
    /// The other actions of the event do not.
    pub(super) fn needs_entry(&self, command: &Command) -> Result<(), Refusal> {
        if self.subject.waiting_room.is_none() {
            return Ok(());
        }
        let shown = command.entry.as_ref().zip(command.actor.user());
        let live = shown.is_some_and(|(token, user)| {
            self.draft.entries.get(user).is_some_and(|entry| entry.live(self.now) && entry.token == *token)
        });
        if live { Ok(()) } else { Err(Refusal::EntryRequired) }
    }

    /// Ends the entry of a user who has reached the limit.
    pub(super) fn entry_served(&mut self, user: &User) {
        if self.subject.waiting_room.is_none() {
            return;
        }
        let mine = self.draft.holdings.get(user).map_or(0, Vec::len);
        if mine >= self.subject.max_per_user as usize {
            self.end_entry(user);
        }
    }

    /// Ends the oldest lapsed entries before anybody enters, to make room.
    pub(super) fn turn_lapsed_entries(&mut self, lapsed: Vec<Entry>) {
        // The ledger's clock advanced while it read.
        let now = self.now;
        for entry in lapsed.into_iter().filter(|entry| !entry.live(now)) {
            self.draft.entries.remove(&entry.user);
            self.over(&entry, entry.ends);
        }
    }

    pub(super) fn enter(
        &mut self,
        command: &Command,
        number: Option<Number>,
        token: EntryToken,
    ) -> Result<Done, Refusal> {
        let room = self.subject.waiting_room.ok_or(Refusal::NoWaitingRoom)?;
        let user = command.actor.user().ok_or(Refusal::MissingUser)?;
        match self.subject.state_at(self.wall) {
            State::Closed => return Err(Refusal::Closed),
            State::Scheduled | State::Paused => return Err(self.not_yet(&room)),
            State::Open => {}
        }
        if let Some(entry) = self.draft.entries.get(user) {
            if entry.live(self.now) {
                return Ok(Done::Entered(Box::new(entry.clone())));
            }
            let lapsed = entry.clone();
            self.turn_lapsed_entries(vec![lapsed]);
        }
        self.next_unit(user)?;
        let number = number.filter(|number| !self.draft.spent.contains(number)).ok_or(Refusal::NotQueued)?;
        let sold_out = self.subject.counts.sold >= self.subject.seat_count();
        if sold_out || self.subject.counts.inside >= room.max_concurrent {
            return Err(Refusal::NotReady { retry_after: ASK_AGAIN_S });
        }
        Ok(Done::Entered(Box::new(self.admit(command, user, &room, number, token))))
    }

    fn admit(
        &mut self,
        command: &Command,
        user: &User,
        room: &WaitingRoom,
        number: Number,
        token: EntryToken,
    ) -> Entry {
        self.subject.counts.inside += 1;
        let n = self.happened(Happened::Entered, command, None, Some(user.clone()), None);
        let cap = self.now.plus_ms(room.token_max_age_ms);
        let ends = self.now.plus_ms(room.token_ttl_ms).min(cap);
        let entry = Entry { number, user: user.clone(), token, n, begins: self.now, ends, cap };
        self.draft.spent.insert(number);
        self.draft.entries.insert(user.clone(), entry.clone());
        let (nth, most) = (self.subject.counts.inside, room.max_concurrent);
        self.writes.entered.push(NewEntry { entry: entry.clone(), nth, most });
        self.draft.moved.push(Moved::In(entry.clone()));
        entry
    }

    /// Nobody is admitted before the opening or during a pause.
    fn not_yet(&self, room: &WaitingRoom) -> Refusal {
        let opens = self.subject.opens_at.map_or(ASK_AGAIN_S, |opens| self.wall.seconds_until(opens));
        let most = (room.idle_ms / 3_000).max(1) as u64;
        Refusal::NotReady { retry_after: opens.clamp(1, most) }
    }

    /// Leaving without an entry also succeeds.
    pub(super) fn leave(&mut self, command: &Command) -> Result<Done, Refusal> {
        let user = command.actor.user().ok_or(Refusal::MissingUser)?;
        if self.draft.entries.get(user).is_some_and(|entry| entry.live(self.now)) {
            self.happened(Happened::Left, command, None, Some(user.clone()), None);
            self.end_entry(user);
        }
        Ok(Done::Left)
    }

    pub(super) fn renew(&mut self, command: &Command) -> Result<Done, Refusal> {
        let room = self.subject.waiting_room.ok_or(Refusal::NoWaitingRoom)?;
        let user = command.actor.user().ok_or(Refusal::MissingUser)?;
        let now = self.now;
        let entry = self.draft.entries.get_mut(user).filter(|entry| entry.live(now)).ok_or(Refusal::NotQueued)?;
        let ends = entry.renewed(&room, now);
        if ends > entry.ends {
            entry.ends = ends;
            let (number, n) = (entry.number, entry.n);
            self.writes.renewed.push(RenewedEntry { number, ends });
            self.draft.moved.push(Moved::Renewed { user: user.clone(), n, ends });
        }
        Ok(Done::Renewed { ends })
    }

    fn end_entry(&mut self, user: &User) {
        if let Some(entry) = self.draft.entries.remove(user) {
            self.over(&entry, self.now.min(entry.ends));
        }
    }

    fn over(&mut self, entry: &Entry, at: Moment) {
        self.subject.counts.inside = self.subject.counts.inside.saturating_sub(1);
        // An entry that began in this batch is inserted first, then ended.
        self.writes.over.push(EndedEntry { number: entry.number, at });
        self.draft.moved.push(Moved::Out { user: entry.user.clone(), n: self.subject.counts.n });
    }
}
