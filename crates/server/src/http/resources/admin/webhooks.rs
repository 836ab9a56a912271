//! Webhooks: made, changed, tested, replayed. The secret is in the answer that makes it, and nowhere else.

use std::sync::Arc;

use rules::history::{AdminName, Happened};
use rules::ids::EventId;
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use rules::subject::{RoomTypeId, SubjectId};
use stores::ledger::records::LedgerNote;
use stores::ledger::webhooks::{NewWebhook, Webhook, WebhookChange, WebhookNote, WebhookState, WebhookType};

use super::fields::AdminFields;
use crate::app::App;
use crate::auth::{Admin, Viewer};
use crate::http::plumbing::body::{Json, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::webhooks::{
    OVERLAP_MOST_S, WebhookAnswer, WebhookBody, WebhookDeliveryBody, WebhookSecretAnswer, WebhookTestAnswer,
};
use crate::refusals::Failure;
use crate::tickets::random;
use crate::webhooks::address::{URL_CHARS, origin, target};
use crate::webhooks::signature::shown;

/// The old secret signs beside the new one this long, unless told otherwise.
const OVERLAP_S: u32 = 86_400;
/// Endpoints that there may be: each is looked after four times a second, and has series of its own.
const WEBHOOKS_MOST: usize = 100;
/// Attempts that are shown.
const DELIVERIES: usize = 50;

pub async fn one(app: Arc<App>, Call { request, caller: viewer, .. }: Call<Viewer>) -> Handled {
    let webhook = named(&app, &request).await?;
    shown_whole(&app, &webhook, |body| body.seen_by(&viewer)).await
}

pub async fn create(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = AdminFields::read(&call.sent, ["url", "types", "enabled"])?;
    let url = url(&app, &fields.text("url", URL_CHARS)?)?;
    let types = types(&fields)?.unwrap_or_else(|| WebhookType::ALL.to_vec());
    let enabled = enabled(&fields)?.unwrap_or(true);
    if app.ledger.webhooks().await?.len() >= WEBHOOKS_MOST {
        return Err(FieldError::refused("webhooks", Problem::Count { least: 0, most: WEBHOOKS_MOST }).into());
    }
    let secret = random::<32>()?.to_vec();
    let new = NewWebhook { url, types, enabled, secret, by: call.caller.name() };
    let note = noted(Happened::WebhookMade, call.caller.name(), &call.request, origin(&new.url));
    let webhook = app.ledger.create_webhook(new, note).await?;
    tracing::info!(webhook = webhook.id, by = call.caller.name().as_str(), "a webhook was made");
    Ok(secret_shown(&app, &webhook))
}

pub async fn amend(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = AdminFields::read(&call.sent, ["url", "types", "enabled"])?;
    let id = named(&app, &call.request).await?.id;
    let new = fields.new_text("url", URL_CHARS)?.map(|text| url(&app, &text)).transpose()?;
    let state = enabled(&fields)?.map(|on| if on { WebhookState::Enabled } else { WebhookState::Disabled });
    let change = WebhookChange { url: new, types: types(&fields)?, state: state.map(|state| (state, None)) };
    let note = noted(Happened::WebhookChanged, call.caller.name(), &call.request, format!("webhook {id}"));
    if !app.ledger.change_webhook(id, change, note).await? {
        return Err(Refusal::NotFound.into());
    }
    tracing::info!(webhook = id, by = call.caller.name().as_str(), "a webhook was changed");
    let webhook = named(&app, &call.request).await?;
    shown_whole(&app, &webhook, |body| body).await
}

pub async fn delete(app: Arc<App>, call: Call<Admin>) -> Handled {
    let id = named(&app, &call.request).await?.id;
    let note = noted(Happened::WebhookDeleted, call.caller.name(), &call.request, format!("webhook {id}"));
    if !app.ledger.delete_webhook(id, note).await? {
        return Err(Refusal::NotFound.into());
    }
    tracing::info!(webhook = id, by = call.caller.name().as_str(), "a webhook was deleted");
    Ok(Reply::done())
}

pub async fn rotate(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = AdminFields::read(&call.sent, ["overlapSeconds"])?;
    let overlap_s = fields.whole("overlapSeconds", 0, OVERLAP_MOST_S)?.unwrap_or(OVERLAP_S);
    let id = named(&app, &call.request).await?.id;
    let secret = random::<32>()?.to_vec();
    let note = noted(Happened::WebhookRotated, call.caller.name(), &call.request, format!("webhook {id}"));
    if !app.ledger.rotate_webhook(id, secret, i64::from(overlap_s) * 1_000, note).await? {
        return Err(Refusal::NotFound.into());
    }
    tracing::info!(webhook = id, by = call.caller.name().as_str(), "the secret of a webhook was rotated");
    let webhook = named(&app, &call.request).await?;
    Ok(secret_shown(&app, &webhook))
}

/// What it led to is the answer, whether or not it was delivered.
pub async fn test(app: Arc<App>, call: Call<Admin>) -> Handled {
    let webhook = named(&app, &call.request).await?;
    let made = app.webhooks.test(&app, &webhook).await;
    let delivery = WebhookDeliveryBody::of(&made, app.ledger.shift_ms());
    app.ledger.keep_deliveries(webhook.id, vec![made]).await?;
    Ok(Reply::ok(&WebhookTestAnswer { success: Succeeded, delivery }))
}

pub async fn replay(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = AdminFields::read(&call.sent, ["eventId", "roomTypeId", "from"])?;
    let number = |name: &'static str| {
        let out = || FieldError::refused(name, Problem::OutOfRange { least: 1, most: i64::MAX });
        let given = fields.given(name).map(|node| node.whole()).transpose()?;
        given.map(|number| if number >= 1 { Ok(number) } else { Err(out()) }).transpose()
    };
    let subject = match (number("eventId")?, number("roomTypeId")?) {
        (Some(event), None) => SubjectId::Event(EventId(event)),
        (None, Some(room_type)) => SubjectId::RoomType(RoomTypeId(room_type)),
        _ => return Err(FieldError::refused("eventId", Problem::Expected(Expected::RoomTypeOrEvent)).into()),
    };
    fields.required("from")?;
    let from = number("from")?.unwrap_or(1);
    let id = named(&app, &call.request).await?.id;
    let detail = format!("webhook {id} {subject} from {from}");
    let note = noted(Happened::WebhookReplayed, call.caller.name(), &call.request, detail);
    if !app.ledger.rewind_webhook(id, subject, from as u64 - 1, note).await? {
        return Err(Refusal::NotFound.into());
    }
    tracing::info!(webhook = id, %subject, from, by = call.caller.name().as_str(), "a webhook is replayed");
    Ok(Reply::done())
}

