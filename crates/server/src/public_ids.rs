//! Ids of reservations and holds, for buyers. `e1-43` tells that at most 42 changes came before it, so that two
//! purchases tell how well an event sells, and so do two holds (`he1-31`). Buyers get `e1-x` and `he1-x` with 13
//! characters instead: the same number under a keyed permutation. Both name the same thing, and both are accepted.

use hmac::{Hmac, Mac};
use rules::ids::{EventId, ReservationId, whole_id};
use rules::subject::{AnyReservation, HoldId, RoomTypeId, StayId, SubjectId};
use sha2::Sha256;

/// Crockford's base 32, in lower case.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 64 bits in steps of five.
const CHARS: usize = 13;
/// Four rounds of a Feistel network make a permutation that looks random to whoever lacks the key.
const ROUNDS: std::ops::Range<u8> = 0..4;
/// Holds have a permutation of their own.
const HOLD_ROUNDS: std::ops::Range<u8> = 4..8;

pub struct PublicIds {
    key: Hmac<Sha256>,
}

/// The key is never logged.
impl std::fmt::Debug for PublicIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PublicIds(..)")
    }
}

impl PublicIds {
    pub fn new(key: Hmac<Sha256>) -> PublicIds {
        PublicIds { key }
    }

    pub fn of_seat(&self, id: ReservationId) -> String {
        self.show(SubjectId::Event(id.event), id.n, ROUNDS)
    }

    pub fn of_stay(&self, id: StayId) -> String {
        self.show(SubjectId::RoomType(id.room_type), id.n, ROUNDS)
    }

    pub fn of_hold(&self, id: HoldId) -> String {
        format!("h{}", self.show(id.subject, id.n, HOLD_ROUNDS))
    }

    /// The id of a hold, of either kind.
    pub fn read_hold(&self, text: &str) -> Option<HoldId> {
        match text.split_once("-x") {
            None => text.parse().ok(),
            Some((subject, hidden)) => {
                let (subject, n) = self.find(subject.strip_prefix('h')?, hidden, HOLD_ROUNDS)?;
                Some(HoldId { subject, n })
            }
        }
    }

    /// An id of either kind.
    pub fn read(&self, text: &str) -> Option<AnyReservation> {
        let Some((subject, hidden)) = text.split_once("-x") else { return text.parse().ok() };
        let (subject, n) = self.find(subject, hidden, ROUNDS)?;
        match subject {
            SubjectId::Event(event) => Some(AnyReservation::Seat(ReservationId { event, n })),
            SubjectId::RoomType(room_type) => Some(AnyReservation::Stay(StayId { room_type, n })),
            SubjectId::Ledger => None,
        }
    }

    fn find(&self, subject: &str, hidden: &str, rounds: std::ops::Range<u8>) -> Option<(SubjectId, u64)> {
        let (kind, id) = subject.split_at_checked(1)?;
        let id = whole_id(id)?;
        let subject = match kind {
            "e" => SubjectId::Event(EventId(id)),
            "r" => SubjectId::RoomType(RoomTypeId(id)),
            _ => return None,
        };
        let n = self.turned(subject, decode(hidden)?, rounds.rev());
        // Numbers are counted up from 1: whatever else comes out is no id of ours.
        i64::try_from(n).ok()?;
        Some((subject, n))
    }

    fn show(&self, subject: SubjectId, n: u64, rounds: std::ops::Range<u8>) -> String {
        let mut text = format!("{subject}-x");
        encode(self.turned(subject, n, rounds), &mut text);
        text
    }

    /// The network: each round swaps the halves and mixes one with a digest of the other. The same with the
    /// rounds in reverse turns it back, because the halves are swapped before and after.
    fn turned(&self, subject: SubjectId, n: u64, rounds: impl Iterator<Item = u8>) -> u64 {
        let (mut left, mut right) = ((n >> 32) as u32, n as u32);
        for round in rounds {
            (left, right) = (right, left ^ self.digest(subject, round, right));
        }
        u64::from(right) << 32 | u64::from(left)
    }

