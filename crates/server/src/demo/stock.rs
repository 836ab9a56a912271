//! What the demo sells: a hall with a waiting room, an event that opens in two minutes, a hotel.

use rules::time::{Clock, Moment};
use serde_json::{Value, json};

use crate::http::wire::moment;

const OPENS_IN_MS: i64 = 120_000;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A hall of this many seats: two thirds stalls, the rest balcony.
pub fn hall(seats: u32) -> Value {
    let stalls = seats - seats / 3;
    let mut sections = vec![json!({ "name": "1층 · Stalls", "rows": rows(stalls, 34) })];
    if seats > stalls {
        sections.push(json!({ "name": "2층 · Balcony", "rows": rows(seats - stalls, 37) }));
    }
    json!({ "sections": sections })
}

fn rows(seats: u32, width: u32) -> Vec<Value> {
    let whole = (0..seats / width).map(|_| width);
    let rest = Some(seats % width).filter(|rest| *rest > 0);
    let row = |(i, seats): (usize, u32)| {
        // The ends of the first row are beside the aisles.
        let accessible = if i == 0 && seats >= 8 { vec![1, 2, seats - 1, seats] } else { Vec::new() };
        json!({ "name": row_name(i), "seats": seats, "accessible": accessible })
    };
    whole.chain(rest).enumerate().map(row).collect()
}

/// A to Z, then AA, AB and so on.
fn row_name(i: usize) -> String {
    let letter = |i: usize| char::from(b'A' + (i % 26) as u8);
    if i < 26 { letter(i).to_string() } else { format!("{}{}", row_name(i / 26 - 1), letter(i)) }
}

/// The event of one rush.
pub fn rush_event(run: u32, seats: u32) -> Value {
    json!({ "name": format!("러시 {run} · Rush {run}"), "seats": hall(seats), "rehearsal": true })
}

/// The one that a server begins with.
pub fn first_event() -> Value {
    json!({ "name": "소극장 낭독회 · Reading on the Small Stage" })
}

pub fn events(now: Moment) -> [Value; 2] {
    let opens_at = moment(Moment(now.0 + OPENS_IN_MS));
    // At seven in the evening in Seoul.
    let evening = |days: i64| moment(Moment((now.0.div_euclid(DAY_MS) + days) * DAY_MS + 10 * HOUR_MS));
    [
        json!({
            "name": "봄밤 콘서트 · Spring Night Concert", "seats": hall(1_000), "maxPerUser": 4,
            "startsAt": evening(40), "timeZone": "Asia/Seoul", "place": "올림픽홀, 서울 · Olympic Hall, Seoul",
            "waitingRoom": { "maxConcurrent": 100 }, "price": { "amount": "55000", "currency": "KRW" },
        }),
        json!({
            "name": "팬미팅 · Fan Meeting", "seats": hall(240), "maxPerUser": 2, "opensAt": opens_at,
            "startsAt": evening(20), "timeZone": "Asia/Seoul", "place": "영화의전당, 부산 · Busan Cinema Center",
            "price": { "amount": "33000", "currency": "KRW" },
        }),
    ]
}

pub fn room_types() -> [Value; 3] {
    let room = |name: &str, rooms: u32, price: u32, about: &str| {
        json!({
            "name": name, "totalQuantity": rooms, "timeZone": "Asia/Seoul", "description": about,
            "price": price, "currency": "KRW",
        })
    };
    [
        room("스탠다드 더블 · Standard Double", 12, 98_000, "도심 전망 · City view"),
        room("디럭스 트윈 · Deluxe Twin", 8, 139_000, "강 전망 · River view"),
        room("스위트 · Suite", 2, 320_000, "거실과 테라스 · Living room and terrace"),
    ]
}

/// The wall clock, for the opening time.
pub fn now() -> Moment {
    crate::clock::EmbeddedClock::starting(Moment(0)).wall()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halls_have_the_seats_that_were_asked_for() {
        for wanted in [1, 2, 3, 33, 240, 1_000, 5_003] {
            let hall = hall(wanted);
            let sections = hall["sections"].as_array().unwrap().iter();
            let rows = sections.flat_map(|section| section["rows"].as_array().unwrap());
            assert_eq!(rows.map(|row| row["seats"].as_u64().unwrap()).sum::<u64>(), u64::from(wanted));
        }
        assert_eq!([0, 25, 26, 27, 53].map(row_name), ["A", "Z", "AA", "AB", "BB"]);
    }
}
