//! The ledger port: the only truth. Its one verb for change is `commit`, because that is where
//! atomicity ends: lock the subject, read, decide with the rules, write, and make durable.

pub mod admin_tokens;
pub(crate) mod details;
mod halls;
pub mod holds;
mod name;
mod open_commands;
pub mod personal;
pub mod postgres;
mod progress;
pub mod records;
pub mod rooms;
pub mod sqlite;
pub mod tidy;
pub mod webhooks;

use std::fmt;
use std::sync::Arc;

use rules::command::{Command, Terms};
use rules::decide::{Answer, Decision};
use rules::entries::{Entry, InsideDigest};
use rules::event::{Event, NewEvent};
use rules::history::EventRecord;
use rules::holds::{Backlog, Hold};
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::room_type::RoomType;
use rules::seats::Sale;
use rules::subject::{Subject, Writes};
use rules::time::Moment;

use self::admin_tokens::AdminTokens;
use self::holds::Holds;
pub use self::name::LedgerName;
pub use self::open_commands::OpenCommands;
use self::personal::PersonalData;
pub use self::progress::{BatchProgress, BatchWatcher, LedgerStep};
use self::records::Records;
use self::rooms::Rooms;
use self::tidy::{Aged, Tidied};
use self::webhooks::Webhooks;
use crate::Working;

/// The most commands in one batch.
pub const BATCH_MOST: usize = 512;

/// A search that found too little goes this many times as far the next time.
const DEEPER: usize = 16;

#[derive(Clone, Debug)]
pub struct Batch<S: Subject> {
    pub subject: S::Id,
    /// Shared, so that a batch can be tried again without copying it.
    pub commands: Arc<Vec<Command<S>>>,
    pub terms: Terms,
    /// What is left of the commands while the ledger waits for the lock.
    pub open: OpenCommands<S>,
    /// Its span in a sampled trace (W3C Trace Context), for a ledger that can pass it on.
    pub traceparent: Option<Arc<str>>,
    /// Who wants to know how far the ledger is with it.
    pub progress: BatchProgress,
}

impl<S: Subject> Batch<S> {
    pub fn new(subject: S::Id, commands: Arc<Vec<Command<S>>>, terms: Terms) -> Batch<S> {
        Batch {
            subject,
            commands,
            terms,
            open: OpenCommands::default(),
            traceparent: None,
            progress: BatchProgress::default(),
        }
    }
}

#[derive(Debug)]
pub struct Committed<S: Subject> {
    /// One per command that was not withdrawn, in the order of the commands; durable.
    pub answers: Vec<Answer>,
    /// The subject as the batch left it.
    pub after: S,
    /// Holds that began or changed, as they are now: for onlookers.
    pub holds: Vec<Hold>,
    pub effects: S::Effects,
    /// Lapsed holds that are left to be turned.
    pub backlog: Backlog,
}

impl<S: Subject> From<Decision<S>> for Committed<S> {
    fn from(Decision { answers, writes, after, effects, backlog, .. }: Decision<S>) -> Self {
        Committed { answers, after, holds: writes.holds(), effects, backlog }
    }
}

/// Broken machinery. A refusal is not a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerFault {
    /// The lock timeout passed; nothing was done.
    Locked,
    /// A passing fault: nothing was done, and a retry may succeed.
    Passing(String),
    /// The ledger cannot be reached or cannot write; whether anything was done is not known.
    Unreachable(String),
    /// There is no event or room type with that id.
    NoSuchSubject,
    /// Stored data is inconsistent, or the request cannot be stored. A retry fails too.
    Broken(String),
}

impl fmt::Display for LedgerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerFault::Locked => f.write_str("the subject's lock could not be had"),
            LedgerFault::Passing(why) => write!(f, "the ledger was disturbed: {why}"),
            LedgerFault::Unreachable(why) => write!(f, "the ledger cannot be used: {why}"),
            LedgerFault::NoSuchSubject => f.write_str("no such event or room type"),
            LedgerFault::Broken(why) => write!(f, "the ledger is damaged or refuses: {why}"),
        }
    }
}

impl std::error::Error for LedgerFault {}

pub type Answered<T> = Working<Result<T, LedgerFault>>;

/// A sale with the event it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub event: EventId,
    pub sale: Sale,
}

impl Reservation {
    pub fn id(&self) -> ReservationId {
        ReservationId { event: self.event, n: self.sale.n }
    }
}

/// Every seat that is taken, and the history number at which that was so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub n: u64,
    pub seat_count: u32,
    /// In seat order.
    pub sold: Vec<Seat>,
}

/// What tickets are signed with. The one with the highest id signs.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketKey {
    pub id: u32,
    pub secret: [u8; 32],
}

/// For a ticket key that a ledger makes itself.
fn random_secret() -> [u8; 32] {
    let mut secret = [0; 32];
    crate::random::fill(&mut secret);
    secret
}

/// What a door that lost its state must know of a line.
#[derive(Debug)]
pub struct LineBegun {
    /// Users may already stand in it: it was begun before.
    pub used: bool,
    /// The history number and the moment at which these were inside.
    pub n: u64,
    pub at: Moment,
    pub inside: Vec<Entry>,
}

/// Connections to a database: those that are idle, those in use, and how many callers wait for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    pub idle: usize,
    pub in_use: usize,
    pub wanted: usize,
}

