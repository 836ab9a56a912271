//! What a batch changes, an event or a room type, and the ids that carry it: any id finds its
//! subject without being looked up first.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{EventId, NotAnId, ReservationId, whole};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoomTypeId(pub i64);

impl fmt::Display for RoomTypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RoomTypeId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let id = whole(text).and_then(|id| i64::try_from(id).ok()).filter(|id| *id >= 1);
        id.map(RoomTypeId).ok_or(NotAnId)
    }
}

/// The unit of order: all that changes it goes through it, in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    Event(EventId),
    RoomType(RoomTypeId),
}

impl Subject {
    /// How the tables that both share name it: events count up, room types down, so that one
    /// column is a key for either.
    pub fn row(self) -> i64 {
        match self {
            Subject::Event(event) => event.0,
            Subject::RoomType(room_type) => -room_type.0,
        }
    }

    pub fn of_row(row: i64) -> Subject {
        if row < 0 { Subject::RoomType(RoomTypeId(-row)) } else { Subject::Event(EventId(row)) }
    }
}

/// `e1`, `r7`: also the hash tag of its keys.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Event(event) => write!(f, "e{event}"),
            Subject::RoomType(room_type) => write!(f, "r{room_type}"),
        }
    }
}

/// A hold by its subject and the history number it began with: `hr7-12`, `he2-31`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HoldId {
    pub subject: Subject,
    pub n: u64,
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{}-{}", self.subject, self.n)
    }
}

/// A confirmed stay by its room type and the history number of its confirmation: `r7-13`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StayId {
    pub room_type: RoomTypeId,
    pub n: u64,
}

impl fmt::Display for StayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}-{}", self.room_type, self.n)
    }
}

/// What a reservation's id may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyReservation {
    Seat(ReservationId),
    Stay(StayId),
}

fn numbers(text: &str) -> Option<(i64, u64)> {
    let (subject, n) = text.split_once('-')?;
    let subject = whole(subject).and_then(|id| i64::try_from(id).ok())?;
    let n = whole(n).filter(|n| i64::try_from(*n).is_ok())?;
    Some((subject, n))
}

impl FromStr for AnyReservation {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        match text.strip_prefix('r') {
            Some(rest) => {
                let (room_type, n) = numbers(rest).ok_or(NotAnId)?;
                Ok(AnyReservation::Stay(StayId { room_type: RoomTypeId(room_type), n }))
            }
            None => text.parse().map(AnyReservation::Seat),
        }
    }
}

impl FromStr for HoldId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let rest = text.strip_prefix('h').ok_or(NotAnId)?;
        let (kind, rest) = rest.split_at_checked(1).ok_or(NotAnId)?;
        let (id, n) = numbers(rest).ok_or(NotAnId)?;
        let subject = match kind {
            "e" => Subject::Event(EventId(id)),
            "r" => Subject::RoomType(RoomTypeId(id)),
            _ => return Err(NotAnId),
        };
        Ok(HoldId { subject, n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_spelling() {
        let on_room = HoldId { subject: Subject::RoomType(RoomTypeId(7)), n: 12 };
        let on_event = HoldId { subject: Subject::Event(EventId(2)), n: 31 };
        assert_eq!((on_room.to_string(), on_event.to_string()), ("hr7-12".into(), "he2-31".into()));
        assert_eq!((on_room.to_string().parse(), on_event.to_string().parse()), (Ok(on_room), Ok(on_event)));
        for bad in ["", "h", "hr", "hr7", "hr7-", "h7-1", "hx7-1", "hr07-1", "hr7-01", "r7-1", "hr7-1 ", "hé7-1"] {
            assert_eq!(bad.parse::<HoldId>(), Err(NotAnId), "{bad}");
        }
        let stay = StayId { room_type: RoomTypeId(7), n: 13 };
        assert_eq!(stay.to_string().parse(), Ok(AnyReservation::Stay(stay)));
        let seat = ReservationId { event: EventId(1), n: 43 };
        assert_eq!("e1-43".parse(), Ok(AnyReservation::Seat(seat)));
        assert_eq!("r7-+1".parse::<AnyReservation>(), Err(NotAnId));
    }

    #[test]
    fn one_column_names_either_kind() {
        for subject in [Subject::Event(EventId(7)), Subject::RoomType(RoomTypeId(7))] {
            assert_eq!(Subject::of_row(subject.row()), subject);
        }
    }
}
