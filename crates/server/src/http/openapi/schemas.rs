//! The schemas of bodies, derived from the types in `http/wire`. The fuzzer of the suite checks every
//! answer against them.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::http::respond::Dialect;
use crate::http::wire::answers::{
    AdminEventAnswer, AdminEventsAnswer, AdminReservationsAnswer, AdminStaysAnswer, ConfirmedAnswer, EventAnswer,
    EventsAnswer, HoldAnswer, HoldsAnswer, LayoutAnswer, ReservationAnswer, ReservationsAnswer, RoomTypeAnswer,
    RoomTypesAnswer, SeatAnswer, SeatsAnswer, SeedHoldAnswer, SeedHoldsAnswer, SuccessBody,
};
use crate::http::wire::asked::{
    Buyer10, Buyer20250817, BuyerBody, EventAmendmentBody, NewEventBody, NewHoldBody, NewRoomTypeBody,
    RoomTypeAmendmentBody,
};
use crate::http::wire::line::{EnteredBody, ServingBody, StandingBody, TicketKeyBody};
use crate::http::wire::live::{EventStreamMessage, RoomTypeStreamMessage, StreamTicketBody};
use crate::http::wire::orders::{CancellationBody, ConfirmationBody};
use crate::http::wire::records::{AuditAnswer, ErasedAnswer, HistoryAnswer, HistoryHeadAnswer};
use crate::http::wire::refusals::RefusalBody;
use crate::http::wire::seeds::{Envelope, Four, Refusal10, Reserved10};
use crate::http::wire::stays::{AvailabilityBody, CalendarBody};
use crate::http::wire::tokens::{AdminTokensAnswer, NewAdminTokenAnswer, NewAdminTokenBody, TokenRotationBody};
use crate::http::wire::users::AdminUserAnswer;
use crate::http::wire::webhooks::{
    NewWebhookBody, WebhookAmendmentBody, WebhookAnswer, WebhookDeliveriesAnswer, WebhookReplayBody,
    WebhookRotationBody, WebhookSecretAnswer, WebhookTestAnswer, WebhooksAnswer,
};
use crate::http::wire::{BareSeatBody, ReservedBody};

/// A schema by the name that it has in the route table. Paths that speak several dialects have one in each.
pub fn in_dialect(name: &str, dialect: Dialect) -> Value {
    let refer = |name: &str| json!({ "$ref": format!("{PLACE}{name}") });
    let any = |names: &[&str]| json!({ "anyOf": names.iter().map(|name| refer(name)).collect::<Vec<_>>() });
    match (name, dialect) {
        ("Buyer", Dialect::V1_0) => refer("Buyer10"),
        ("Buyer", Dialect::V2025_08_17) => refer("Buyer20250817"),
        ("Refusal", Dialect::V1_0) => refer("Refusal10"),
        ("Refusal", Dialect::V2025_08_17) => refer("Refusal20250817"),
        ("Reserved", Dialect::V1_0) => any(&["Reserved10", "Refusal10"]),
        ("Reserved", Dialect::V2025_08_17) => refer("Reserved20250817"),
        ("SeatAnswer", Dialect::V1_0) => refer("Seat10"),
        ("SeatsAnswer", Dialect::V1_0) => json!({ "type": "array", "items": refer("Seat10") }),
        (name, _) => refer(name),
    }
}

const PLACE: &str = "#/components/schemas/";

/// The schemas that `described` refers to, and those that these refer to.
pub fn named_in(described: &Value) -> Value {
    let mut all = asked();
    all.extend(answered());
    let (mut found, mut open) = (Map::new(), Vec::new());
    references(described, &mut open);
    while let Some(name) = open.pop() {
        if let Some((name, schema)) = all.remove_entry(&name) {
            references(&schema, &mut open);
            found.insert(name, schema);
        }
    }
    found.sort_keys();
    Value::Object(found)
}

