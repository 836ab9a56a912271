//! The form of the request.

use rules::outcome::FieldError;
use salvo::http::StatusCode;

use super::fields::field_message;
use super::{Card, NOTHING, Retry, Seeds, message};

pub fn no_such_path() -> Card {
    Card {
        status: StatusCode::NOT_FOUND,
        code: "not_found",
        message: message("There is nothing at this path.", "요청하신 경로를 찾을 수 없습니다."),
        retry: Retry::No,
        seeds: Seeds::Code,
        when: "no such path",
        buyer: NOTHING,
        author: "Correct the path; `/docs` lists them.",
        operator: NOTHING,
    }
}

pub fn wrong_method(allow: &str) -> Card {
    Card {
        status: StatusCode::METHOD_NOT_ALLOWED,
        code: "validation",
        message: message(
            format!("This path answers to {allow}."),
            format!("이 경로에서는 {allow} 메서드만 사용할 수 있습니다."),
        ),
        retry: Retry::Corrected,
        seeds: Seeds::Code,
        when: "wrong method",
        buyer: NOTHING,
        author: "Use a method that the `Allow` header names.",
        operator: NOTHING,
    }
}

pub fn too_large(limit_bytes: usize) -> Card {
    Card {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        code: "validation",
        message: message(
            format!("The body is larger than {limit_bytes} bytes."),
            format!("요청 본문은 {limit_bytes}바이트를 넘을 수 없습니다."),
        ),
        retry: Retry::Corrected,
        seeds: Seeds::Code,
        when: "body too large",
        buyer: NOTHING,
        author: "Send less.",
        operator: NOTHING,
    }
}

pub fn not_json_type() -> Card {
    Card {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        code: "validation",
        message: message("Content-Type must be application/json.", "Content-Type은 application/json이어야 합니다."),
        retry: Retry::Corrected,
        seeds: Seeds::Code,
        when: "`Content-Type` is not JSON",
        buyer: NOTHING,
        author: "Send `Content-Type: application/json`.",
        operator: NOTHING,
    }
}

pub fn too_slow() -> Card {
    Card {
        status: StatusCode::REQUEST_TIMEOUT,
        code: "validation",
        message: message(
            "The body did not arrive in time.",
            "요청 본문이 제시간에 도착하지 않았습니다. 다시 시도해 주세요.",
        ),
        retry: Retry::After(1),
        seeds: Seeds::Code,
        when: "the body did not arrive in time",
        buyer: "Try again on a better connection.",
        author: "Send the body at once; repeat with the same `Idempotency-Key`.",
        operator: "Many of these: somebody keeps connections open on purpose.",
    }
}

pub fn invalid(error: &FieldError) -> Card {
    Card {
        status: StatusCode::BAD_REQUEST,
        code: "validation",
        message: field_message(error),
        retry: Retry::Corrected,
        seeds: Seeds::BadRequest,
        when: "a field, header or parameter is wrong",
        buyer: "Correct what you typed.",
        author: "Show `message` beside the input that `field` names.",
        operator: NOTHING,
    }
}

pub fn key_mismatch() -> Card {
    Card {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        code: "idempotency_mismatch",
        message: message(
            "This Idempotency-Key was used for another request.",
            "이미 다른 요청에 사용된 Idempotency-Key입니다.",
        ),
        retry: Retry::Corrected,
        seeds: Seeds::Code,
        when: "the `Idempotency-Key` was used for another request",
        buyer: NOTHING,
        author: "Make a new key for every new request.",
        operator: NOTHING,
    }
}
