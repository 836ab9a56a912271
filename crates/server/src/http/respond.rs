//! Outcome to status and body. One table of statuses, one file per dialect.

pub mod advice;
mod dialect;
pub mod gateway;
mod reply;
mod status;
mod v1_0;
mod v1_1;
mod v2025_08_17;
mod words;

#[cfg(test)]
mod golden;

use std::sync::Arc;

use rules::ids::Number;
use rules::outcome::{Again, Refusal, Reserved};
use rules::seats::Hall;
use salvo::http::HeaderValue;
use salvo::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};

pub use self::dialect::{Dialect, Speech};
pub use self::reply::Reply;
pub use self::status::{Success, number};
pub use self::words::message;
use crate::reserve::Told;

/// Who a reservation is asked for, in the words of the oldest dialect; nobody is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller(pub Option<Box<str>>);

/// A refusal with what is needed to tell it.
#[derive(Debug)]
pub struct Refused {
    pub refusal: Refusal,
    pub hall: Option<Arc<Hall>>,
    pub number: Option<Number>,
    /// Present: a reservation was asked for. The old dialects answer some refusals of these with 200.
    pub caller: Option<Caller>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused { refusal, hall: None, number: None, caller: None }
    }
}

impl Refused {
    /// A refusal that was told by the path of a request.
    pub fn told(refusal: Refusal, told: &Told) -> Refused {
        Refused { refusal, hall: Some(told.hall.clone()), number: told.number, caller: None }
    }

    pub fn to(self, caller: Caller) -> Refused {
        Refused { caller: Some(caller), ..self }
    }
}

/// A seat was given.
pub fn reserved(reserved: &Reserved, hall: &Hall, caller: &Caller, dialect: Dialect) -> Reply {
    match dialect {
        Dialect::V1_1 => Reply::ok(&v1_1::reserved(reserved, hall)),
        Dialect::V1_0 => Reply::ok(&v1_0::reserved(reserved)),
        Dialect::V2025_08_17 => Reply::ok(&v2025_08_17::reserved(reserved, caller)),
    }
}

pub fn refused(refused: &Refused, dialect: Dialect, trace: &str) -> Reply {
    let refusal = &refused.refusal;
    if matches!(refusal, Refusal::Internal) {
        tracing::error!(trace, "answered internal_error");
    }
    let (status, body) = match dialect {
        Dialect::V1_1 => (status::status(refusal), v1_1::refused(refused, trace)),
        Dialect::V1_0 => v1_0::refused(refused),
        Dialect::V2025_08_17 => v2025_08_17::refused(refused, trace),
    };
    let mut reply = Reply::json(status, &body);
    if let Again::After(seconds) = refusal.again() {
        reply = reply.with(RETRY_AFTER, seconds.max(1).into());
    }
    match refusal {
        Refusal::WrongMethod { allow } => reply.with(ALLOW, HeaderValue::from_static(allow)),
        Refusal::Unauthorized => reply.with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        _ => reply,
    }
}
