//! What is kept of one person, and its end.

use std::sync::Arc;

use rules::history::{AdminName, Happened, RequestOrigin};
use rules::ids::User;
use rules::outcome::Refusal;
use stores::ledger::personal::{ERASED_MOST, ErasedRows};
use stores::ledger::records::LedgerNote;

use crate::app::App;
use crate::auth::Admin;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::records::{ErasedAnswer, ErasedBody};
use crate::refusals::Failure;

/// Removes names, phones, emails, addresses, metadata and reasons of one user. Seats, counts and the history stay, and so does the chain.
pub async fn erase(app: Arc<App>, call: Call<Admin>) -> Handled {
    let user = call.request.param("userId").and_then(User::new).ok_or(Refusal::NotFound)?;
    let (by, origin) = (call.caller.name(), call.request.origin());
    // It goes on if the caller leaves.
    let erasing = tokio::spawn(async move { everything_of(&app, user, by, origin).await });
    let erased = erasing.await.map_err(|_| Refusal::Internal)??;
    Ok(Reply::ok(&ErasedAnswer { success: Succeeded, erased }))
}

async fn everything_of(app: &App, user: User, by: AdminName, origin: RequestOrigin) -> Result<ErasedBody, Failure> {
    let (mut rows, mut after) = (ErasedRows::default(), None);
    loop {
        let found = app.ledger.personal_rows(user.clone(), after).await?;
        for step in found.rows.chunks(ERASED_MOST) {
            rows += app.ledger.erase_rows(step.to_vec()).await?;
        }
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    let detail = Some(format!("{} rows", rows.history).into());
    let note = LedgerNote { what: Happened::Erased, by: Some(by), owner: Some(user.clone()), origin, detail };
    let beside = app.ledger.end_erasure(user, note).await?;
    tracing::info!(rows = rows.history, "the personal data of a user was erased");
    let ErasedRows { history, holds, stays } = rows;
    Ok(ErasedBody { history_rows: history, reservations: beside.sales, holds, stays, answers: beside.answers })
}
