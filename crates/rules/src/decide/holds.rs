//! The transitions of a hold, the same for every kind of subject: the book updates the hold, then the subject updates
//! its stock.

use super::Deciding;
use crate::command::Command;
use crate::history::{Actor, Happened};
use crate::holds::book::NewHold;
use crate::holds::{Ask, Backlog, HoldState, HoldTerms, On};
use crate::ids::User;
use crate::outcome::{Done, Refusal};
use crate::subject::{HoldId, Subject};

impl<S: Subject> Deciding<S> {
    /// Lapsed holds end before anything else is decided, so the other rules never see one. For those that the ledger
    /// did not read, the rules use their sums.
    pub(super) fn turn_lapsed(&mut self) {
        S::count_lapsed(self);
        for n in self.holds.lapsed() {
            self.end_hold(n, HoldState::Expired, Happened::Expired, None);
        }
        S::turn_lapsed(self);
    }

    /// The refusal for lack of stock. While some lapsed holds are not counted, stock that looks taken may be free. The
    /// refusal then asks the user to retry in a moment, and does not say that nothing is left.
    pub(crate) fn lacking(&self, refusal: Refusal) -> Refusal {
        if self.backlog == Backlog::Uncounted { Refusal::Overloaded } else { refusal }
    }

    /// The subject's own hold settings. An amendment earlier in the same batch counts.
    pub(crate) fn hold_terms(&self) -> HoldTerms {
        self.subject.hold_terms(self.terms.holds)
    }

    /// Begins a hold, in place of `replaced` if there is one. Everything was checked before.
    pub(crate) fn begin_hold(
        &mut self,
        command: &Command<S>,
        owner: &User,
        on: On,
        key: &str,
        replaced: Option<u64>,
    ) -> Done {
        let actor = &command.actor;
        let replaced = replaced.and_then(|n| self.end_hold(n, HoldState::Replaced, Happened::Replaced, Some(actor)));
        let first_at = replaced.map(|old| old.first_at);
        let id = HoldId { subject: S::subject(self.subject.id()), n: self.subject.newest() + 1 };
        let new =
            NewHold { id, owner: owner.clone(), key: key.into(), on, first_at, metadata: command.metadata().cloned() };
        let hold = self.holds.begin(new, &self.hold_terms());
        S::take_stock(self, &hold, actor);
        Done::Held { hold: Box::new(hold), now: self.now, fresh: true }
    }

    pub(crate) fn on_hold(&mut self, command: &Command<S>, n: u64, ask: Ask) -> Result<Done, Refusal> {
        let actor = &command.actor;
        self.holds.open(n, actor)?;
        match ask {
            Ask::Confirm => self.confirm(n, actor),
            Ask::Cancel => {
                self.holds.explain(n, command.reason());
                self.end_hold(n, HoldState::Cancelled, Happened::Released, Some(actor));
                Ok(Done::Released)
            }
            Ask::Extend => {
                let hold = self.holds.extend(n, &self.hold_terms())?;
                S::record_extension(self, &hold, actor);
                Ok(Done::Extended { hold: Box::new(hold), now: self.now })
            }
        }
    }

    /// The hold's state and the sale of its stock change in one transaction.
    fn confirm(&mut self, n: u64, actor: &Actor) -> Result<Done, Refusal> {
        let hold = self.holds.end(n, HoldState::Confirmed).ok_or(Refusal::HoldNotFound)?;
        let reserved = S::sell_stock(self, &hold, actor);
        let hold = self.holds.became(n, reserved).ok_or(Refusal::HoldNotFound)?;
        Ok(Done::Confirmed { hold: Box::new(hold) })
    }

    /// Ends a hold without a sale: its stock is freed.
    fn end_hold(
        &mut self,
        n: u64,
        state: HoldState,
        why: Happened,
        actor: Option<&Actor>,
    ) -> Option<crate::holds::Hold> {
        let hold = self.holds.end(n, state)?;
        S::return_stock(self, &hold, why, actor);
        Some(hold)
    }
}
