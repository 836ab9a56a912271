//! The settings of a waiting room as an operator sends them, and the keys of its tickets.

use std::sync::Arc;

use rules::entries::{IDLE_TIMEOUT_S, INSIDE_MOST, TOKEN_MAX_AGE_S, TOKEN_TTL_S, WaitingRoom};
use rules::outcome::{Expected, FieldError, Problem, Refusal};

use crate::app::App;
use crate::auth::Admin;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::json::{Node, given};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::line::TicketKeyBody;

/// An object, each field with a default; null: none.
pub fn read(node: &Node<'_>) -> Result<Option<WaitingRoom>, Refusal> {
    if node.is_null() {
        return Ok(None);
    }
    let [most, ttl, age, idle] = node.fields(["maxConcurrent", "tokenTtl", "tokenMaxAge", "idleTimeout"])?;
    let plain = WaitingRoom::default();
    let seconds = |field: Option<Node<'_>>, (least, most): (u32, u32), default: i64| match given(field) {
        None => Ok(default),
        Some(node) => node.whole_within(least, most).map(|seconds| i64::from(seconds) * 1000),
    };
    let token_ttl_ms = seconds(ttl, TOKEN_TTL_S, plain.token_ttl_ms)?;
    let room = WaitingRoom {
        max_concurrent: given(most).map_or(Ok(plain.max_concurrent), |most| most.whole_within(1, INSIDE_MOST))?,
        token_ttl_ms,
        token_max_age_ms: seconds(age, TOKEN_MAX_AGE_S, plain.token_max_age_ms.max(token_ttl_ms))?,
        idle_ms: seconds(idle, IDLE_TIMEOUT_S, plain.idle_ms)?,
    };
    if room.token_max_age_ms < room.token_ttl_ms {
        let field = format!("{}.tokenMaxAge", node.path());
        return Err(FieldError::refused(field, Problem::Expected(Expected::AtLeastTokenTtl)));
    }
    Ok(Some(room))
}

/// Tickets are signed with a new key from now on.
pub async fn rotate_key(app: Arc<App>, _: Call<Admin>) -> Handled {
    let key = app.tickets.rotate().await?;
    tracing::info!(key, "the key of the tickets was rotated");
    Ok(Reply::created(&TicketKeyBody { success: Succeeded, key }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(text: &str) -> Result<Option<WaitingRoom>, String> {
        let sent = format!(r#"{{"waitingRoom":{text}}}"#);
        let [node] = Node::read(sent.as_bytes()).unwrap().fields(["waitingRoom"]).unwrap();
        read(&node.unwrap()).map_err(|refusal| match refusal {
            Refusal::Invalid(fault) => fault.field,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn settings_have_defaults_and_bounds() {
        assert_eq!(room("null"), Ok(None));
        assert_eq!(room("{}"), Ok(Some(WaitingRoom::default())));
        let given = r#"{"maxConcurrent":2,"tokenTtl":10,"tokenMaxAge":20,"idleTimeout":5}"#;
        let wanted = WaitingRoom { max_concurrent: 2, token_ttl_ms: 10_000, token_max_age_ms: 20_000, idle_ms: 5_000 };
        assert_eq!(room(given), Ok(Some(wanted)));
        assert_eq!(room(r#"{"tokenTtl":7200}"#).unwrap().unwrap().token_max_age_ms, 7_200_000);
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
        ] {
            assert_eq!(room(text), Err(field.to_owned()), "{text}");
        }
    }
}
