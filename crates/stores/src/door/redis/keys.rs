//! Every key in Redis, on one screen. All keys of an event share its hash tag, so that each script touches one slot. No
//! key is needed to know who bought what, so all of them may be lost.
//!
//! | key                       | type            | what                                                 |
//! |---------------------------|-----------------|------------------------------------------------------|
//! | `fcfs:seq:{e:1}`          | integer         | arrival numbers of the generation                    |
//! | `door:{e:1}`              | hash            | `ledger`, `generation`, `run_id`, `line`             |
//! | `dup:user:{e:1}:<user>`   | string          | `<name> <end ms>`: a request of this user is running |
//! | `dup:ip:{e:1}:<address>`  | hash            | `count`, `end`: budget of an address                 |
//! | `left:{e:1}`              | hash            | `n free held first_end state at`: a hint             |
//! | `hold:{r:7}:<holdId>`     | string          | a live hold, for onlookers; nothing reads it         |
//! | `hold-count:{r:7}:<date>` | ZSET by end     | live holds on a night, for onlookers                 |
//! | `live:{e:1}`              | sharded channel | changes                                              |
//! | `queue:{e:1}`             | ZSET by number  | the line: who waits and was seen lately              |
//! | `queue:seen:{e:1}`        | ZSET by moment  | when each of them was last seen                      |
//! | `queue:gone:{e:1}`        | ZSET by number  | silent, or let their turn lapse: they keep the place |
//! | `queue:passed:{e:1}`      | set             | of those, who let their turn lapse                   |
//! | `queue:ready:{e:1}`       | ZSET by end     | who was told that it is their turn                   |
//! | `queue:seq:{e:1}`         | integer         | numbers of the line in this generation               |
//! | `queue:state:{e:1}`       | hash            | `generation run_id from compared r0..r5`             |
//! | `token:{e:1}`             | ZSET by end     | who is inside                                        |
//! | `queue:inside:{e:1}`      | hash            | of those, `<history number> <end at most>`           |
//! | `queue:away:{e:1}`        | ZSET by moment  | since when those in `queue:gone` are silent          |
//!
//! The keys of a deleted event are removed. TTLs are longer than the lifetime of the data and only collect garbage:
//! expiry times are in the values.

use rules::ids::{ClientAddress, EventId, RequestName, User};
use rules::nights::Night;
use rules::subject::{HoldId, SubjectId};

pub fn sequence(event: EventId) -> String {
    format!("fcfs:seq:{{e:{event}}}")
}

pub fn door(event: EventId) -> String {
    format!("door:{{e:{event}}}")
}

pub fn user(event: EventId, user: &User) -> String {
    format!("dup:user:{{e:{event}}}:{}", user.as_str())
}

pub fn address(event: EventId, address: &ClientAddress) -> String {
    match address {
        ClientAddress::V4([a, b, c, d]) => format!("dup:ip:{{e:{event}}}:{a}.{b}.{c}.{d}"),
        // By /64, as four groups of hexadecimal digits.
        ClientAddress::V6(o) => {
            let group = |i: usize| u16::from_be_bytes([o[i], o[i + 1]]);
            format!("dup:ip:{{e:{event}}}:{:x}:{:x}:{:x}:{:x}", group(0), group(2), group(4), group(6))
        }
    }
}

pub fn left(event: EventId) -> String {
    format!("left:{{e:{event}}}")
}

/// The tag of a subject: `{e:1}`, `{r:7}`.
fn tag(subject: SubjectId) -> String {
    match subject {
        SubjectId::Event(event) => format!("{{e:{event}}}"),
        SubjectId::RoomType(room_type) => format!("{{r:{room_type}}}"),
        // The ledger itself has no door.
        SubjectId::Ledger => "{ledger}".to_owned(),
    }
}

pub fn hold(subject: SubjectId, id: HoldId) -> String {
    format!("hold:{}:{id}", tag(subject))
}

pub fn hold_count(subject: SubjectId, night: Night) -> String {
    format!("hold-count:{}:{night}", tag(subject))
}

pub fn live(event: EventId) -> String {
    format!("live:{{e:{event}}}")
}

/// A key written with a TTL, to test whether Redis accepts writes.
pub fn probe() -> &'static str {
    "ready:probe"
}

/// The keys of the line, in the order in which its scripts expect them.
pub fn line(event: EventId) -> [String; 12] {
    let of = |name: &str| format!("{name}:{{e:{event}}}");
    [
        door(event),
        left(event),
        of("queue"),
        of("queue:seen"),
        of("queue:gone"),
        of("queue:passed"),
        of("queue:ready"),
        of("queue:seq"),
        of("queue:state"),
        of("token"),
        of("queue:inside"),
        of("queue:away"),
    ]
}

/// The form of a request's name in a mark.
pub fn name(name: RequestName) -> String {
    name.hex().map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_an_event_has_its_hash_tag() {
        let event = EventId(7);
        let rude = user(event, &User::stored("}{x}"));
        let keys = [sequence(event), door(event), rude, left(event), live(event)];
        for key in keys.into_iter().chain(line(event)) {
            let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
            assert_eq!(tag, Some("e:7"), "{key}");
        }
        let room = SubjectId::RoomType(rules::subject::RoomTypeId(7));
        assert_eq!(hold(room, HoldId { subject: room, n: 12 }), "hold:{r:7}:hr7-12");
        assert_eq!(hold_count(room, Night(20_811)), "hold-count:{r:7}:2026-12-24");
        let v6 = address(event, &ClientAddress::V6([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1]));
        assert_eq!(v6, "dup:ip:{e:7}:2001:db8:0:1");
        assert_eq!(address(event, &ClientAddress::V4([10, 0, 0, 1])), "dup:ip:{e:7}:10.0.0.1");
    }
}
