//! The door port: who may come in, and in which order. Nothing here can sell or free anything,
//! so all of it may be lost at any moment.

pub mod local;
pub mod redis;

use std::fmt;
use std::sync::Arc;

use rules::arrive::{Arrival, Arrived};
use rules::entries::{DoorEntry, InsideDigest, Moved, WaitingRoom};
use rules::event::State;
use rules::holds::Hold;
use rules::ids::{EventId, Number, RequestName, User};
use rules::queue::{Asking, Forgotten, QueueReply, Serving, Supply};
use rules::subject::SubjectId;
use rules::time::Moment;

use crate::Working;
use crate::ledger::LineBegun;

/// Broken machinery. A refusal is not a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoorFault {
    /// It is absent, does not answer, or must not be used as it is.
    Unreachable(String),
    /// It was reached, but the call failed.
    Failed(String),
}

impl fmt::Display for DoorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DoorFault::Unreachable(why) => write!(f, "the door cannot be used: {why}"),
            DoorFault::Failed(why) => write!(f, "the door failed: {why}"),
        }
    }
}

impl std::error::Error for DoorFault {}

/// A mark to remove: its user, and the request that set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub user: User,
    pub name: RequestName,
}

impl Release {
    /// The mark that an arrival leaves. Requests with a key and anonymous ones leave none.
    pub fn of(arrival: &Arrival) -> Option<Release> {
        let user = arrival.user.as_ref().filter(|_| !arrival.keyed)?;
        Some(Release { user: user.clone(), name: arrival.name })
    }
}

/// What the last batch left: a hint for the gateway and the line, never the truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// Number of the newest history row. A lower one never overwrites a higher.
    pub n: u64,
    pub free: u32,
    pub held: u32,
    /// When the first hold ends; after that this is out of date.
    pub first_end: Option<Moment>,
    pub state: State,
}

impl Remaining {
    pub fn supply(&self) -> Supply {
        Supply { free: self.free, held: self.held, state: self.state }
    }
}

/// How long `Remaining` is usable.
pub const REMAINING_FRESH_MS: i64 = 1_000;

/// A state this old is also overwritten by a lower number: the ledger may have been restored.
pub const REMAINING_STALE_MS: i64 = 2_000;

/// The answer of a line, or what it must be given first; in that case nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard<T> {
    Said(T),
    /// The generation is not known: raise it in the ledger, and call `open`.
    NotOpen,
    /// The line does not know who is inside: call `begin_line`.
    NotBegun,
    /// What is left is not known: call `settle`.
    NoRemaining,
}

/// The result of opening the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    Yes,
    /// Numbers of this generation were given already.
    Behind {
        known: u64,
    },
}

pub trait Door: Send + Sync + 'static {
    /// Lets requests in, in this order; one answer each. Without a known generation every answer
    /// is `NoNumber`: the caller raises it in the ledger, calls `open`, and asks again.
    fn arrive(&self, event: EventId, arrivals: Vec<Arrival>) -> Working<Result<Vec<Arrived>, DoorFault>>;

    /// Lets one request in without waiting, if this door can and its numbers are open. None: ask
    /// with `arrive`.
    fn arrive_now(&self, _event: EventId, _arrival: &Arrival) -> Option<Arrived> {
        None
    }

    /// Opens the door with a generation that the ledger has raised. The door may know one that is
    /// not lower, because the ledger was restored or another server was faster: then nothing
    /// changes, and the caller raises the ledger's generation above the one returned.
    fn open(&self, event: EventId, generation: u64) -> Working<Result<Opened, DoorFault>>;

    /// After a batch: stores what is left, and releases the marks of requests that have ended, so that
    /// their users may ask again. Publishes the change to subscribers of the event.
    fn settle(
        &self,
        event: EventId,
        remaining: Option<Remaining>,
        ended: Vec<Release>,
    ) -> Working<Result<(), DoorFault>>;

    /// Releases the marks of requests that have ended.
    fn release(&self, event: EventId, ended: Vec<Release>) -> Working<Result<(), DoorFault>> {
        self.settle(event, None, ended)
    }

    /// What the last batch left, if that is still usable.
    fn remaining(&self, event: EventId) -> Working<Result<Option<Remaining>, DoorFault>>;

    /// A user asks the line: joins, polls, enters or leaves.
    fn ask(&self, event: EventId, room: WaitingRoom, asking: Asking) -> Working<Result<Heard<QueueReply>, DoorFault>>;

    /// The number of a user who has a place in the line, also of one who is silent or was passed over. It is no sign
    /// of life of that user.
    fn number_in_line(&self, event: EventId, user: User) -> Working<Result<Option<Number>, DoorFault>>;

    /// The public state of the line.
    fn serving(&self, event: EventId, room: WaitingRoom) -> Working<Result<Heard<Serving>, DoorFault>>;

    /// Begins the line, or begins it again after the door lost its state. Who is inside comes from the
    /// ledger. If users may already stand in line, nobody new is admitted for a while.
    fn begin_line(&self, event: EventId, room: WaitingRoom, begun: LineBegun) -> Working<Result<(), DoorFault>>;

    /// Applies changes of who is inside, from the ledger at its time `at`. Ends are passed as the time
    /// left, because the door has its own clock.
    fn moved(&self, event: EventId, moved: Vec<Moved>, at: Moment) -> Working<Result<(), DoorFault>>;

    /// Who is inside by this door, in brief. With `unless_within_ms`: none if any server asked so
    /// within that time, so that one of them compares for all. None too while the line has not begun.
    fn inside(&self, event: EventId, unless_within_ms: Option<i64>)
    -> Working<Result<Option<InsideDigest>, DoorFault>>;

    /// Who is inside by this door.
    fn insiders(&self, event: EventId) -> Working<Result<Vec<DoorEntry>, DoorFault>>;

    /// Forgets everything of a deleted event. Were it asked for again, its numbers would begin a new
    /// generation.
    fn forget(&self, _event: EventId) -> Working<Result<(), DoorFault>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Forgets at most `most` users of a line who were passed over and silent for `silent_ms` since. A ticket
    /// still proves their place.
    fn forget_silent(
        &self,
        _event: EventId,
        _room: WaitingRoom,
        _silent_ms: i64,
        _most: usize,
    ) -> Working<Result<Forgotten, DoorFault>> {
        Box::pin(std::future::ready(Ok(Forgotten::default())))
    }

    /// Shows holds that began or changed, as they are now, to people who inspect the door's keys. Our code
    /// does not read them, so nobody waits for it, and it is left out under load.
    fn show_holds(&self, _subject: SubjectId, _holds: Vec<Hold>) -> Working<Result<(), DoorFault>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The name of the door's ledger, if a gateway may use the door too. None until the ledger was reached.
    fn ledger(&self) -> Option<Arc<str>> {
        None
    }

    /// The ledger was restored. A door that cannot see it gives no more numbers until it is opened again.
    fn ledger_restored(&self) {}

    fn ready(&self) -> Working<Result<(), DoorFault>>;
}
