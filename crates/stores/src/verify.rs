//! The invariants of a ledger, each as a question whose answer must be empty. Asked in one
//! snapshot, so that a sale may go on; grouped in the order of keys, so that memory stays flat.

pub mod reasons;

use crate::chain::walk::{ChainSeen, ChainWalk};

/// One thing that must be true of the rows, whatever happened.
pub struct Invariant {
    pub name: &'static str,
    /// Rows of one text column, each a sentence about what is broken.
    pub sql: &'static str,
}

pub const INVARIANTS: &[Invariant] = &[
    Invariant { name: "every seat has one owner", sql: include_str!("verify/one_owner.sql") },
    Invariant { name: "sold + free = total in every event", sql: include_str!("verify/stock.sql") },
    Invariant { name: "no user is beyond the limit", sql: include_str!("verify/limits.sql") },
    Invariant { name: "history has no gap", sql: include_str!("verify/gaps.sql") },
    Invariant { name: "every head is the hash of the newest row", sql: include_str!("verify/heads.sql") },
    Invariant { name: "every reservation is in the history", sql: include_str!("verify/recorded.sql") },
    Invariant { name: "the history explains every seat", sql: include_str!("verify/explained.sql") },
    Invariant { name: "arrival numbers are unique", sql: include_str!("verify/numbers.sql") },
    Invariant { name: "no number is beyond the generation", sql: include_str!("verify/generations.sql") },
    Invariant { name: "never more inside than allowed", sql: include_str!("verify/inside.sql") },
    Invariant { name: "one entry per user at a time", sql: include_str!("verify/one_entry.sql") },
    Invariant { name: "nobody entered twice by one number", sql: include_str!("verify/entry_numbers.sql") },
    Invariant { name: "every entry is in the history", sql: include_str!("verify/entered.sql") },
    Invariant { name: "every night counts what stands on it", sql: include_str!("verify/nights.sql") },
    Invariant { name: "no night of a stay is missing", sql: include_str!("verify/nights_there.sql") },
    Invariant { name: "every hold began and ended once", sql: include_str!("verify/holds.sql") },
    Invariant { name: "every hold is what the history says", sql: include_str!("verify/holds_told.sql") },
    Invariant { name: "every seat on hold has its hold", sql: include_str!("verify/held_seats.sql") },
    Invariant { name: "every stay was held and confirmed", sql: include_str!("verify/stays.sql") },
    Invariant { name: "every stay is what the history says", sql: include_str!("verify/stays_told.sql") },
    Invariant { name: ORDERS, sql: include_str!("verify/orders.sql") },
];

pub const ORDERS: &str = "metadata of orders is what the history says";

/// Those of them that say that more was sold than there is, or than may be.
pub const OVERSELL: &[&str] = &[
    "every seat has one owner",
    "sold + free = total in every event",
    "no user is beyond the limit",
    "every night counts what stands on it",
];

/// What each ledger is asked in its own words.
pub const SQLITE_ONLY: &[Invariant] = &[SQLITE_ORDER];
pub const POSTGRES_ONLY: &[Invariant] = &[POSTGRES_ORDER];

/// The order of arrival, as far as the ledger can show it: over all of an event's history where one server
/// writes, within each batch where several do.
const SQLITE_ORDER: Invariant = Invariant { name: ORDER, sql: include_str!("verify/order_sqlite.sql") };
const POSTGRES_ORDER: Invariant = Invariant { name: ORDER, sql: include_str!("verify/order_postgres.sql") };
const ORDER: &str = "lower arrival numbers were served first";

/// What a walk over the history finds, row by row. SQL cannot ask it.
pub const CHAINED: &str = "every row of history is what its hash says";
/// Of heads that somebody kept.
pub const HEADS_KEPT: &str = "the kept heads are in the history";

/// What only a server, or `verify` with Redis, can compare. The door is corrected within a second while anybody
/// asks the line.
pub const DOOR_AGREES: &str = "door and ledger agree on who is inside";

/// How many sentences are shown of one broken invariant.
pub const SHOWN_MOST: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    /// Empty: it holds.
    pub broken: Vec<String>,
}

impl Finding {
    pub fn holds(&self) -> bool {
        self.broken.is_empty()
    }
}

/// What a walk over the history found; about kept heads only where there are any.
pub fn chain_findings(walk: ChainWalk, with_kept: bool) -> (ChainSeen, Vec<Finding>) {
    let (seen, broken, missing) = walk.finish();
    let kept = with_kept.then_some(Finding { name: HEADS_KEPT, broken: missing });
    (seen, [Finding { name: CHAINED, broken }].into_iter().chain(kept).collect())
}

/// What was looked at, for the sentence that says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    pub events: u64,
    pub reservations: u64,
    pub history: u64,
    pub chain: ChainSeen,
}

pub const LOOKED: &str = "SELECT (SELECT count(*) FROM event),
       (SELECT count(*) FROM taken WHERE kind = 'sold') + (SELECT count(*) FROM stay WHERE cancelled_at IS NULL),
       (SELECT count(*) FROM history)";
