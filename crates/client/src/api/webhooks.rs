//! Webhooks: what an operator sends and gets, and the calls.

use serde::{Deserialize, Serialize};

use super::ApiCall;
use super::answers::{DoneView, ListPage};
use super::calls::json;
use super::routes;

/// A new webhook, or a change of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Such as `reservation.confirmed`; none in a new one: everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OverlapForm {
    /// Seconds in which the old secret signs, too; none: as the server has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_seconds: Option<i64>,
}

/// From which history row on the messages of an event or a room type are sent again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_type_id: Option<i64>,
    pub from: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    pub id: i64,
    pub url: String,
    pub types: Vec<String>,
    /// `enabled`, `disabled` or `failing`.
    pub state: String,
    pub why: Option<String>,
    pub created_at: String,
    pub created_by: String,
    pub old_secret_ends_at: Option<String>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookAttempt {
    pub message_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub event_id: Option<i64>,
    pub room_type_id: Option<i64>,
    pub number: Option<u64>,
    pub at: String,
    pub took_ms: i64,
    pub delivered: bool,
    pub status: Option<u16>,
    pub error: Option<String>,
}

/// A webhook, how much it has not been told yet, and its last attempts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WebhookReport {
    pub webhook: WebhookView,
    pub outstanding: u64,
    pub deliveries: Vec<WebhookAttempt>,
}

/// Only this answer has the secret.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct NewWebhookView {
    pub webhook: WebhookView,
    pub secret: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WebhookTestView {
    pub delivery: WebhookAttempt,
}

pub fn webhooks() -> ApiCall<ListPage<WebhookView>> {
    ApiCall::new(&routes::WEBHOOKS, &[])
}

pub fn webhook(id: i64) -> ApiCall<WebhookReport> {
    ApiCall::new(&routes::WEBHOOK, &[&id])
}

/// The attempts that are kept, newest first.
pub fn webhook_deliveries(id: i64) -> ApiCall<ListPage<WebhookAttempt>> {
    ApiCall::new(&routes::WEBHOOK_DELIVERIES, &[&id])
}

pub fn create_webhook(form: &WebhookForm) -> ApiCall<NewWebhookView> {
    ApiCall::new(&routes::CREATE_WEBHOOK, &[]).body(json(form))
}

pub fn amend_webhook(id: i64, form: &WebhookForm) -> ApiCall<WebhookReport> {
    ApiCall::new(&routes::AMEND_WEBHOOK, &[&id]).body(json(form))
}

pub fn delete_webhook(id: i64) -> ApiCall<DoneView> {
    ApiCall::new(&routes::DELETE_WEBHOOK, &[&id])
}

pub fn rotate_webhook(id: i64, form: &OverlapForm) -> ApiCall<NewWebhookView> {
    ApiCall::new(&routes::ROTATE_WEBHOOK, &[&id]).body(json(form))
}

pub fn test_webhook(id: i64) -> ApiCall<WebhookTestView> {
    ApiCall::new(&routes::TEST_WEBHOOK, &[&id])
}

pub fn replay_webhook(id: i64, form: &ReplayForm) -> ApiCall<DoneView> {
    ApiCall::new(&routes::REPLAY_WEBHOOK, &[&id]).body(json(form))
}
