//! Bodies of paths that speak every dialect. `Api-Version` chooses; the document names all of them.

use schemars::JsonSchema;

use super::answers::{SeatAnswer, SeatsAnswer};
use super::asked::{Buyer10, Buyer20250817, BuyerBody};
use super::refusals::RefusalBody;
use super::seeds::{Envelope, Four, Refusal10, Reserved10};
use super::{BareSeatBody, ReservedBody};

/// What a dialect does not know it ignores.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum BuyerInAnyDialect {
    V1_1(BuyerBody),
    V1_0(Buyer10),
    V2025_08_17(Buyer20250817),
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum SeatInAnyDialect {
    V1_1(SeatAnswer),
    V1_0(BareSeatBody),
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum SeatsInAnyDialect {
    V1_1(SeatsAnswer),
    V1_0(Seats10),
}

#[derive(JsonSchema)]
pub struct Seats10(pub Vec<BareSeatBody>);

/// The dialects of the seeds answer some refusals with 200.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum ReservedInAnyDialect {
    V1_1(ReservedBody),
    V1_0(Reserved10),
    Refused1_0(Refusal10),
    V2025_08_17(Four<'static>),
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum RefusalInAnyDialect {
    V1_1(RefusalBody<'static>),
    V1_0(Refusal10),
    V2025_08_17(Envelope<'static>),
}
