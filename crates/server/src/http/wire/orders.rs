//! What a shop keeps with an order, and what it asks of a buyer and shows of a price.

use rules::buyer::{AskedFields, BuyerFields, EMAIL_CHARS, FieldNeed, METADATA_KEYS, Metadata, REASON_CHARS};
use rules::event::Event;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::http::resources::reservations::buyer::BUYER_NAME_CHARS;

/// Metadata as it was stored: numbers keep their spelling.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct MetadataBody(Box<RawValue>);

impl MetadataBody {
    pub fn of(metadata: Option<&Metadata>) -> Option<MetadataBody> {
        RawValue::from_string(metadata?.as_str().to_owned()).ok().map(MetadataBody)
    }

    /// As text, for lists of another format.
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

/// The same in requests and answers.
impl JsonSchema for MetadataBody {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metadata".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "What the shop keeps with the order: at most 32 keys and 2048 bytes, no control characters but line breaks and tabs.",
            "maxProperties": METADATA_KEYS,
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        })
    }
}

/// What buyers are asked for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BuyerFields")]
#[serde(rename_all = "camelCase")]
pub struct BuyerFieldsBody {
    #[schemars(extend("enum" = FieldNeed::NAMES))]
    pub user_name: &'static str,
    #[schemars(extend("enum" = FieldNeed::NAMES))]
    pub phone: &'static str,
    #[schemars(extend("enum" = FieldNeed::NAMES))]
    pub email: &'static str,
}

impl BuyerFieldsBody {
    /// As dialect 1.1 has it.
    pub fn of(asked: AskedFields) -> BuyerFieldsBody {
        let BuyerFields { name, phone, email } = asked.or(BuyerFields::NAME_AND_PHONE);
        BuyerFieldsBody { user_name: name.as_str(), phone: phone.as_str(), email: email.as_str() }
    }
}

/// Shown, not computed with.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Price")]
pub struct PriceBody {
    /// A decimal number as text.
    pub amount: String,
    /// A code of ISO 4217.
    pub currency: String,
}

impl PriceBody {
    pub fn of(event: &Event) -> Option<PriceBody> {
        let price = event.price.as_ref()?;
        Some(PriceBody { amount: price.amount.to_string(), currency: price.currency.to_string() })
    }
}

/// Null takes all of them away; what is absent stays as it is, or is as the seeds have it: name and phone required.
#[derive(JsonSchema)]
#[schemars(rename = "BuyerFieldsAsked", rename_all = "camelCase", deny_unknown_fields)]
pub struct BuyerFieldsAsked {
    pub user_name: Option<NeedAsked>,
    pub phone: Option<NeedAsked>,
    pub email: Option<NeedAsked>,
}

/// `absent`: it is not asked for, and not stored if it is sent.
#[derive(JsonSchema)]
#[schemars(rename = "FieldNeed", rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
pub enum NeedAsked {
    Required,
    Optional,
    Absent,
}

#[derive(JsonSchema)]
#[schemars(rename = "PriceAsked", deny_unknown_fields)]
pub struct PriceAsked {
    /// A decimal number as text, such as `55000` or `12.50`.
    #[schemars(regex(pattern = AMOUNT), example = &"55000")]
    pub amount: String,
    /// A code of ISO 4217.
    #[schemars(regex(pattern = CURRENCY), example = &"KRW")]
    pub currency: String,
}

/// As `rules::price::is_amount`.
const AMOUNT: &str = "^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,4})?$";
pub const CURRENCY: &str = "^[A-Z]{3}$";

/// Who buys what is held. What the event requires of its buyers is required here; everything else is optional. For nights it
/// is ignored.
#[derive(JsonSchema)]
#[schemars(rename = "Confirmation", rename_all = "camelCase")]
pub struct ConfirmationBody {
    #[schemars(length(max = BUYER_NAME_CHARS))]
    pub user_name: Option<String>,
    pub phone: Option<String>,
    #[schemars(length(max = EMAIL_CHARS))]
    pub email: Option<String>,
}

/// Why something is cancelled.
#[derive(JsonSchema)]
#[schemars(rename = "Cancellation")]
pub struct CancellationBody {
    /// Kept in the history.
    #[schemars(length(max = REASON_CHARS))]
    pub reason: Option<String>,
}
