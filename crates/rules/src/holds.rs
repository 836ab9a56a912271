//! Holds: stock that is reserved for a user while they pay. Nights and seats share one kind of row. A hold expires by
//! predicate, `ends_at > now` by the ledger's clock, without a background task.

pub mod book;

use serde::{Deserialize, Serialize};

use crate::buyer::Metadata;
use crate::ids::{Seat, User};
use crate::nights::Dates;
use crate::outcome::{Forbidden, Limit, Refusal};
use crate::subject::HoldId;
use crate::time::Moment;

/// Hold settings, the same for all subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldTerms {
    pub ttl_ms: i64,
    /// The maximum time from the first hold of a chain of extensions and replacements to its last end.
    pub max_age_ms: i64,
    pub repeat: Repeat,
    /// Live holds per user and subject.
    pub per_user: u32,
    /// The cool-down: for this long after a hold ended without a sale, its owner cannot hold the same stock again. 0:
    /// none.
    pub again_after_ms: i64,
}

impl Default for HoldTerms {
    fn default() -> Self {
        HoldTerms { ttl_ms: 600_000, max_age_ms: 1_800_000, repeat: Repeat::Same, per_user: 5, again_after_ms: 0 }
    }
}

impl HoldTerms {
    /// Whether a user with `live` holds may have one more.
    pub fn one_more(&self, live: usize) -> Result<(), Limit> {
        let has = u32::try_from(live).unwrap_or(u32::MAX);
        if has < self.per_user { Ok(()) } else { Err(Limit::Holds { has, most: self.per_user }) }
    }
}

/// A batch marks at most this many lapsed holds expired on stock and users that it does not touch, oldest end first.
pub const LAPSED_MOST: usize = 1_000;

/// A batch counts at most this many lapsed holds. Counting reads one index entry per hold and writes only sums, so it
/// costs a small part of marking them expired.
pub const COUNTED_MOST: usize = 20_000;

/// The result for the same `clientHoldKey` on the same stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The same hold: a double click does not remove the hold that is being paid for.
    Same,
    /// A new hold that replaces the old one.
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldState {
    Held,
    Confirmed,
    Cancelled,
    Expired,
    /// Another hold replaced it; its id is answered as if it had never existed.
    Replaced,
}

impl HoldState {
    pub const ALL: [HoldState; 5] =
        [HoldState::Held, HoldState::Confirmed, HoldState::Cancelled, HoldState::Expired, HoldState::Replaced];

    pub fn as_str(self) -> &'static str {
        match self {
            HoldState::Held => "held",
            HoldState::Confirmed => "confirmed",
            HoldState::Cancelled => "cancelled",
            HoldState::Expired => "expired",
            HoldState::Replaced => "replaced",
        }
    }

    pub fn named(text: &str) -> Option<HoldState> {
        HoldState::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// The stock on hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum On {
    Nights(Dates),
    /// In seat order, each once.
    Seats(Vec<Seat>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub id: HoldId,
    #[serde(with = "as_text")]
    pub owner: User,
    /// The client's own key for it.
    pub key: Box<str>,
    pub on: On,
    /// When the first hold of this chain began: replacements and extensions do not restart it.
    pub first_at: Moment,
    pub at: Moment,
    pub ends_at: Moment,
    pub state: HoldState,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// History numbers of the reservations that it became: one for a stay, one per seat.
    pub reserved: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// The reason why it was given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
}

/// The mark up to which lapsed holds are counted that are not marked expired yet, ordered by their ends. Everything up
/// to the mark is in the sums of the subject, so the cost of a decision or a read does not depend on their number. Live
/// holds are always beyond the mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LapsedMark {
    pub ends_at: Moment,
    /// The tie-break among equal ends: the number of the hold, or for an event the seat.
    pub place: u64,
}

/// What a batch found when it counted further. Read only if more holds have lapsed than one batch marks expired.
#[derive(Clone, Debug)]
pub struct CountStep<C> {
    pub found: C,
    pub to: LapsedMark,
    /// The step ended at its limit.
    pub more: bool,
}

