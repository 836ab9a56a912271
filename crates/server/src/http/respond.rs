//! Outcome to status and body. `cards` says everything about a refusal; one file per dialect writes
//! it down.

mod cards;
pub mod cross_origin;
mod dialect;
mod facts;
pub mod gateway;
mod language;
mod prepared;
mod reply;
mod seed_004;
mod success;
mod v1_0;
mod v1_1;
mod v2025_08_17;

#[cfg(test)]
mod golden;

use std::net::IpAddr;
use std::sync::Arc;

use rules::ids::Number;
use rules::outcome::{Outcome, Refusal, Reserved, TokenProblem};
use rules::seats::Hall;
use salvo::http::header::{ALLOW, CONTENT_LANGUAGE, RETRY_AFTER, VARY, WWW_AUTHENTICATE};
use salvo::http::{HeaderValue, StatusCode};

pub use self::cards::{Card, Message, Retry, Seeds, card};
pub use self::dialect::{Dialect, Speech};
pub use self::language::Language;
pub use self::prepared::{PreparedRefusals, Unparsed, unparsed};
pub use self::reply::Reply;
pub use self::success::Success;
use crate::lane::Served;
use crate::path::Ended;
use crate::public_ids::PublicIds;

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
    /// How the buyer knows the reservations that the refusal is about; none: it is about none.
    pub ids: Option<Arc<PublicIds>>,
    /// Seconds after which to come again, where they are not those of the card.
    pub retry_after: Option<u64>,
    /// The address from which a wrong token came.
    pub guessed_from: Option<IpAddr>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused { refusal, hall: None, number: None, caller: None, ids: None, retry_after: None, guessed_from: None }
    }
}

impl Refused {
    /// A refusal at the end of the path of a request.
    pub fn at_the_end<S: Served>(refusal: Refusal, ended: &Ended<S>) -> Refused {
        Refused { hall: S::hall(&ended.lane), number: ended.number, ..refusal.into() }
    }

    pub fn to(self, caller: Caller) -> Refused {
        Refused { caller: Some(caller), ..self }
    }
}

/// The code of a refusal: one word, the same in answers, metrics and documents.
pub fn code(refusal: &Refusal) -> &'static str {
    card(refusal).code
}

/// The same for any outcome.
pub fn outcome_code(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done(done) => done.code(),
        Outcome::Refused(refusal) => code(refusal),
    }
}

/// The status of a refusal in dialect 1.1 as a number, for documents.
pub fn number(refusal: &Refusal) -> u16 {
    card(refusal).status.as_u16()
}

/// A seat was given.
pub fn reserved(reserved: &Reserved, hall: &Hall, caller: &Caller, dialect: Dialect, ids: &PublicIds) -> Reply {
    match dialect {
        Dialect::V1_1 | Dialect::Seed004 => Reply::ok(&v1_1::reserved(reserved, hall, ids)),
        Dialect::V1_0 => Reply::ok(&v1_0::reserved(reserved)),
        Dialect::V2025_08_17 => Reply::ok(&v2025_08_17::reserved(reserved, caller)),
    }
}

/// The language is that of 1.1 and of the fifth specification; the other dialects of the seeds have the words of their seeds.
pub fn refused(refused: &Refused, dialect: Dialect, language: Language, trace: &str) -> Reply {
    let refusal = &refused.refusal;
    let mut card = card(refusal);
    if let Some(seconds) = refused.retry_after {
        card.retry = Retry::After(seconds);
    }
    if dialect != Dialect::V1_1 {
        card.code = seed_004::code(refusal).unwrap_or(card.code);
    }
    let (status, retry) = (card.status, card.retry);
    let mut reply = match dialect {
        Dialect::V1_1 | Dialect::Seed004 => {
            let body = v1_1::refused(refused, card, language, trace, dialect);
            in_language(Reply::json(status, &body), language)
        }
        Dialect::V1_0 => v1_0::refused(refused, &card),
        Dialect::V2025_08_17 => v2025_08_17::refused(refused, card, trace),
    };
    if let Some(seconds) = retry.seconds() {
        reply = reply.with(RETRY_AFTER, seconds.into());
    }
    if let Refusal::WrongMethod { allow } = refusal {
        reply = reply.with(ALLOW, HeaderValue::from_static(allow));
    }
    if status == StatusCode::UNAUTHORIZED {
        reply = reply.with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge(refusal)));
    }
    reply.ended(dialect)
}

/// As RFC 6750 words it. Without a token there is nothing to say about it.
fn challenge(refusal: &Refusal) -> &'static str {
    let Refusal::BadToken(problem) = refusal else { return "Bearer" };
    match problem {
        TokenProblem::Malformed => r#"Bearer error="invalid_token", error_description="malformed""#,
        TokenProblem::Signature => r#"Bearer error="invalid_token", error_description="signature""#,
        TokenProblem::Expired => r#"Bearer error="invalid_token", error_description="expired""#,
        TokenProblem::NotYetValid => r#"Bearer error="invalid_token", error_description="not yet valid""#,
        TokenProblem::Issuer => r#"Bearer error="invalid_token", error_description="iss""#,
        TokenProblem::Audience => r#"Bearer error="invalid_token", error_description="aud""#,
        TokenProblem::Subject => r#"Bearer error="invalid_token", error_description="sub""#,
    }
}

/// Of our refusals, caches keep these two although nothing says that they may.
fn kept_by_caches(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}

fn in_language(reply: Reply, language: Language) -> Reply {
    let reply = reply.with(CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
    if kept_by_caches(reply.status()) { reply.with(VARY, HeaderValue::from_static("Accept-Language")) } else { reply }
}
