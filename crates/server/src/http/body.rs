//! Request bodies: whole, bounded, in time, JSON; and a clear word on what is wrong with a field.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use rules::ids::printable;
use rules::outcome::{Fault, Problem, Refusal};
use salvo::http::header::CONTENT_TYPE;
use salvo::hyper::body::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use super::asked::Asked;
use crate::auth::problem_with;

pub const BODY_MOST: usize = 16 * 1024;
pub const ADMIN_BODY_MOST: usize = 1024 * 1024;
/// Slower than this is not a browser on a bad line, it is somebody holding a place.
const BODY_TIME: Duration = Duration::from_secs(5);

/// The whole body of a request that must carry JSON.
pub async fn json_bytes(asked: &mut Asked, most: usize) -> Result<Bytes, Refusal> {
    if !says_json(asked) {
        return Err(Refusal::NotJsonType);
    }
    bytes(asked, most).await
}

pub async fn bytes(asked: &mut Asked, most: usize) -> Result<Bytes, Refusal> {
    let body = std::mem::take(&mut asked.body);
    match timeout(BODY_TIME, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge { limit_bytes: most }),
        // The client broke off or framed it wrongly; nobody may be listening, but it is an answer.
        Ok(Err(_)) => Err(Fault::refused("body", Problem::Expected("a complete body"))),
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

/// A JSON object as `T`. The common case is read once; only a body that does not fit is looked at
/// again, field by field, to say what is wrong.
pub fn object<T: DeserializeOwned>(body: &[u8], fields: &[(&'static str, &'static str)]) -> Result<T, Refusal> {
    let opens = body.iter().find(|b| !b.is_ascii_whitespace());
    if opens == Some(&b'{')
        && let Ok(value) = serde_json::from_slice(body)
    {
        return Ok(value);
    }
    Err(explain(body, fields))
}

fn explain(body: &[u8], fields: &[(&'static str, &'static str)]) -> Refusal {
    if std::str::from_utf8(body).is_err() {
        return Fault::refused("body", Problem::NotUtf8);
    }
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(error) => return Fault::refused("body", Problem::NotJson { line: error.line(), column: error.column() }),
    };
    let Value::Object(object) = value else {
        return Fault::refused("body", Problem::Expected("a JSON object"));
    };
    for &(field, expected) in fields {
        let fits = match (object.get(field), expected) {
            (None | Some(Value::Null), _) => true,
            (Some(value), "text") => value.is_string(),
            (Some(value), "a whole number") => value.is_u64() || value.is_i64(),
            (Some(value), "true or false") => value.is_boolean(),
            (Some(value), "an object") => value.is_object(),
            _ => true,
        };
        if !fits {
            return Fault::refused(field, Problem::Expected(expected));
        }
    }
    // Every field is of its kind, and still it does not fit: a field stands there twice, or a
    // number is beyond every bound.
    Fault::refused("body", Problem::Expected("each field once, in its range"))
}

/// A text field that must be there: trimmed, printable, bounded.
pub fn text(field: &'static str, value: Option<&str>, most: usize) -> Result<Box<str>, Refusal> {
    let value = value.ok_or_else(|| Fault::refused(field, Problem::Missing))?.trim();
    if value.is_empty() {
        return Err(Fault::refused(field, Problem::Missing));
    }
    if !printable(value, most) {
        return Err(Fault::refused(field, problem_with(value, most)));
    }
    Ok(value.into())
}
