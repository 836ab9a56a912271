//! A command: what a caller asks of a subject. It is complete before it is queued: nothing is looked up, parsed or
//! awaited between the queue and the decision.

pub use crate::buyer::{Buyer, Metadata};
use crate::entries::EntryToken;
use crate::event::Event;
pub use crate::event::action::EventAction;
use crate::history::{Actor, Details, RequestOrigin};
use crate::holds::HoldTerms;
use crate::ids::{Number, RequestName};
use crate::subject::Subject;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command<S: Subject = Event> {
    pub actor: Actor,
    /// The arrival number. None for commands that do not pass the door; the server's queue orders them.
    pub number: Option<Number>,
    pub name: RequestName,
    pub key: Option<Key>,
    /// The entry token, for bookings in an event with a waiting room.
    pub entry: Option<EntryToken>,
    pub origin: RequestOrigin,
    pub action: S::Action,
    /// The caller's metadata, stored in the history.
    pub details: Option<Box<Details>>,
}

impl<S: Subject> Command<S> {
    pub fn metadata(&self) -> Option<&Metadata> {
        self.details.as_ref()?.metadata.as_ref()
    }

    pub fn reason(&self) -> Option<&str> {
        self.details.as_ref()?.reason.as_deref()
    }
}

/// A caller's `Idempotency-Key`, with a digest of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub text: Box<str>,
    pub content: [u8; 32],
}

/// Settings that a decision depends on, the same for all subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// For how long after a sale a repeated request is answered with `duplicate`. 0: for ever.
    pub user_ttl_ms: i64,
    /// How long an answer is stored for its key.
    pub key_ttl_ms: i64,
    pub holds: HoldTerms,
}

impl Default for Terms {
    fn default() -> Self {
        Terms { user_ttl_ms: 900_000, key_ttl_ms: 86_400_000, holds: HoldTerms::default() }
    }
}