fn noted(what: Happened, by: AdminName, request: &Incoming, detail: String) -> WebhookNote {
    Some(LedgerNote { what, by: Some(by), owner: None, origin: request.origin(), detail: Some(detail.into()) })
}

pub async fn named(app: &App, request: &Incoming) -> Result<Webhook, Failure> {
    let id: u64 = request.id("webhookId")?;
    let all = app.ledger.webhooks().await?;
    Ok(all.into_iter().find(|webhook| u64::try_from(webhook.id) == Ok(id)).ok_or(Refusal::NotFound)?)
}

fn body(app: &App, webhook: &Webhook) -> WebhookBody {
    WebhookBody::of(webhook, app.ledger.now(), app.ledger.shift_ms())
}

async fn shown_whole(app: &App, webhook: &Webhook, seen: impl FnOnce(WebhookBody) -> WebhookBody) -> Handled {
    let outstanding = app.ledger.webhook_outstanding(webhook.id).await?.rows;
    let kept = app.ledger.deliveries(webhook.id, None, DELIVERIES).await?;
    let deliveries = kept.iter().map(|kept| WebhookDeliveryBody::of(&kept.made, app.ledger.shift_ms())).collect();
    let webhook = seen(body(app, webhook));
    Ok(Reply::ok(&WebhookAnswer { success: Succeeded, webhook, outstanding, deliveries }))
}

fn secret_shown(app: &App, webhook: &Webhook) -> Reply {
    let secret = shown(&webhook.secret);
    Reply::created(&WebhookSecretAnswer { success: Succeeded, webhook: body(app, webhook), secret })
}

fn url(app: &App, text: &str) -> Result<String, Refusal> {
    let url = target(text, app.settings.webhook_private);
    url.map(String::from).ok_or_else(|| FieldError::refused("url", Problem::Expected(Expected::WebhookUrl)))
}

fn types<const N: usize>(fields: &AdminFields<'_, N>) -> Result<Option<Vec<WebhookType>>, Refusal> {
    let Some(list) = fields.given("types") else { return Ok(None) };
    let mut types = Vec::new();
    for node in list.list(WebhookType::ALL.len())? {
        let unknown = || FieldError::refused(node.path(), Problem::OneOf(&WebhookType::NAMES));
        let kind = WebhookType::named(&node.text()?).ok_or_else(unknown)?;
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    if types.is_empty() {
        let most = WebhookType::ALL.len();
        return Err(FieldError::refused("types", Problem::Count { least: 1, most }));
    }
    Ok(Some(types))
}

fn enabled<const N: usize>(fields: &AdminFields<'_, N>) -> Result<Option<bool>, Refusal> {
    fields.given("enabled").map(|node| node.yes_or_no()).transpose()
}
