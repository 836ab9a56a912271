//! What is the matter with us: locks, load, and parts that cannot be reached. A buyer reads that it is
//! ours and passes; which part it is stands in the advice to the operator.

use salvo::http::StatusCode;

use super::{Card, Message, Retry, Seeds, message};

pub fn contention() -> Card {
    Card {
        status: StatusCode::CONFLICT,
        code: "contention",
        message: message("Too many wanted it at once; ask again.", "요청이 한꺼번에 몰렸습니다. 다시 시도해 주세요."),
        retry: Retry::After(1),
        seeds: Seeds::NoSeat,
        when: "the request timed out on the lock",
        buyer: "Try again.",
        author: "Ask again after `Retry-After`.",
        operator: "Look at `commit_seconds`: the ledger is slow, or somebody holds its lock.",
    }
}

pub fn overloaded() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "service_unavailable",
        message: message(
            "Too many requests are waiting; ask again shortly.",
            "접속이 많아 요청을 처리하지 못했습니다. 잠시 후 다시 시도해 주세요.",
        ),
        retry: Retry::After(1),
        seeds: Seeds::Code,
        when: "too many requests wait; nothing was done",
        buyer: "Try again in a moment.",
        author: "Wait for `Retry-After`, plus some jitter.",
        operator: "Add servers or a waiting room; a larger `QUEUE_DEPTH` only lets more requests wait.",
    }
}

fn unavailable() -> Message {
    message(
        "Reservations are unavailable for a moment; please try again.",
        "지금은 예약을 처리할 수 없습니다. 잠시 후 다시 시도해 주세요.",
    )
}

pub fn ledger_unreachable() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "service_unavailable",
        message: unavailable(),
        retry: Retry::After(1),
        seeds: Seeds::CodeWith("The ledger cannot be reached; ask again shortly."),
        when: "the ledger cannot be reached",
        buyer: "Try again in a moment; look at your reservations first.",
        author: "Repeat with the same `Idempotency-Key`: the outcome may be unknown.",
        operator: "See `/readyz` and the log.",
    }
}

pub fn door_unreachable() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "service_unavailable",
        message: unavailable(),
        retry: Retry::After(1),
        seeds: Seeds::CodeWith("The door cannot be reached; ask again shortly."),
        when: "the door cannot be reached",
        buyer: "Try again in a moment.",
        author: "Ask again after `Retry-After`.",
        operator: "See `/readyz`: Redis is down, or its settings do not fit.",
    }
}

pub fn keys_unreachable() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "service_unavailable",
        message: unavailable(),
        retry: Retry::After(5),
        seeds: Seeds::CodeWith("Tokens cannot be verified yet; ask again shortly."),
        when: "`AUTH_MODE=jwt`: the keys at `JWT_JWKS_URL` were never fetched",
        buyer: "Try again in a moment.",
        author: "Ask again after `Retry-After`.",
        operator: "See `/readyz` and the log: can this machine reach `JWT_JWKS_URL`?",
    }
}

pub fn server_unreachable() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "service_unavailable",
        message: unavailable(),
        retry: Retry::After(1),
        seeds: Seeds::CodeWith("No server can be reached; ask again shortly."),
        when: "the gateway reaches no server",
        buyer: "Try again in a moment; look at your reservations first.",
        author: "Repeat with the same `Idempotency-Key`: the outcome may be unknown.",
        operator: "See whether the servers run, and `GATEWAY_UPSTREAMS`.",
    }
}

pub fn auth_modes_differ() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "service_unavailable",
        message: unavailable(),
        retry: Retry::After(1),
        seeds: Seeds::CodeWith("The gateway and its servers are set up differently; ask again shortly."),
        when: "the gateway and all of its servers have different `AUTH_MODE`s",
        buyer: "Try again later.",
        author: "Try again later; nothing was done.",
        operator: "Give the gateway and its servers the same `AUTH_MODE`. The gateway's error log names both.",
    }
}

pub fn door_failed() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "redis_error",
        message: unavailable(),
        retry: Retry::After(1),
        seeds: Seeds::CodeWith("The door could not answer; ask again shortly."),
        when: "a script of the door failed",
        buyer: "Try again in a moment.",
        author: "Ask again after `Retry-After`.",
        operator: "See the log: Redis is full or busy.",
    }
}

pub fn no_number() -> Card {
    Card {
        status: StatusCode::SERVICE_UNAVAILABLE,
        code: "sequence_unavailable",
        message: unavailable(),
        retry: Retry::After(1),
        seeds: Seeds::CodeWith("No arrival number could be given; ask again shortly."),
        when: "the door could give no arrival number",
        buyer: "Try again in a moment.",
        author: "Ask again after `Retry-After`.",
        operator: "See the log: the door is starting a new generation of arrival numbers.",
    }
}

pub fn internal() -> Card {
    Card {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        code: "internal_error",
        message: message("Something broke on our side.", "서버에 문제가 발생했습니다."),
        retry: Retry::No,
        seeds: Seeds::InternalError,
        when: "something broke on our side",
        buyer: "Tell the support the `traceId`.",
        author: "Report it with the `traceId`; repeat only with an `Idempotency-Key`.",
        operator: "Search the log for the `traceId`.",
    }
}
