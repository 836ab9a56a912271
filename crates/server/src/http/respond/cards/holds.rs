//! Holds on nights and seats.

use salvo::http::StatusCode;

use super::{Card, Message, NOTHING, Retry, Seeds, message};

pub fn not_found() -> Card {
    Card {
        status: StatusCode::NOT_FOUND,
        code: "hold_not_found",
        message: message("There is no such hold.", "해당 선점 내역을 찾을 수 없습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "there is no such hold, or another replaced it",
        buyer: "Choose again.",
        author: "Use the id of the newest hold; `GET /api/v1/holds` lists the live ones.",
        operator: NOTHING,
    }
}

pub fn expired() -> Card {
    Card {
        status: StatusCode::BAD_REQUEST,
        code: "hold_expired",
        message: message("The hold has expired.", "선점 시간이 만료되었습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the hold has expired",
        buyer: "Choose again; what was held is free.",
        author: "Count down with `secondsRemaining`; extend in time.",
        operator: "Raise `HOLD_TTL` if honest people do not make it.",
    }
}

pub fn held_lately(retry_after: u64) -> Card {
    Card {
        status: StatusCode::TOO_MANY_REQUESTS,
        code: "rate_limited",
        message: message(
            "You gave this back a moment ago; it can be held again shortly.",
            "방금 선점을 취소했거나 선점이 만료되었습니다. 잠시 후 다시 선점할 수 있습니다.",
        ),
        retry: Retry::After(retry_after),
        seeds: Seeds::Code,
        when: "the user gave these nights or seats back less than `HOLD_AGAIN_AFTER` ago",
        buyer: "Wait a moment, or choose something else.",
        author: "Wait for `Retry-After`.",
        operator: "Lower `HOLD_AGAIN_AFTER` if honest people meet it.",
    }
}

pub fn confirmed() -> Card {
    processed(message("The hold was confirmed already.", "이미 예약이 확정되었습니다."))
}

pub fn cancelled() -> Card {
    processed(message("The hold was cancelled already.", "이미 취소된 선점입니다."))
}

fn processed(message: Message) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "hold_already_processed",
        message,
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the hold was confirmed (then with its `reservation`) or cancelled",
        buyer: "Look at your reservations.",
        author: "With `reservation` treat it as success.",
        operator: NOTHING,
    }
}

pub fn key_conflict() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "hold_key_conflict",
        message: message(
            "This clientHoldKey belongs to another user's hold.",
            "다른 사용자의 선점에 사용된 clientHoldKey입니다.",
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the `clientHoldKey` belongs to another user's hold on the same nights or seats",
        buyer: "Try again.",
        author: "Make a new random UUID or ULID for every hold.",
        operator: NOTHING,
    }
}

pub fn not_available(on_nights: bool) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "not_available",
        message: if on_nights {
            message(
                "No room is free on some of these nights.",
                "선택하신 날짜 중에 예약 가능한 객실이 없는 날이 있습니다.",
            )
        } else {
            message("Some of these seats are not free.", "선택하신 좌석 중에 예약할 수 없는 좌석이 있습니다.")
        },
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "nothing free on the nights in `nights`, or of the seats in `seatIds`",
        buyer: "Choose other dates or seats.",
        author: "Show which; read the availability or the list again.",
        operator: NOTHING,
    }
}

pub fn lock_timeout() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "lock_timeout",
        message: message("Too many wanted it at once; ask again.", "요청이 한꺼번에 몰렸습니다. 다시 시도해 주세요."),
        retry: Retry::After(1),
        seeds: Seeds::Code,
        when: "a request about a hold timed out on the lock, after a second",
        buyer: "Try again.",
        author: "Ask again after `Retry-After`, with the same `clientHoldKey`.",
        operator: "Look at `commit_seconds`: the ledger is slow, or somebody holds its lock.",
    }
}
