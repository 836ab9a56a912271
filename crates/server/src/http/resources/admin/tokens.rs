//! The tokens of operators: made, listed, rotated and revoked. The text of a token is in the answer that makes it, and
//! nowhere else.

use std::sync::Arc;

use rules::history::{ADMIN_NAME_CHARS, AdminName};
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use stores::ledger::admin_tokens::AdminRole;

use super::fields::AdminFields;
use super::list_format::ListRow;
use super::search::short;
use crate::app::App;
use crate::auth::operators::{Doer, ListedToken, MadeToken};
use crate::auth::{Admin, Viewer};
use crate::http::plumbing::body::{Json, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::tokens::{AdminTokenBody, AdminTokensAnswer, GRACE_MOST_S, NewAdminTokenAnswer, ROLES};

/// A replaced token is accepted this long, unless told otherwise.
const GRACE_S: u32 = 3_600;

pub async fn list(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let now = app.ledger.now();
    let listed = app.operators.list().await?;
    let tokens = listed.iter().map(|token| match token {
        ListedToken::Configured => AdminTokenBody::configured(),
        ListedToken::Stored(token) => AdminTokenBody::of(token, now, app.ledger.shift_ms()),
    });
    let json = |tokens| Reply::ok(&AdminTokensAnswer { success: Succeeded, tokens });
    Ok(short(tokens.collect(), &call.request, json))
}

impl ListRow for AdminTokenBody {
    const HEADING: &'static str = "name,role,live,createdAt,createdBy,endsAt,endedBy\r\n";

    fn cells(&self) -> Vec<String> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        vec![
            self.name.clone(),
            self.role.to_owned(),
            self.live.to_string(),
            text(&self.created_at),
            text(&self.created_by),
            text(&self.ends_at),
            text(&self.ended_by),
        ]
    }
}

pub async fn create(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = AdminFields::read(&call.sent, ["name", "role"])?;
    let unused = || FieldError::refused("name", Problem::Expected(Expected::UnusedTokenName));
    let name = AdminName::new(&fields.text("name", ADMIN_NAME_CHARS)?).ok_or_else(unused)?;
    let role = AdminRole::named(&fields.required("role")?.text()?);
    let role = role.ok_or_else(|| FieldError::refused("role", Problem::OneOf(&ROLES)))?;
    let made = app.operators.make(name, role, doer(&call.caller, &call.request)).await?.ok_or_else(unused)?;
    Ok(shown(&app, &call.caller, made, "a token was made"))
}

pub async fn rotate(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = AdminFields::read(&call.sent, ["graceSeconds"])?;
    let grace_s = fields.whole("graceSeconds", 0, GRACE_MOST_S)?.unwrap_or(GRACE_S);
    let name = name_in_path(&call.request)?;
    let made = app.operators.rotate(name, doer(&call.caller, &call.request), i64::from(grace_s) * 1_000).await?;
    Ok(shown(&app, &call.caller, made.ok_or(Refusal::NotFound)?, "a token was rotated"))
}

pub async fn revoke(app: Arc<App>, call: Call<Admin>) -> Handled {
    let name = name_in_path(&call.request)?;
    // Whoever asks would lock themselves out; and the configured token is not the ledger's to take away.
    if name == call.caller.name() || name == AdminName::default() {
        return Err(FieldError::refused("tokenName", Problem::Expected(Expected::OtherToken)).into());
    }
    end(&app, &call, name, false).await
}

/// What was replaced and still has its grace ends now.
pub async fn end_replaced(app: Arc<App>, call: Call<Admin>) -> Handled {
    let name = name_in_path(&call.request)?;
    end(&app, &call, name, true).await
}

async fn end(app: &App, call: &Call<Admin>, name: AdminName, only_replaced: bool) -> Handled {
    if !app.operators.end(name.clone(), doer(&call.caller, &call.request), only_replaced).await? {
        return Err(Refusal::NotFound.into());
    }
    tracing::info!(token = name.as_str(), by = call.caller.name().as_str(), "tokens were ended");
    Ok(Reply::done())
}

fn shown(app: &App, by: &Admin, made: MadeToken, what: &str) -> Reply {
    let MadeToken { secret, token } = made;
    let (name, role) = (token.name.as_str(), token.role.as_str());
    tracing::info!(token = name, role, by = by.name().as_str(), "{what}");
    let token = AdminTokenBody::of(&token, app.ledger.now(), app.ledger.shift_ms());
    Reply::created(&NewAdminTokenAnswer { success: Succeeded, token, secret })
}

fn doer(admin: &Admin, request: &Incoming) -> Doer {
    Doer { name: admin.name(), origin: request.origin() }
}

fn name_in_path(request: &Incoming) -> Result<AdminName, Refusal> {
    let text: String = request.id("tokenName")?;
    AdminName::new(&text).ok_or(Refusal::NotFound)
}
