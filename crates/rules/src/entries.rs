//! Entries to an event's waiting room. The door determines whose turn it is. Who is inside is decided here, under the
//! event's row lock, and stored in the ledger.

use std::collections::HashMap;

use subtle::ConstantTimeEq;

use crate::ids::{BEHIND_THE_DRAWN, Number, User};
use crate::outcome::{Expected, FieldError, Problem, Refusal};
use crate::time::Moment;

pub const INSIDE_MOST: u32 = 1_000_000;
/// Bounds of the times of a waiting room, in seconds.
pub const TOKEN_TTL_S: (u32, u32) = (5, 86_400);
pub const TOKEN_MAX_AGE_S: (u32, u32) = (5, 604_800);
pub const IDLE_TIMEOUT_S: (u32, u32) = (3, 3_600);
/// The maximum length of a line, and the default.
pub const QUEUE_MOST: u32 = 10_000_000;
pub const QUEUE_MOST_DEFAULT: u32 = 1_000_000;
pub const ADMIT_PER_MINUTE_MOST: u32 = 1_000_000;
const PACED_TURN_MS: i64 = 15_000;

/// The settings of a waiting room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRoom {
    /// At most this many users are inside.
    pub max_concurrent: u32,
    pub token_ttl_ms: i64,
    /// The maximum age of an entry, however often it is renewed.
    pub token_max_age_ms: i64,
    /// A waiting user who has not polled for this long is passed over.
    pub idle_ms: i64,
    /// At most this many users have a place in the line, silent ones included.
    pub queue_most: u32,
    /// From this time on users may join; the order of those who join before the opening is drawn at the opening. By the
    /// wall clock. None: no draw, and users may join at any time.
    pub gather_from: Option<Moment>,
    /// Admits at most about this many users per minute. None: as many as there are places.
    pub admit_per_minute: Option<u32>,
    /// The gathering is over for good, and its line contains drawn places.
    pub gathered: bool,
}

impl Default for WaitingRoom {
    fn default() -> Self {
        WaitingRoom {
            max_concurrent: 800,
            token_ttl_ms: 300_000,
            token_max_age_ms: 1_800_000,
            idle_ms: 60_000,
            queue_most: QUEUE_MOST_DEFAULT,
            gather_from: None,
            admit_per_minute: None,
            gathered: false,
        }
    }
}

/// What an operator changes in a waiting room. A field that is not named stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingRoomAmendment {
    pub max_concurrent: Option<u32>,
    pub token_ttl_ms: Option<i64>,
    pub token_max_age_ms: Option<i64>,
    pub idle_ms: Option<i64>,
    pub queue_most: Option<u32>,
    /// `Some(None)` removes it; the same applies to `admit_per_minute`.
    pub gather_from: Option<Option<Moment>>,
    pub admit_per_minute: Option<Option<u32>>,
}

impl WaitingRoomAmendment {
    /// Changes a room, or creates one with defaults for fields that are not named.
    pub fn apply(&self, room: Option<WaitingRoom>) -> Result<WaitingRoom, Refusal> {
        let before = room.unwrap_or_default();
        let token_ttl_ms = self.token_ttl_ms.unwrap_or(before.token_ttl_ms);
        // A new room with a long entry TTL gets a maximum age to match.
        let least_age_ms = if room.is_none() { token_ttl_ms } else { 0 };
        let after = WaitingRoom {
            max_concurrent: self.max_concurrent.unwrap_or(before.max_concurrent),
            token_ttl_ms,
            token_max_age_ms: self.token_max_age_ms.unwrap_or(before.token_max_age_ms.max(least_age_ms)),
            idle_ms: self.idle_ms.unwrap_or(before.idle_ms),
            queue_most: self.queue_most.unwrap_or(before.queue_most),
            gather_from: self.gather_from.unwrap_or(before.gather_from),
            admit_per_minute: self.admit_per_minute.unwrap_or(before.admit_per_minute),
            gathered: before.gathered,
        };
        if after.token_max_age_ms < after.token_ttl_ms {
            let problem = Problem::Expected(Expected::AtLeastTokenTtl);
            return Err(FieldError::refused("waitingRoom.tokenMaxAge", problem));
        }
        Ok(after)
    }
}

