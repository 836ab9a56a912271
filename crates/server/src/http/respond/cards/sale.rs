//! The sale of an event, and what an operator may not change: open, limits per user, stock.

use rules::ids::Seat;
use rules::outcome::Limit;
use salvo::http::StatusCode;

use super::{Card, Message, NOTHING, Retry, Seeds, message};

pub fn not_open(retry_after: Option<u64>) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "not_open",
        message: message("The sale is not open.", "지금은 판매 중이 아닙니다."),
        retry: retry_after.map_or(Retry::No, Retry::After),
        seeds: Seeds::Code,
        when: "the sale is scheduled or paused",
        buyer: "Come back when the sale opens.",
        author: "Count down to `opensAt`; ask again after `Retry-After`.",
        operator: "Open or resume the event when it is time.",
    }
}

pub fn closed() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "closed",
        message: message("The sale is closed.", "판매가 종료되었습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the sale is over",
        buyer: "It is over.",
        author: "Show that the sale has ended.",
        operator: NOTHING,
    }
}

pub fn duplicate(seat: Seat) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "duplicate",
        message: message("This user has just reserved.", "방금 예약을 마치셨습니다."),
        // `userTtlRemaining` is a fact about a sale that stands: after it the answer is `already_reserved`.
        retry: Retry::No,
        seeds: Seeds::Already(Some(seat)),
        when: "at the limit, the newest sale within `FCFS_USER_TTL`",
        buyer: "You have the seat in `seat` already.",
        author: "Treat it as success: show `seat`.",
        operator: NOTHING,
    }
}

pub fn already_reserved(seat: Seat) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "already_reserved",
        message: message("This user already has a reservation.", "이미 예약하신 좌석이 있습니다."),
        retry: Retry::No,
        seeds: Seeds::Already(Some(seat)),
        when: "at the limit, the newest sale is older",
        buyer: "You have the seat in `seat` already; cancel it to take another.",
        author: "Show the existing reservation.",
        operator: "Raise `maxPerUser` if people may have more.",
    }
}

pub fn limit_reached(newest: Option<Seat>, limit: Limit) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "limit_reached",
        message: limit_message(limit),
        retry: Retry::No,
        seeds: Seeds::Already(newest),
        when: "more than the limit allows, at the limit by holds alone, or nothing to gain by extending",
        buyer: "Ask for less, pay for what you hold, or give it back.",
        author: "Show `requested`, `current` and `limit`, and the holds in `seatIds` or those of `GET /api/v1/holds`.",
        operator: NOTHING,
    }
}

fn limit_message(limit: Limit) -> Message {
    match limit {
        Limit::Seats { asked, has, most } => {
            let seats = |n: u32| if n == 1 { "1 seat".to_owned() } else { format!("{n} seats") };
            let have = if has == 0 { "none".to_owned() } else { seats(has) };
            message(
                format!("You asked for {} and have {have}; the limit is {} per person.", seats(asked), seats(most)),
                format!(
                    "{asked}석을 요청하셨고 현재 {has}석을 가지고 있습니다. 한 사람당 최대 {most}석까지 가능합니다."
                ),
            )
        }
        Limit::Holds { has, most } => message(
            format!("You have {has} holds here; the limit is {most} at a time."),
            format!("현재 {has}건을 선점하고 있습니다. 동시에 최대 {most}건까지 선점할 수 있습니다."),
        ),
        Limit::HoldAge => message("This hold cannot be extended any further.", "이 선점은 더 이상 연장할 수 없습니다."),
    }
}

pub fn seat_taken() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "seat_taken",
        message: message("Somebody else has this seat.", "다른 분이 이미 선택한 좌석입니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "somebody else has the chosen seat",
        buyer: "Choose another seat.",
        author: "Read the list again.",
        operator: NOTHING,
    }
}

pub fn sold_out() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "sold_out",
        message: message("No seat is left.", "모든 좌석이 판매되었습니다."),
        retry: Retry::No,
        seeds: Seeds::SoldOut,
        when: "nothing free, nothing on hold",
        buyer: "It is sold out; cancellations may bring seats back.",
        author: "Do not poll quickly: follow the list or the stream.",
        operator: NOTHING,
    }
}

pub fn held_out(retry_after: u64) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "held_out",
        message: message(
            "No seat is free, but some are on hold and may come back.",
            "남은 좌석이 모두 결제 중입니다. 잠시 후 다시 시도해 주세요.",
        ),
        retry: Retry::After(retry_after),
        seeds: Seeds::NoSeat,
        when: "nothing free, some on hold",
        buyer: "Try again when the first hold ends.",
        author: "Ask again after `Retry-After`.",
        operator: NOTHING,
    }
}

pub fn in_use() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "in_use",
        message: message("It is in use: reservations stand.", "예약이 남아 있어 처리할 수 없습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "reservations stand",
        buyer: NOTHING,
        author: NOTHING,
        operator: "Cancel the reservations first, or close the event.",
    }
}

pub fn still_buying(held: u32, inside: u32) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "still_buying",
        message: message(
            format!("The sale is open: {held} seats are on hold and {inside} people are inside."),
            format!("판매 중입니다. 선점된 좌석이 {held}개, 입장한 사람이 {inside}명 있습니다."),
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "seats of an open sale are on hold, or people are inside its waiting room",
        buyer: NOTHING,
        author: NOTHING,
        operator: "Close the event first, or wait until they are done.",
    }
}

pub fn rooms_in_use(least: u32) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "in_use",
        message: message(
            format!("It is in use: {least} rooms are confirmed or held on some night."),
            format!("확정되었거나 선점된 객실이 {least}개인 날이 있어 처리할 수 없습니다."),
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "more rooms are confirmed or held on some night",
        buyer: NOTHING,
        author: NOTHING,
        operator: "Not below `leastQuantity`; wait for holds to end or cancel stays.",
    }
}
