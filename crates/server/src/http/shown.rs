//! Stored moments as people read them. The ledger stores its own monotonic time; if the wall clock was set
//! meanwhile, what is shown is shifted by as much. Opening times are the wall clock's own and stay as they
//! are.

use rules::decide::Answer;
use rules::holds::Hold;
use rules::outcome::{Done, Outcome, Refusal};
use rules::room_type::Stay;
use rules::time::Moment;
use stores::ledger::Reservation;
use stores::ledger::holds::At;
use stores::ledger::records::LedgerRecord;

use crate::app::App;

pub trait ShownTimes: Sized {
    fn shift(&mut self, ms: i64);

    /// As the wall clock has it.
    fn shown(mut self, app: &App) -> Self {
        match app.ledger.shift_ms() {
            0 => {}
            ms => self.shift(ms),
        }
        self
    }
}

impl ShownTimes for Moment {
    fn shift(&mut self, ms: i64) {
        *self = self.plus_ms(ms);
    }
}

impl ShownTimes for Hold {
    fn shift(&mut self, ms: i64) {
        self.first_at.shift(ms);
        self.at.shift(ms);
        self.ends_at.shift(ms);
        self.ended_at.shift(ms);
    }
}

impl ShownTimes for Stay {
    fn shift(&mut self, ms: i64) {
        self.at.shift(ms);
    }
}

impl ShownTimes for Reservation {
    fn shift(&mut self, ms: i64) {
        self.sale.at.shift(ms);
    }
}

impl ShownTimes for LedgerRecord {
    fn shift(&mut self, ms: i64) {
        self.at.shift(ms);
    }
}

impl<T: ShownTimes> ShownTimes for Option<T> {
    fn shift(&mut self, ms: i64) {
        self.iter_mut().for_each(|one| one.shift(ms));
    }
}

impl<T: ShownTimes> ShownTimes for Vec<T> {
    fn shift(&mut self, ms: i64) {
        self.iter_mut().for_each(|one| one.shift(ms));
    }
}

impl<T: ShownTimes> ShownTimes for At<T> {
    fn shift(&mut self, ms: i64) {
        self.found.shift(ms);
        self.now.shift(ms);
    }
}

/// What a command about a hold led to.
impl ShownTimes for Answer {
    fn shift(&mut self, ms: i64) {
        match &mut self.outcome {
            Outcome::Done(Done::Held { hold, now, .. } | Done::Extended { hold, now }) => {
                hold.shift(ms);
                now.shift(ms);
            }
            Outcome::Done(Done::Confirmed { hold })
            | Outcome::Refused(Refusal::HoldProcessed { confirmed: Some(hold) }) => {
                hold.shift(ms);
            }
            _ => {}
        }
    }
}
