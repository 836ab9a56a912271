//! Who asks, whether they may, and whether the thing exists.

use salvo::http::StatusCode;

use super::{Card, NOTHING, Retry, Seeds, message};

pub fn missing_user() -> Card {
    Card {
        status: StatusCode::BAD_REQUEST,
        code: "missing_user",
        message: message(
            "The request does not say which user is asking.",
            "요청한 사용자를 확인할 수 없습니다. 로그인해 주세요.",
        ),
        retry: Retry::Corrected,
        seeds: Seeds::BadRequest,
        when: "the request names no user",
        buyer: "Sign in.",
        author: "Send the user header.",
        operator: "Check that the proxy that authenticates sets `FCFS_USER_HEADER`.",
    }
}

pub fn unauthorized() -> Card {
    Card {
        status: StatusCode::UNAUTHORIZED,
        code: "unauthorized",
        message: message(
            "The request does not show who is allowed to make it.",
            "인증이 필요합니다. 다시 로그인해 주세요.",
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "a token is missing or not valid",
        buyer: "Sign in again.",
        author: "Send a valid token.",
        operator: "Check `ADMIN_TOKEN`, `GATEWAY_KEY` and where requests come from.",
    }
}

pub fn expired_token() -> Card {
    Card {
        status: StatusCode::UNAUTHORIZED,
        code: "unauthorized",
        message: message("Your sign-in has expired.", "로그인이 만료되었습니다. 다시 로그인해 주세요."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "`AUTH_MODE=jwt`: the token has expired",
        buyer: "Sign in again.",
        author: "Get a new token and send the request again, with the same `Idempotency-Key`.",
        operator: "Many of these with fresh tokens: compare the clocks; `JWT_LEEWAY` allows for a difference.",
    }
}

pub fn bad_token() -> Card {
    Card {
        status: StatusCode::UNAUTHORIZED,
        code: "unauthorized",
        message: message("Your sign-in is not valid here.", "로그인 정보가 올바르지 않습니다. 다시 로그인해 주세요."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "`AUTH_MODE=jwt`: the token does not verify",
        buyer: "Sign in again.",
        author: "`WWW-Authenticate` says what is wrong with the token.",
        operator: "Compare the issuer's keys, `iss` and `aud` with the `JWT_` settings.",
    }
}

pub fn not_the_tokens() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "forbidden",
        message: message(
            "The request names another user than its token.",
            "요청한 사용자와 로그인한 사용자가 다릅니다.",
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "`AUTH_MODE=jwt`: the user header differs from the token's `sub`",
        buyer: "Sign in again.",
        author: "Leave the user header out: the token says who asks.",
        operator: NOTHING,
    }
}

pub fn wrong_role() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "forbidden",
        message: message("The role of this token does not allow it.", "이 토큰의 역할로는 할 수 없는 작업입니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the admin token is valid, but its role does not allow the operation",
        buyer: NOTHING,
        author: "Use a token with the role that the operation needs: `viewer` reads, `service` confirms holds, `admin` does all.",
        operator: "`tickettock token list` shows names and roles.",
    }
}

pub fn anothers() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "forbidden",
        message: message("This belongs to another user.", "다른 사용자의 정보에는 접근할 수 없습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "it belongs to another user",
        buyer: "Look at your own reservations.",
        author: "Do not repeat it.",
        operator: NOTHING,
    }
}

pub fn anothers_hold() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "forbidden",
        message: message("This hold belongs to another user.", "다른 사용자의 선점 내역에는 접근할 수 없습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the hold belongs to another user",
        buyer: "Look at your own holds.",
        author: "Do not repeat it.",
        operator: NOTHING,
    }
}

pub fn bad_ticket() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "forbidden",
        message: message("This is no ticket of this event.", "이 행사에서 사용할 수 없는 대기표입니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "`X-Queue-Ticket` does not verify",
        buyer: "Join the line again.",
        author: "Send the ticket as it was given, with the user and event it was given for.",
        operator: "Many of these: somebody guesses tickets, or the ledger was restored from before its newest key.",
    }
}

pub fn unknown_proxy() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "forbidden",
        message: message(
            "The request came through a proxy that this server was not told about (GATEWAY_KEY).",
            "서버에 등록되지 않은 프록시를 거친 요청입니다. GATEWAY_KEY를 확인해 주세요.",
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "the request came through a proxy that the server was not told about",
        buyer: NOTHING,
        author: "Do not send `Via`, `Forwarded`, `X-Forwarded-*`, `X-Real-IP` or `CF-Connecting-IP` yourself.",
        operator: "Set `GATEWAY_KEY` here and at the proxy.",
    }
}

pub fn unknown_host() -> Card {
    Card {
        status: StatusCode::FORBIDDEN,
        code: "forbidden",
        message: message(
            "This server is for its own machine only; ask it as localhost.",
            "이 서버는 같은 컴퓨터에서만 사용할 수 있습니다. localhost로 접속해 주세요.",
        ),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "without `GATEWAY_KEY`, the request names another `Host` than this machine: a proxy, or a web page that \
               makes a browser ask (DNS rebinding)",
        buyer: NOTHING,
        author: "Ask as `localhost`, `127.0.0.1` or `[::1]`.",
        operator: "Put the gateway in front, or set `ALLOW_TRUSTED_HEADER=1` behind a proxy that authenticates.",
    }
}

pub fn not_found() -> Card {
    Card {
        status: StatusCode::NOT_FOUND,
        code: "not_found",
        message: message("It does not exist.", "요청하신 항목을 찾을 수 없습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "it does not exist",
        buyer: "Go back to the list.",
        author: "Do not repeat it.",
        operator: NOTHING,
    }
}