/// The lapsed holds that remain after a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backlog {
    #[default]
    None,
    /// Some are not marked expired. All of them are counted.
    Counted,
    /// Some are not counted: stock that looks taken may be free.
    Uncounted,
}

impl<C> CountStep<C> {
    pub fn backlog(step: Option<&Self>) -> Backlog {
        match step {
            None => Backlog::None,
            Some(step) if step.more => Backlog::Uncounted,
            Some(_) => Backlog::Counted,
        }
    }
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::ids::User;

    pub fn serialize<S: Serializer>(user: &User, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(user.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<User, D::Error> {
        String::deserialize(from).map(|text| User::stored(&text))
    }
}

impl Hold {
    pub fn live(&self, now: Moment) -> bool {
        self.state == HoldState::Held && self.ends_at > now
    }

    /// Held according to its row, and past its end.
    pub fn lapsed(&self, now: Moment) -> bool {
        self.state == HoldState::Held && self.ends_at <= now
    }

    /// The displayed state: a lapsed hold has expired, marked or not.
    pub fn state_at(&self, now: Moment) -> HoldState {
        if self.lapsed(now) { HoldState::Expired } else { self.state }
    }

    /// When its stock was freed, if it was. A lapsed hold was over at its end, whenever it was marked expired.
    pub fn given_back_at(&self) -> Option<Moment> {
        match self.state {
            HoldState::Cancelled => self.ended_at,
            HoldState::Expired => Some(self.ends_at),
            HoldState::Held | HoldState::Confirmed | HoldState::Replaced => None,
        }
    }

    /// The end that an extension would set now.
    pub fn extended(&self, terms: &HoldTerms, now: Moment) -> Moment {
        now.plus_ms(terms.ttl_ms).min(self.first_at.plus_ms(terms.max_age_ms))
    }

    /// The check before confirm, cancel and extend: only a live hold of the caller passes.
    pub fn open_to(&self, whose: Option<&User>, now: Moment) -> Result<(), Refusal> {
        if self.state == HoldState::Replaced {
            return Err(Refusal::HoldNotFound);
        }
        if whose.is_some_and(|user| *user != self.owner) {
            return Err(Refusal::Forbidden(Forbidden::AnothersHold));
        }
        match self.state_at(now) {
            HoldState::Held => Ok(()),
            HoldState::Expired => Err(Refusal::HoldExpired),
            HoldState::Confirmed => Err(Refusal::HoldProcessed { confirmed: Some(Box::new(self.clone())) }),
            HoldState::Cancelled => Err(Refusal::HoldProcessed { confirmed: None }),
            HoldState::Replaced => Err(Refusal::HoldNotFound),
        }
    }
}

/// The actions on an existing hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Confirm,
    Cancel,
    Extend,
}

const ULID_CHARS: usize = 26;

/// A UUID in its usual notation, or a ULID.
pub fn is_hold_key(text: &str) -> bool {
    let grouped = || {
        text.len() == 36
            && text.bytes().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
    };
    // Crockford's base 32 alphabet, and no more than 128 bits.
    let crockford =
        |b: u8| b.is_ascii_digit() || (b.is_ascii_alphabetic() && !b"ILOU".contains(&b.to_ascii_uppercase()));
    let sortable = || text.len() == ULID_CHARS && text.bytes().all(crockford) && text.as_bytes()[0] <= b'7';
    grouped() || sortable()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_uuids_or_ulids() {
        for good in [
            "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11",
            "0B4C7B1E-9F0F-4B57-8F7E-2F6F3F1A9C11",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ] {
            assert!(is_hold_key(good), "{good}");
        }
        for bad in [
            "",
            "key",
            "0b4c7b1e9f0f4b578f7e2f6f3f1a9c11",
            "{0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11}",
            "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c1g",
            "01ARZ3NDEKTSV4RRFFQ69G5FA",
            "81ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01ARZ3NDEKTSV4RRFFQ69G5FAI",
            "01ARZ3NDEKTSV4RRFFQ69G5FAé",
        ] {
            assert!(!is_hold_key(bad), "{bad}");
        }
    }
}
