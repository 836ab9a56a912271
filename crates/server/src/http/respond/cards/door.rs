//! Who may come in: rates, repeated requests, the waiting room.

use salvo::http::StatusCode;

use super::{Card, NOTHING, Retry, Seeds, message};

pub fn not_queued() -> Card {
    Card {
        status: StatusCode::NOT_FOUND,
        code: "not_queued",
        message: message("This user is not in the line.", "대기열에 등록되어 있지 않습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the user is not in the line",
        buyer: "Join the line.",
        author: "`POST .../queue` first.",
        operator: NOTHING,
    }
}

pub fn no_waiting_room() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "no_waiting_room",
        message: message("This event has no waiting room.", "이 행사에는 대기열이 없습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the event has no waiting room",
        buyer: "Reserve directly.",
        author: "Skip the queue calls.",
        operator: NOTHING,
    }
}

pub fn rate_limited(retry_after: u64) -> Card {
    Card {
        status: StatusCode::TOO_MANY_REQUESTS,
        code: "rate_limited",
        message: message("Too many requests; ask again shortly.", "요청이 너무 많습니다. 잠시 후 다시 시도해 주세요."),
        retry: Retry::After(retry_after),
        seeds: Seeds::Code,
        when: "too many requests",
        buyer: "Wait a moment.",
        author: "Wait for `Retry-After`, plus some jitter.",
        operator: "Raise `USER_RATE` or `ADDRESS_RATE`, and the rates of the gateway, if honest users meet it.",
    }
}

pub fn address_spent(retry_after: u64) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "duplicate",
        message: message(
            "Too many requests from this address; ask again shortly.",
            "같은 주소에서 보낸 요청이 너무 많습니다. 잠시 후 다시 시도해 주세요.",
        ),
        retry: Retry::After(retry_after),
        seeds: Seeds::DuplicateRequest,
        when: "the budget of the address is spent (`scope` is `ip`)",
        buyer: "Wait a few seconds.",
        author: "Wait for `Retry-After`.",
        operator: "Raise `FCFS_IP_LIMIT` if many people share an address.",
    }
}

pub fn already_asking(retry_after: u64) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "duplicate",
        message: message(
            "An earlier request of this user is still running.",
            "이전 요청을 처리하고 있습니다. 잠시만 기다려 주세요.",
        ),
        retry: Retry::After(retry_after),
        seeds: Seeds::DuplicateRequest,
        when: "a request of the same user is in flight (`scope` is `user`)",
        buyer: "One click is enough: wait for the first answer.",
        author: "Disable the button while waiting; use an `Idempotency-Key` to repeat safely.",
        operator: NOTHING,
    }
}

pub fn queue_full(retry_after: u64) -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "queue_full",
        message: message(
            "The line is full; try to join again shortly.",
            "대기열이 가득 찼습니다. 잠시 후 다시 시도해 주세요.",
        ),
        retry: Retry::After(retry_after),
        seeds: Seeds::Code,
        when: "the line has as many users as `queueMost` allows",
        buyer: "Try to join again later.",
        author: "Join again after `Retry-After`, plus some jitter. Whoever has a ticket keeps their place.",
        operator: "Raise `queueMost` of the event if these are buyers; look for invented users if they are not.",
    }
}

pub fn entry_required() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "entry_required",
        message: message(
            "This event has a waiting room: enter it first.",
            "대기열이 있는 행사입니다. 먼저 대기열을 거쳐 입장해 주세요.",
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the event has a waiting room and there is no live entry",
        buyer: "Take your place in the line.",
        author: "Join, wait until `ready`, enter, send `X-Entry-Token`.",
        operator: NOTHING,
    }
}

pub fn not_ready(retry_after: u64) -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "not_ready",
        message: message("It is not this user's turn yet.", "아직 입장할 차례가 아닙니다."),
        retry: Retry::After(retry_after),
        seeds: Seeds::Code,
        when: "it is not this user's turn",
        buyer: "Keep the page open.",
        author: "Poll as `pollAfter` says.",
        operator: NOTHING,
    }
}
