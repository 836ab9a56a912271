//! The settings of a waiting room as an operator sends them, and the keys of its tickets.

use std::sync::Arc;

use rules::entries::{
    ADMIT_PER_MINUTE_MOST, IDLE_TIMEOUT_S, INSIDE_MOST, QUEUE_MOST, TOKEN_MAX_AGE_S, TOKEN_TTL_S, WaitingRoomAmendment,
};
use rules::history::Happened;
use rules::outcome::Refusal;
use stores::ledger::records::LedgerNote;

use super::fields::AdminFields;
use crate::app::App;
use crate::auth::Admin;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::json::Node;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::line::TicketKeyBody;

/// The fields that change.
pub fn read(node: &Node<'_>) -> Result<WaitingRoomAmendment, Refusal> {
    let names =
        ["maxConcurrent", "tokenTtl", "tokenMaxAge", "idleTimeout", "queueMost", "gatherFrom", "admitPerMinute"];
    let fields = AdminFields::of(node, names)?;
    let milliseconds = |name: &str, (least, most): (u32, u32)| {
        let sent = fields.whole(name, least, most);
        sent.map(|sent| sent.map(|seconds| i64::from(seconds) * 1_000))
    };
    Ok(WaitingRoomAmendment {
        max_concurrent: fields.whole("maxConcurrent", 1, INSIDE_MOST)?,
        token_ttl_ms: milliseconds("tokenTtl", TOKEN_TTL_S)?,
        token_max_age_ms: milliseconds("tokenMaxAge", TOKEN_MAX_AGE_S)?,
        idle_ms: milliseconds("idleTimeout", IDLE_TIMEOUT_S)?,
        queue_most: fields.whole("queueMost", 1, QUEUE_MOST)?,
        gather_from: fields.removable("gatherFrom", |node| node.moment())?,
        admit_per_minute: fields.removable("admitPerMinute", |node| node.whole_within(1, ADMIT_PER_MINUTE_MOST))?,
    })
}

/// Tickets are signed with a new key from now on.
pub async fn rotate_key(app: Arc<App>, call: Call<Admin>) -> Handled {
    let key = app.tickets.rotate().await?;
    let (by, origin) = (Some(call.caller.name()), call.request.origin());
    let detail = Some(format!("key {key}").into());
    app.ledger.note(LedgerNote { what: Happened::KeyRotated, by, owner: None, origin, detail }).await?;
    tracing::info!(key, "the key of the tickets was rotated");
    Ok(Reply::created(&TicketKeyBody { success: Succeeded, key }))
}

#[cfg(test)]
mod tests {
    use rules::entries::WaitingRoom;

    use super::*;

    fn room(text: &str) -> Result<WaitingRoom, String> {
        let sent = format!(r#"{{"waitingRoom":{text}}}"#);
        let [node] = Node::read(sent.as_bytes()).unwrap().fields(["waitingRoom"]).unwrap();
        read(&node.unwrap()).and_then(|room| room.apply(None)).map_err(|refusal| match refusal {
            Refusal::Invalid(fault) => fault.field,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn settings_have_defaults_and_bounds() {
        assert_eq!(room("{}"), Ok(WaitingRoom::default()));
        let given = r#"{"maxConcurrent":2,"tokenTtl":10,"tokenMaxAge":20,"idleTimeout":5,"queueMost":7}"#;
        let wanted = WaitingRoom {
            max_concurrent: 2,
            token_ttl_ms: 10_000,
            token_max_age_ms: 20_000,
            idle_ms: 5_000,
            queue_most: 7,
            ..WaitingRoom::default()
        };
        assert_eq!(room(given), Ok(wanted));
        assert_eq!(room(r#"{"tokenTtl":7200}"#).unwrap().token_max_age_ms, 7_200_000);
        for (text, field) in [
            ("7", "waitingRoom"),
            ("true", "waitingRoom"),
            (r#"{"maxConcurrent":0}"#, "waitingRoom.maxConcurrent"),
            (r#"{"maxConcurrent":1000001}"#, "waitingRoom.maxConcurrent"),
            (r#"{"tokenTtl":"5"}"#, "waitingRoom.tokenTtl"),
            (r#"{"tokenTtl":4}"#, "waitingRoom.tokenTtl"),
            (r#"{"tokenTtl":100,"tokenMaxAge":99}"#, "waitingRoom.tokenMaxAge"),
            (r#"{"idleTimeout":2}"#, "waitingRoom.idleTimeout"),
            (r#"{"idleTimeout":1e309}"#, "waitingRoom.idleTimeout"),
            (r#"{"queueMost":0}"#, "waitingRoom.queueMost"),
            (r#"{"queueMost":10000001}"#, "waitingRoom.queueMost"),
            (r#"{"idleTimout":5}"#, "waitingRoom.idleTimout"),
            (r#"{"gatherFrom":"tomorrow"}"#, "waitingRoom.gatherFrom"),
            (r#"{"gatherFrom":5}"#, "waitingRoom.gatherFrom"),
            (r#"{"admitPerMinute":0}"#, "waitingRoom.admitPerMinute"),
            (r#"{"admitPerMinute":1000001}"#, "waitingRoom.admitPerMinute"),
        ] {
            assert_eq!(room(text), Err(field.to_owned()), "{text}");
        }
    }
}
