//! Bodies in the dialects of the seeds, 1.0 and 2025-08-17. They have these fields and no others.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::refusals::Facts;
use super::{Failed, Succeeded};

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Reserved10 {
    pub success: Succeeded,
    #[schemars(range(min = 1))]
    pub seat: u32,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Refusal10 {
    Reason(Reason10),
    Already(Already10),
    Error(Error10),
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct Reason10 {
    pub success: Failed,
    pub reason: Cow<'static, str>,
}

/// The caller has a seat.
#[derive(Serialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct Already10 {
    pub success: Failed,
    #[schemars(extend("const" = Already10::REASON))]
    pub reason: &'static str,
    #[schemars(range(min = 1))]
    pub seat: u32,
}

impl Already10 {
    pub const REASON: &'static str = "already reserved";
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct Error10 {
    pub success: Failed,
    pub error: &'static str,
}

/// The four fields that are always there when a seat was asked for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Reserved20250817", deny_unknown_fields)]
pub struct Four<'a> {
    pub success: bool,
    pub seat_id: Option<u32>,
    pub reserved_by: Option<&'a str>,
    pub reason: Option<FourReason>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum FourReason {
    SoldOut,
    AlreadyReserved,
    Contention,
}

/// Every other refusal of 2025-08-17.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Refusal20250817", deny_unknown_fields)]
pub struct Envelope<'a> {
    pub error: EnvelopeError<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct EnvelopeError<'a> {
    pub code: &'static str,
    pub message: Cow<'static, str>,
    pub trace_id: &'a str,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub meta: Facts,
}