impl WaitingRoom {
    /// The offset that is added to the arrival numbers of its line.
    pub fn arrivals_from(&self) -> u64 {
        if self.gather_from.is_some() || self.gathered { BEHIND_THE_DRAWN } else { 0 }
    }

    /// How long the turn of a user lasts who does not enter. With a rate limit it is short, so that nobody blocks the
    /// line for long.
    pub fn turn_ms(&self) -> i64 {
        if self.admit_per_minute.is_some() { self.idle_ms.min(PACED_TURN_MS) } else { self.idle_ms }
    }

    /// How long admission pauses after the door lost its state, so that every user can present their ticket first.
    pub fn pause_ms(&self) -> i64 {
        self.idle_ms / 2
    }

    /// A renewal is written once a quarter of the TTL has passed.
    fn renewal_ms(&self) -> i64 {
        self.token_ttl_ms / 4
    }
}

/// The secret that proves an entry in every booking. The caller generates it at random.
#[derive(Clone, Copy)]
pub struct EntryToken(pub [u8; 16]);

impl EntryToken {
    pub fn read(text: &str) -> Option<EntryToken> {
        lower_hex(text)?.try_into().ok().map(EntryToken)
    }

    pub fn text(&self) -> String {
        hex::encode(self.0)
    }
}

/// Decodes hexadecimal digits. Only lower case is valid.
pub fn lower_hex(text: &str) -> Option<Vec<u8>> {
    let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    lower.then(|| hex::decode(text).ok())?
}

/// Compared in constant time, against timing attacks.
impl PartialEq for EntryToken {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for EntryToken {}

/// Tokens are never logged.
impl std::fmt::Debug for EntryToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntryToken(..)")
    }
}

/// An entry that was not given back. It is live until its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The arrival number that it used. A number admits once.
    pub number: Number,
    pub user: User,
    pub token: EntryToken,
    /// History number at which it began.
    pub n: u64,
    pub begins: Moment,
    pub ends: Moment,
    /// A renewal does not extend it beyond this.
    pub cap: Moment,
}

impl Entry {
    pub fn live(&self, now: Moment) -> bool {
        self.ends > now
    }

    /// Its new end if it were renewed now.
    pub fn renewed(&self, room: &WaitingRoom, now: Moment) -> Moment {
        now.plus_ms(room.token_ttl_ms).min(self.cap).max(self.ends)
    }
}

/// Whether a renewal is worth a write: a quarter of the TTL has passed, and the new end would be later.
pub fn renewal_due(room: &WaitingRoom, left_ms: i64, cap_left_ms: i64) -> bool {
    room.token_ttl_ms.min(cap_left_ms) - left_ms >= room.renewal_ms().max(1)
}

/// An entry began, was renewed or ended. The door applies these in any order: an older one never
/// overwrites a newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    In(Entry),
    Renewed { user: User, n: u64, ends: Moment },
    Out { user: User, n: u64 },
}

/// A summary of who is inside, enough to detect that a door and a ledger disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsideDigest {
    pub count: u64,
    /// The sum of the entries' history numbers. None: too many to add up.
    pub sum: Option<u64>,
}

impl InsideDigest {
    pub fn agrees(&self, other: &InsideDigest) -> bool {
        self.count == other.count && (self.sum.is_none() || other.sum.is_none() || self.sum == other.sum)
    }
}

/// A user who is inside according to the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoorEntry {
    pub user: User,
    /// History number at which the entry began.
    pub n: u64,
    pub left_ms: i64,
}

/// The end of an entry may differ by this much between door and ledger: both round, and each has its own clock.
const END_SLACK_MS: i64 = 1_000;

