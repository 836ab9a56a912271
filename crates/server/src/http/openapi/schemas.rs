//! The schemas of bodies, derived from the types in `http/wire`. The fuzzer of the suite checks every
//! answer against them.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::http::wire::answers::{
    AdminReservationsAnswer, ConfirmedAnswer, EventAnswer, EventsAnswer, HoldAnswer, HoldsAnswer, LayoutAnswer,
    ReservationAnswer, ReservationsAnswer, RoomTypeAnswer, RoomTypesAnswer, SuccessBody,
};
use crate::http::wire::asked::{EventAmendmentBody, NewEventBody, NewHoldBody, NewRoomTypeBody, RoomTypeAmendmentBody};
use crate::http::wire::dialects::{
    BuyerInAnyDialect, RefusalInAnyDialect, ReservedInAnyDialect, SeatInAnyDialect, SeatsInAnyDialect,
};
use crate::http::wire::line::{EnteredBody, ServingBody, StandingBody, TicketKeyBody};
use crate::http::wire::records::{AuditAnswer, HistoryAnswer};
use crate::http::wire::refusals::RefusalBody;
use crate::http::wire::stays::AvailabilityBody;

/// Every schema by its name.
pub fn all() -> Value {
    let mut all = asked();
    all.extend(answered());
    Value::Object(all)
}

/// Bodies of requests. Null and absent are the same where a field is an `Option`.
fn asked() -> Map<String, Value> {
    let mut generator = generator(SchemaSettings::draft2020_12().for_deserialize());
    name::<BuyerInAnyDialect>(&mut generator);
    name::<NewEventBody>(&mut generator);
    name::<EventAmendmentBody>(&mut generator);
    name::<NewHoldBody>(&mut generator);
    name::<NewRoomTypeBody>(&mut generator);
    name::<RoomTypeAmendmentBody>(&mut generator);
    generator.take_definitions(true)
}

/// Bodies of answers. Whatever is not left out is there, perhaps as null.
fn answered() -> Map<String, Value> {
    let mut generator = generator(SchemaSettings::draft2020_12().for_serialize());
    name::<SuccessBody>(&mut generator);
    name::<EventAnswer>(&mut generator);
    name::<EventsAnswer>(&mut generator);
    name::<LayoutAnswer>(&mut generator);
    name::<SeatInAnyDialect>(&mut generator);
    name::<SeatsInAnyDialect>(&mut generator);
    name::<ReservedInAnyDialect>(&mut generator);
    name::<ReservationAnswer>(&mut generator);
    name::<ReservationsAnswer>(&mut generator);
    name::<AdminReservationsAnswer>(&mut generator);
    name::<HistoryAnswer>(&mut generator);
    name::<AuditAnswer>(&mut generator);
    name::<RoomTypeAnswer>(&mut generator);
    name::<RoomTypesAnswer>(&mut generator);
    name::<AvailabilityBody>(&mut generator);
    name::<HoldAnswer>(&mut generator);
    name::<HoldsAnswer>(&mut generator);
    name::<ConfirmedAnswer>(&mut generator);
    name::<StandingBody>(&mut generator);
    name::<EnteredBody>(&mut generator);
    name::<ServingBody>(&mut generator);
    name::<TicketKeyBody>(&mut generator);
    name::<RefusalBody<'static>>(&mut generator);
    name::<RefusalInAnyDialect>(&mut generator);
    generator.take_definitions(true)
}

fn generator(mut settings: SchemaSettings) -> SchemaGenerator {
    settings.definitions_path = "/components/schemas".into();
    settings.transforms.push(Box::new(RecursiveTransform(without_widths)));
    settings.into_generator()
}

/// Adds the type and all that it refers to.
fn name<T: JsonSchema>(generator: &mut SchemaGenerator) {
    let _ = generator.subschema_for::<T>();
}

/// `uint32` and the like are Rust's; the bounds say what matters.
fn without_widths(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !matches!(format, "date" | "date-time")) {
        schema.remove("format");
    }
}

/// What to try first; also the way by which the fuzzer reaches a sale.
pub fn example(schema: &str) -> Option<Value> {
    match schema {
        "BuyerInAnyDialect" => Some(json!({ "userName": "Alice", "phone": "010-1234-5678" })),
        "NewEvent" => {
            let rows = json!([{ "name": "A", "seats": 20 }, { "name": "B", "seats": 24 }]);
            Some(json!({ "name": "Gala", "seats": { "sections": [{ "name": "1층", "rows": rows }] } }))
        }
        "Amendment" => Some(json!({ "maxPerUser": 4 })),
        "NewHold" => Some(json!({
            "roomTypeId": 1, "checkIn": "2026-12-24", "checkOut": "2026-12-26",
            "clientHoldKey": "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11",
        })),
        "NewRoomType" => Some(json!({
            "name": "Double", "totalQuantity": 5, "timeZone": "Asia/Seoul", "description": "Two beds", "price": 129000,
        })),
        "RoomTypeAmendment" => Some(json!({ "totalQuantity": 6 })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_and_answer_schemas_have_names_of_their_own() {
        let answered = answered();
        assert_eq!(asked().keys().find(|name| answered.contains_key(*name)), None);
    }
}