/// The dialects of the seeds know neither metadata nor currencies, and reservations without their arrival number.
pub fn without_orders(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(fields)) = map.get_mut("properties") {
                let listed = fields.contains_key("reservationId") && fields.contains_key("createdAt");
                fields.retain(|name, _| match name.as_str() {
                    "metadata" | "currency" => false,
                    "sequence" => !listed,
                    _ => true,
                });
            }
            map.values_mut().for_each(without_orders);
        }
        Value::Array(list) => list.iter_mut().for_each(without_orders),
        _ => {}
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(|name| Some(name.as_str()?.strip_prefix(PLACE)?.to_owned())));
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Bodies of requests. Null and absent are the same where a field is an `Option`.
fn asked() -> Map<String, Value> {
    let mut generator = generator(SchemaSettings::draft2020_12().for_deserialize());
    name::<BuyerBody>(&mut generator);
    name::<Buyer10>(&mut generator);
    name::<Buyer20250817>(&mut generator);
    name::<NewEventBody>(&mut generator);
    name::<EventAmendmentBody>(&mut generator);
    name::<NewHoldBody>(&mut generator);
    name::<NewRoomTypeBody>(&mut generator);
    name::<RoomTypeAmendmentBody>(&mut generator);
    name::<NewAdminTokenBody>(&mut generator);
    name::<TokenRotationBody>(&mut generator);
    name::<NewWebhookBody>(&mut generator);
    name::<WebhookAmendmentBody>(&mut generator);
    name::<WebhookRotationBody>(&mut generator);
    name::<WebhookReplayBody>(&mut generator);
    name::<CancellationBody>(&mut generator);
    name::<ConfirmationBody>(&mut generator);
    generator.take_definitions(true)
}

/// Bodies of answers. Whatever is not left out is there, perhaps as null.
fn answered() -> Map<String, Value> {
    let mut generator = generator(SchemaSettings::draft2020_12().for_serialize());
    name::<SuccessBody>(&mut generator);
    name::<EventAnswer>(&mut generator);
    name::<EventsAnswer>(&mut generator);
    name::<LayoutAnswer>(&mut generator);
    name::<AdminEventAnswer>(&mut generator);
    name::<AdminEventsAnswer>(&mut generator);
    name::<SeatAnswer>(&mut generator);
    name::<SeatsAnswer>(&mut generator);
    name::<BareSeatBody>(&mut generator);
    name::<ReservedBody>(&mut generator);
    name::<Reserved10>(&mut generator);
    name::<Four<'static>>(&mut generator);
    name::<ReservationAnswer>(&mut generator);
    name::<ReservationsAnswer>(&mut generator);
    name::<AdminReservationsAnswer>(&mut generator);
    name::<AdminStaysAnswer>(&mut generator);
    name::<HistoryAnswer>(&mut generator);
    name::<HistoryHeadAnswer>(&mut generator);
    name::<ErasedAnswer>(&mut generator);
    name::<AuditAnswer>(&mut generator);
    name::<RoomTypeAnswer>(&mut generator);
    name::<RoomTypesAnswer>(&mut generator);
    name::<AvailabilityBody>(&mut generator);
    name::<CalendarBody>(&mut generator);
    name::<HoldAnswer>(&mut generator);
    name::<HoldsAnswer>(&mut generator);
    name::<SeedHoldAnswer>(&mut generator);
    name::<SeedHoldsAnswer>(&mut generator);
    name::<ConfirmedAnswer>(&mut generator);
    name::<EventStreamMessage>(&mut generator);
    name::<RoomTypeStreamMessage>(&mut generator);
    name::<StreamTicketBody>(&mut generator);
    name::<StandingBody>(&mut generator);
    name::<EnteredBody>(&mut generator);
    name::<ServingBody>(&mut generator);
    name::<TicketKeyBody>(&mut generator);
    name::<AdminTokensAnswer>(&mut generator);
    name::<AdminUserAnswer>(&mut generator);
    name::<NewAdminTokenAnswer>(&mut generator);
    name::<WebhooksAnswer>(&mut generator);
    name::<WebhookDeliveriesAnswer>(&mut generator);
    name::<WebhookAnswer>(&mut generator);
    name::<WebhookSecretAnswer>(&mut generator);
    name::<WebhookTestAnswer>(&mut generator);
    name::<RefusalBody<'static>>(&mut generator);
    name::<Refusal10>(&mut generator);
    name::<Envelope<'static>>(&mut generator);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_and_answer_schemas_have_names_of_their_own() {
        let answered = answered();
        assert_eq!(asked().keys().find(|name| answered.contains_key(*name)), None);
    }
}
