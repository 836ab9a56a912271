//! Webhooks.

use rules::outcome::Refusal;

use super::{CSV, JSON, JSON_LINES, ok, operate, read};
use crate::http::openapi::{Doc, Gives};
use crate::http::respond::Success;

const MADE: &[Gives] = &[Gives { status: Success::Created, kind: JSON, schema: Some("WebhookSecretAnswer") }];
const ONE: &[Gives] = &[ok("WebhookAnswer")];
const DONE: &[Gives] = &[ok("Success")];
const NAMED: &[fn() -> Refusal] = &[|| Refusal::NotFound];

pub const ADMIN_WEBHOOKS: Doc = Doc {
    paged: true,
    ..read(
        "adminListWebhooks",
        "admin",
        "Webhooks, without secrets; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("WebhooksAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_WEBHOOK_DELIVERIES: Doc = Doc {
    paged: true,
    refuses: NAMED,
    ..read(
        "adminListWebhookDeliveries",
        "admin",
        "Attempts to deliver to one webhook that are kept, newest first; whole with `Accept: text/csv` or \
         `application/x-ndjson`.",
        &[ok("WebhookDeliveriesAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_WEBHOOK: Doc = Doc {
    refuses: NAMED,
    ..read("adminGetWebhook", "admin", "One webhook, what is outstanding, and its last deliveries.", ONE)
};
pub const CREATE_WEBHOOK: Doc = Doc {
    done: "created",
    gives: MADE,
    ..operate(
        "createWebhook",
        "Makes a webhook, which is told what happens from now on, as Standard Webhooks describe. Its secret is shown once.",
        &[],
    )
};
pub const AMEND_WEBHOOK: Doc =
    Doc { gives: ONE, ..operate("amendWebhook", "Changes a webhook; enables or disables it.", NAMED) };
pub const DELETE_WEBHOOK: Doc =
    Doc { done: "deleted", gives: DONE, ..operate("deleteWebhook", "Deletes a webhook.", NAMED) };
pub const ROTATE_WEBHOOK: Doc = Doc {
    done: "rotated",
    gives: MADE,
    ..operate(
        "rotateWebhook",
        "Makes a new secret. During the overlap messages carry two signatures: with the new one and with the old one.",
        NAMED,
    )
};
pub const TEST_WEBHOOK: Doc = Doc {
    done: "sent",
    gives: &[ok("WebhookTestAnswer")],
    ..operate("testWebhook", "Sends a message of type `webhook.test` now, and says what it led to.", NAMED)
};
pub const REPLAY_WEBHOOK: Doc = Doc {
    gives: DONE,
    ..operate(
        "replayWebhook",
        "Delivers the history of an event or room type again, from a number on, with the same message ids.",
        NAMED,
    )
};