/// Changes one kind of subject.
pub trait Commit<S: Subject> {
    /// Decides a batch and makes it durable. All of it happened, or none of it.
    fn commit(&self, batch: Batch<S>) -> Answered<Committed<S>>;
}

pub trait Ledger:
    Commit<Event>
    + Commit<RoomType>
    + Rooms
    + Holds
    + Records
    + PersonalData
    + AdminTokens
    + Webhooks
    + Send
    + Sync
    + 'static
{
    /// How many batches of one subject may be in flight at once. The ledger decides them in the order in
    /// which `commit` was called, one while it makes the other durable. With more than one, a batch that
    /// waits for the lock keeps its turn. The caller withdraws what is late (`Batch::open`) and never tries
    /// such a batch again: a later one might have been decided before it.
    fn overlap(&self) -> usize {
        1
    }

    /// Makes an event under the next free id.
    fn create_event(&self, new: NewEvent) -> Answered<Event>;

    /// Makes an event under this id. None: another event has it.
    fn create_event_as(&self, id: EventId, new: NewEvent) -> Answered<Option<Event>>;

    /// A generation of arrival numbers that nobody has used, durable before it is returned: above
    /// the ledger's own and above `known`, which a door knew. The first one is 0. A deleted event gets none.
    fn raise_generation(&self, event: EventId, known: Option<u64>) -> Answered<u64>;

    /// The newest generation that was raised; none: not one.
    fn generation(&self, event: EventId) -> Answered<Option<u64>>;

    /// Events in order of id, from behind `after`: the archived ones, or the others. Deleted ones are left out.
    fn events(&self, archived: bool, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>>;

    /// One event, also a deleted one.
    fn event(&self, id: EventId) -> Answered<Option<Event>>;

    /// Who has a seat, exactly now.
    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>>;

    fn snapshot(&self, event: EventId) -> Answered<Snapshot>;

    /// What happened behind `after`, in order.
    fn history(&self, event: EventId, after: u64, limit: usize) -> Answered<Vec<EventRecord>>;

    /// One reservation, while it stands.
    fn reservation(&self, id: ReservationId) -> Answered<Option<Reservation>>;

    /// A user's reservations by event and seat.
    fn reservations_of(&self, user: User, after: Option<(EventId, Seat)>, limit: usize) -> Answered<Vec<Reservation>>;

    /// An event's reservations by seat.
    fn reservations_in(&self, event: EventId, after: Option<Seat>, limit: usize) -> Answered<Vec<Reservation>>;

    /// A user's entry that is not over, live or not.
    fn entry_of(&self, event: EventId, user: User) -> Answered<Option<Entry>>;

    /// Whether this number was already used to enter.
    fn number_spent(&self, event: EventId, number: Number) -> Answered<bool>;

    /// Begins a line, or begins it again after the door lost its state.
    fn begin_line(&self, event: EventId) -> Answered<LineBegun>;

    /// Who is inside, in brief.
    fn inside(&self, event: EventId) -> Answered<InsideDigest>;

    /// Every key that tickets were ever signed with, oldest first.
    fn ticket_keys(&self) -> Answered<Vec<TicketKey>>;

    /// This key signs from now on. Older keys stay valid in the events that are open now.
    fn rotate_ticket_key(&self, secret: [u8; 32]) -> Answered<TicketKey>;

    /// Removes at most `most` rows that ended more than `keep_ms` ago. Nothing else waits for it.
    fn tidy(&self, _what: Aged, _keep_ms: i64, _most: usize) -> Answered<Tidied> {
        Box::pin(async { Ok(Tidied::default()) })
    }

    /// Events that were deleted more than `keep_ms` ago and still have rows.
    fn deleted_events(&self, _keep_ms: i64, _most: usize) -> Answered<Vec<EventId>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Removes at most `most` rows of a deleted event. Its row and its history stay.
    fn tidy_event(&self, _event: EventId, _most: usize) -> Answered<Tidied> {
        Box::pin(async { Ok(Tidied::default()) })
    }

    /// Forgets what was read and not used since the last call. Returns how many halls are still remembered.
    fn forget_unused(&self) -> usize {
        0
    }

    /// The ledger's own secret, the same for every server. `fresh` becomes it if there is none yet.
    fn secret(&self, fresh: [u8; 32]) -> Answered<[u8; 32]>;

    /// The last call: everything is moved to where a copy of the files includes it.
    fn close(&self) -> Answered<()> {
        Box::pin(async { Ok(()) })
    }

    /// The name of this ledger, if it can tell that it was restored while it is in use: then the name
    /// changes, and whatever was remembered of its content may be wrong.
    fn name(&self) -> Option<Arc<str>> {
        None
    }

    /// None: it has no pool of connections.
    fn pool(&self) -> Option<PoolFigures> {
        None
    }

    /// What this ledger calls now: ends are compared with it.
    fn now(&self) -> Moment;

    /// What the wall clock says: opening times and dates are compared with it.
    fn wall(&self) -> Moment;

    /// What is added to a stored moment to show it as the wall clock has it.
    fn shift_ms(&self) -> i64 {
        0
    }

    /// Whether a change could be made durable at this moment.
    fn ready(&self) -> Answered<()>;
}
