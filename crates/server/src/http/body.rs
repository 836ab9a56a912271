//! Request bodies: whole, bounded, in time, JSON; and a clear word on what is wrong with a field.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use rules::ids::printable;
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use salvo::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use salvo::hyper::body::Bytes;
use tokio::time::timeout;

use super::asked::Asked;
use super::json::Node;
use crate::auth::problem_with;

pub const BODY_MOST: usize = 16 * 1024;
pub const ADMIN_BODY_MOST: usize = 1024 * 1024;
/// Slower than this is not a browser on a bad line, it is somebody holding a place.
const BODY_TIME: Duration = Duration::from_secs(5);

/// The whole body of a request that must carry JSON.
pub async fn json_bytes(asked: &mut Asked, most: usize) -> Result<Bytes, Refusal> {
    json_form(asked, most)?;
    bytes(asked, most).await
}

/// The whole body of a request that may carry JSON; empty if it carries nothing.
pub async fn maybe_json_bytes(asked: &mut Asked, most: usize) -> Result<Bytes, Refusal> {
    let sent = bytes(asked, most).await?;
    if sent.is_empty() || says_json(asked) { Ok(sent) } else { Err(Refusal::NotJsonType) }
}

/// What can be said about a body before it is read: its kind, and the length it announces.
pub fn json_form(asked: &Asked, most: usize) -> Result<(), Refusal> {
    if !says_json(asked) {
        return Err(Refusal::NotJsonType);
    }
    let announced = asked.headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most as u64) {
        return Err(Refusal::TooLarge { limit_bytes: most });
    }
    Ok(())
}

pub async fn bytes(asked: &mut Asked, most: usize) -> Result<Bytes, Refusal> {
    let body = std::mem::take(&mut asked.body);
    match timeout(BODY_TIME, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge { limit_bytes: most }),
        // The client broke off or framed it wrongly; nobody may be listening, but it is an answer.
        Ok(Err(_)) => Err(FieldError::refused("body", Problem::Expected(Expected::CompleteBody))),
        Err(_) => Err(Refusal::TooSlow),
    }
}

fn says_json(asked: &Asked) -> bool {
    let mut types = asked.headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else { return false };
    let Ok(kind) = kind.to_str() else { return false };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// A text field that must be there: bounded as it was sent, trimmed, printable.
pub fn text(field: &'static str, value: Option<&str>, most: usize) -> Result<Box<str>, Refusal> {
    let value = value.ok_or_else(|| FieldError::refused(field, Problem::Missing))?;
    if value.len() > most && value.chars().count() > most {
        return Err(FieldError::refused(field, Problem::Length { most }));
    }
    let value = value.trim();
    if value.is_empty() {
        return Err(FieldError::refused(field, Problem::Missing));
    }
    if !printable(value, most) {
        return Err(FieldError::refused(field, problem_with(value, most)));
    }
    Ok(value.into())
}

/// A field that is there and not null.
pub fn given<'a>(node: Option<Node<'a>>) -> Option<Node<'a>> {
    node.filter(|node| !node.is_null())
}
