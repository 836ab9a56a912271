//! Dialect 1.1 (seed 001): `{"success":false,"reason":...,"message":...,"traceId":...}` plus facts.

use rules::outcome::Reserved;
use rules::seats::Hall;

use super::facts::facts;
use super::{Card, Dialect, Language, Refused};
use crate::http::wire::refusals::RefusalBody;
use crate::http::wire::{Failed, ReservedBody};
use crate::public_ids::PublicIds;

pub fn reserved(reserved: &Reserved, hall: &Hall, ids: &PublicIds) -> ReservedBody {
    ReservedBody::of(reserved, hall, ids)
}

pub fn refused<'a>(
    refused: &Refused,
    card: Card,
    language: Language,
    trace: &'a str,
    dialect: Dialect,
) -> RefusalBody<'a> {
    RefusalBody {
        success: Failed,
        reason: card.code,
        message: card.message.in_language(language),
        trace_id: trace,
        facts: facts(refused, card.retry, dialect),
    }
}
