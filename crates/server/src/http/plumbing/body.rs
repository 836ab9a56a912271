//! Request bodies: which one an operation takes, how large, and how it is read. A row of the route
//! table names one of the rules here; the handler gets the body that the rule has read.

use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, LengthLimitError, Limited};
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use salvo::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use salvo::hyper::body::Bytes;
use tokio::time::timeout;

use super::call::Incoming;
use crate::gate::waiting_for_client;
use crate::http::respond::Dialect;
use crate::telemetry::journey;

pub const BODY_MOST: usize = 16 * 1024;
pub const ADMIN_BODY_MOST: usize = 1024 * 1024;
/// A client slower than this is not on a bad line; it occupies a connection.
const BODY_TIME: Duration = Duration::from_secs(5);

/// A rule by value, for documents and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No body is read.
    Nothing,
    /// Any bytes; they only count as the content of an idempotency key.
    Bytes { most: usize },
    /// JSON of this schema.
    Json { schema: &'static str, most: usize },
    /// JSON of this schema, or nothing. What is not JSON only counts as the content of an idempotency key.
    PerhapsJson { schema: &'static str, most: usize },
    /// JSON of this schema; dialect 2025-08-17 may leave it out.
    JsonByDialect { schema: &'static str, most: usize },
}

impl Takes {
    /// The largest body that is read.
    pub fn most(self) -> Option<usize> {
        match self {
            Takes::Nothing => None,
            Takes::Bytes { most }
            | Takes::Json { most, .. }
            | Takes::PerhapsJson { most, .. }
            | Takes::JsonByDialect { most, .. } => Some(most),
        }
    }
}

/// The check behind a `Takes`.
pub trait BodyRule: Copy + Send + Sync + 'static {
    /// What the handler gets.
    type Sent: Send + 'static;

    fn takes(self) -> Takes;

    /// What can be refused before the body is read: its type, and the length it announces.
    fn check_form(self, request: &Incoming) -> Result<(), Refusal>;

    fn read(self, request: &mut Incoming) -> impl Future<Output = Result<Self::Sent, Refusal>> + Send;
}

/// A whole body that was read under rule `R`.
#[derive(Debug)]
pub struct SentBody<R> {
    bytes: Bytes,
    rule: PhantomData<R>,
}

impl<R> SentBody<R> {
    fn new(bytes: Bytes) -> SentBody<R> {
        SentBody { bytes, rule: PhantomData }
    }
}

impl<R> Deref for SentBody<R> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NoBody;

impl BodyRule for NoBody {
    type Sent = ();

    fn takes(self) -> Takes {
        Takes::Nothing
    }

    fn check_form(self, _: &Incoming) -> Result<(), Refusal> {
        Ok(())
    }

    async fn read(self, _: &mut Incoming) -> Result<(), Refusal> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct AnyBytes {
    pub most: usize,
}

impl BodyRule for AnyBytes {
    type Sent = SentBody<AnyBytes>;

    fn takes(self) -> Takes {
        Takes::Bytes { most: self.most }
    }

    fn check_form(self, _: &Incoming) -> Result<(), Refusal> {
        Ok(())
    }

    async fn read(self, request: &mut Incoming) -> Result<SentBody<AnyBytes>, Refusal> {
        bytes(request, self.most).await.map(SentBody::new)
    }
}

/// As `AnyBytes`. The handler reads what says that it is JSON.
#[derive(Clone, Copy, Debug)]
pub struct PerhapsJson {
    pub schema: &'static str,
    pub most: usize,
}

impl BodyRule for PerhapsJson {
    type Sent = SentBody<AnyBytes>;

    fn takes(self) -> Takes {
        Takes::PerhapsJson { schema: self.schema, most: self.most }
    }

    fn check_form(self, _: &Incoming) -> Result<(), Refusal> {
        Ok(())
    }

    async fn read(self, request: &mut Incoming) -> Result<SentBody<AnyBytes>, Refusal> {
        bytes(request, self.most).await.map(SentBody::new)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Json {
    pub schema: &'static str,
    pub most: usize,
}

impl BodyRule for Json {
    type Sent = SentBody<Json>;

    fn takes(self) -> Takes {
        Takes::Json { schema: self.schema, most: self.most }
    }

    fn check_form(self, request: &Incoming) -> Result<(), Refusal> {
        json_form(request, self.most)
    }

    async fn read(self, request: &mut Incoming) -> Result<SentBody<Json>, Refusal> {
        bytes(request, self.most).await.map(SentBody::new)
    }
}

/// JSON; in dialect 2025-08-17 it may be empty.
#[derive(Clone, Copy, Debug)]
pub struct JsonByDialect {
    pub schema: &'static str,
    pub most: usize,
}

impl BodyRule for JsonByDialect {
    type Sent = SentBody<JsonByDialect>;

    fn takes(self) -> Takes {
        Takes::JsonByDialect { schema: self.schema, most: self.most }
    }

    fn check_form(self, request: &Incoming) -> Result<(), Refusal> {
        if optional_in(request.dialect) { Ok(()) } else { json_form(request, self.most) }
    }

    async fn read(self, request: &mut Incoming) -> Result<SentBody<JsonByDialect>, Refusal> {
        let sent = bytes(request, self.most).await?;
        if optional_in(request.dialect) && !sent.is_empty() && !says_json(request) {
            return Err(Refusal::NotJsonType);
        }
        Ok(SentBody::new(sent))
    }
}

fn optional_in(dialect: Dialect) -> bool {
    dialect == Dialect::V2025_08_17
}

fn json_form(request: &Incoming, most: usize) -> Result<(), Refusal> {
    if !says_json(request) {
        return Err(Refusal::NotJsonType);
    }
    let announced = request.headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most as u64) {
        return Err(Refusal::TooLarge { limit_bytes: most });
    }
    Ok(())
}

pub fn says_json(request: &Incoming) -> bool {
    let mut types = request.headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else { return false };
    let Ok(kind) = kind.to_str() else { return false };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn bytes(request: &mut Incoming, most: usize) -> Result<Bytes, Refusal> {
    let body = std::mem::take(&mut request.body);
    let began = Instant::now();
    let read = waiting_for_client(timeout(BODY_TIME, Limited::new(body, most).collect())).await;
    journey::body_took(began.elapsed());
    match read {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge { limit_bytes: most }),
        // The client broke off or framed it wrongly. It may still be listening.
        Ok(Err(_)) => Err(FieldError::refused("body", Problem::Expected(Expected::CompleteBody))),
        Err(_) => Err(Refusal::TooSlow),
    }
}