    fn digest(&self, subject: SubjectId, round: u8, half: u32) -> u32 {
        let mut mac = self.key.clone();
        mac.update(&subject.row().to_be_bytes());
        mac.update(&[round]);
        mac.update(&half.to_be_bytes());
        let digest = mac.finalize().into_bytes();
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
    }
}

fn encode(n: u64, text: &mut String) {
    for place in (0..CHARS).rev() {
        text.push(char::from(DIGITS[(n >> (5 * place)) as usize & 31]));
    }
}

fn decode(text: &str) -> Option<u64> {
    if text.len() != CHARS {
        return None;
    }
    let mut n: u128 = 0;
    for byte in text.bytes() {
        n = n << 5 | DIGITS.iter().position(|digit| *digit == byte)? as u128;
    }
    u64::try_from(n).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hmac::KeyInit;
    use proptest::prelude::*;

    use super::*;

    fn ids(key: u8) -> PublicIds {
        PublicIds::new(Hmac::new(&[key; 64].into()))
    }

    #[test]
    fn ids_do_not_count() {
        let ids = ids(7);
        let shown: Vec<String> = (1..=1_000).map(|n| ids.of_seat(ReservationId { event: EventId(1), n })).collect();
        assert_eq!(shown.iter().collect::<HashSet<_>>().len(), 1_000);
        assert!(!shown.is_sorted() && shown.iter().all(|id| id.len() == "e1-x".len() + CHARS), "{shown:?}");
        // Half of the bits differ between neighbours.
        let bits = |id: &str| decode(id.split_once("-x").unwrap().1).unwrap();
        let apart: u32 = shown.windows(2).map(|two| (bits(&two[0]) ^ bits(&two[1])).count_ones()).sum();
        assert!((31 * 999..33 * 999).contains(&apart), "{apart}");
        let other = self::ids(8).of_seat(ReservationId { event: EventId(1), n: 1 });
        assert_ne!(other, shown[0], "the key decides");
        assert_ne!(ids.of_seat(ReservationId { event: EventId(2), n: 1 })[4..], shown[0][4..], "and the event");
    }

    #[test]
    fn both_kinds_are_read_and_each_has_one_spelling() {
        let ids = ids(7);
        let seat = ReservationId { event: EventId(1), n: 43 };
        let stay = StayId { room_type: RoomTypeId(7), n: 13 };
        assert_eq!(ids.read("e1-43"), Some(AnyReservation::Seat(seat)));
        assert_eq!(ids.read("r7-13"), Some(AnyReservation::Stay(stay)));
        let hidden = ids.of_seat(seat);
        for bad in [
            hidden.to_uppercase(),
            hidden.replacen("e1", "e01", 1),
            hidden.replacen("e1", "x1", 1),
            format!("{hidden}0"),
            hidden[..hidden.len() - 1].to_owned(),
            "e1-xzzzzzzzzzzzzz".into(),
            "e1-x".into(),
            "-x0000000000000".into(),
            "é-x0000000000000".into(),
        ] {
            assert_eq!(ids.read(&bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_id_is_found_again(n in 0..i64::MAX as u64, id in 1..i64::MAX) {
            let ids = ids(3);
            let seat = ReservationId { event: EventId(id), n };
            prop_assert_eq!(ids.read(&ids.of_seat(seat)), Some(AnyReservation::Seat(seat)));
            let stay = StayId { room_type: RoomTypeId(id), n };
            prop_assert_eq!(ids.read(&ids.of_stay(stay)), Some(AnyReservation::Stay(stay)));
            for subject in [SubjectId::Event(EventId(id)), SubjectId::RoomType(RoomTypeId(id))] {
                let hold = HoldId { subject, n };
                prop_assert_eq!(ids.read_hold(&ids.of_hold(hold)), Some(hold));
                prop_assert_eq!(ids.read_hold(&hold.to_string()), Some(hold));
                prop_assert_ne!(&ids.of_hold(hold)[1..], ids.show(subject, n, ROUNDS), "of its own");
                prop_assert_eq!(ids.read(&ids.of_hold(hold)), None);
            }
        }

        #[test]
        fn any_text_is_an_id_or_not(text in ".{0,40}") {
            let _ = (ids(3).read(&text), ids(3).read_hold(&text));
        }
    }
}
