//! Readable ids (`e1-43`, `he1-31`) count up, so anybody can try one after the other. To everybody but the owner they
//! are answered as if there were none: nobody learns from an answer whether a stranger has a seat. The ids that buyers
//! get cannot be guessed, and say `forbidden` to others.

use rules::outcome::{Forbidden, Refusal};

use super::call::Incoming;
use super::operation::Completion;

/// The path names a reservation or a hold by a readable id.
pub struct Counted(bool);

impl Counted {
    pub fn of(request: &Incoming) -> Counted {
        let named = ["reservationId", "holdId"].into_iter().find_map(|name| request.param(name));
        Counted(named.is_some_and(|id| !id.contains("-x")))
    }

    pub fn hides_anothers(&self, completion: Completion) -> Completion {
        match completion {
            Completion::Refused(refused) if self.0 => match refused.refusal {
                Refusal::Forbidden(Forbidden::Anothers) => Refusal::NotFound.into(),
                Refusal::Forbidden(Forbidden::AnothersHold) => Refusal::HoldNotFound.into(),
                _ => Completion::Refused(refused),
            },
            completion => completion,
        }
    }
}