/// The messages that make the door agree with the ledger, whose live entries are these at `at`.
pub fn corrections(door: &[DoorEntry], ledger: &[Entry], at: Moment) -> Vec<Moved> {
    let mut known: HashMap<&User, &DoorEntry> = door.iter().map(|entry| (&entry.user, entry)).collect();
    let mut corrections = Vec::new();
    for entry in ledger {
        match known.remove(&entry.user) {
            Some(same) if same.n == entry.n => {
                if at.ms_until(entry.ends) > same.left_ms + END_SLACK_MS {
                    let (user, n, ends) = (entry.user.clone(), entry.n, entry.ends);
                    corrections.push(Moved::Renewed { user, n, ends });
                }
            }
            other => {
                corrections.extend(other.map(out));
                corrections.push(Moved::In(entry.clone()));
            }
        }
    }
    corrections.extend(known.into_values().map(out));
    corrections
}

/// Removes only this entry: one that began meanwhile stays.
fn out(entry: &DoorEntry) -> Moved {
    Moved::Out { user: entry.user.clone(), n: entry.n }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_one_spelling_and_are_not_shown() {
        let token = EntryToken([0xab; 16]);
        assert_eq!(EntryToken::read(&token.text()), Some(token));
        let upper = token.text().to_uppercase();
        for bad in ["", "ab", upper.as_str(), &"ab".repeat(17), &"zz".repeat(16)] {
            assert_eq!(EntryToken::read(bad), None, "{bad}");
        }
        assert!(!format!("{token:?}").contains("ab"));
        assert_ne!(token, EntryToken([0xaa; 16]));
    }

    #[test]
    fn renewals_are_worth_a_write_once_a_quarter_has_passed() {
        let room = WaitingRoom::default();
        let due = |ends: i64, cap: i64, now: i64| renewal_due(&room, ends - now, cap - now);
        assert!(!due(300_000, 1_800_000, 0));
        assert!(!due(300_000, 1_800_000, 74_999));
        assert!(due(300_000, 1_800_000, 75_000));
        assert!(!due(1_800_000, 1_800_000, 1_790_000), "at its cap there is nothing to gain");
    }

    #[test]
    fn corrections_change_only_what_differs() {
        let entry = |user: &str, n: u64, ends: i64| Entry {
            number: Number(n),
            user: User::stored(user),
            token: EntryToken([0; 16]),
            n,
            begins: Moment(0),
            ends: Moment(ends),
            cap: Moment(1_000_000),
        };
        let known = |user: &str, n: u64, left_ms: i64| DoorEntry { user: User::stored(user), n, left_ms };
        let ledger = [entry("same", 1, 60_000), entry("renewed", 2, 90_000), entry("new", 3, 60_000)];
        let ledger = [&ledger[..], &[entry("again", 9, 60_000), entry("restored", 4, 60_000)]].concat();
        let door = [known("same", 1, 59_500), known("renewed", 2, 30_000), known("gone", 5, 50_000)];
        let door = [&door[..], &[known("again", 6, 10), known("restored", 8, 60_000)]].concat();
        let user = User::stored;
        assert_eq!(
            corrections(&door, &ledger, Moment(0)),
            [
                Moved::Renewed { user: user("renewed"), n: 2, ends: Moment(90_000) },
                Moved::In(ledger[2].clone()),
                Moved::Out { user: user("again"), n: 6 },
                Moved::In(ledger[3].clone()),
                Moved::Out { user: user("restored"), n: 8 },
                Moved::In(ledger[4].clone()),
                Moved::Out { user: user("gone"), n: 5 },
            ]
        );
        assert_eq!(corrections(&[], &[], Moment(0)), []);
    }

    #[test]
    fn digests_agree_by_sum_where_both_have_one() {
        let digest = |count, sum| InsideDigest { count, sum };
        assert!(digest(2, Some(7)).agrees(&digest(2, Some(7))));
        assert!(digest(2, None).agrees(&digest(2, Some(7))));
        assert!(!digest(2, Some(8)).agrees(&digest(2, Some(7))));
        assert!(!digest(1, None).agrees(&digest(2, Some(7))));
    }
}
