//! One HTTP request, taken apart once; and the same request after its checks.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use rules::command::Key;
use rules::entries::EntryToken;
use rules::history::RequestOrigin;
use rules::ids::{EventId, FIRST_EVENT, Seat, User, printable, whole, whole_id};
use rules::outcome::{FieldError, Forbidden, Problem, Refusal};
use salvo::http::{HeaderMap, HeaderName, HeaderValue, Method, ReqBody, Version};
use salvo::hyper::Uri;
use salvo::routing::PathParams;
use sha2::{Digest, Sha256};

use super::gateway::Aside;
use crate::app::App;
use crate::auth;
use crate::http::respond::Dialect;

/// A request that has passed the checks of its operation: with its caller, as its access rule found
/// it (`access`), and its body, as its body rule read it (`body`).
pub struct Call<C = (), S = ()> {
    pub request: Incoming,
    pub caller: C,
    pub sent: S,
}

/// A request as it came in.
pub struct Incoming {
    pub method: Method,
    pub uri: Uri,
    pub version: Version,
    pub headers: HeaderMap,
    pub params: PathParams,
    pub peer: SocketAddr,
    pub dialect: Dialect,
    pub(super) trace: HeaderValue,
    /// Only body rules read it.
    pub(super) body: ReqBody,
    /// Present: the gateway showed its key, and gets facts that only it may know.
    pub(super) gateway: Option<Arc<Aside>>,
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const X_IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("x-idempotency-key");
const ENTRY_TOKEN: HeaderName = HeaderName::from_static("x-entry-token");
const QUEUE_TICKET: HeaderName = HeaderName::from_static("x-queue-ticket");
pub const KEY_CHARS: usize = 128;

impl Incoming {
    /// Only access rules ask who the user is.
    pub(super) async fn user(&self, app: &App) -> Result<User, Refusal> {
        self.named_user(app).await?.ok_or_else(|| auth::nobody(app))
    }

    /// The user that the request names, if it names one.
    pub(super) async fn named_user(&self, app: &App) -> Result<Option<User>, Refusal> {
        auth::named_user(app, &self.headers, self.peer.ip()).await
    }

    /// Where it came from, for the history.
    pub fn origin(&self) -> RequestOrigin {
        RequestOrigin { address: Some(self.address()), trace: self.trace.to_str().ok().map(Arc::from) }
    }

    /// The event in the path; the short paths name none and mean the first one.
    pub fn event(&self) -> Result<EventId, Refusal> {
        match self.param("eventId") {
            None => Ok(FIRST_EVENT),
            Some(text) => whole_id(text).map(EventId).ok_or(Refusal::NotFound),
        }
    }

    pub fn seat(&self) -> Result<Seat, Refusal> {
        let text = self.param("seatId").unwrap_or_default();
        whole(text).and_then(|id| u32::try_from(id).ok()).map(Seat).ok_or(Refusal::NotFound)
    }

    /// The seat in the path, where the path has one.
    pub fn chosen_seat(&self) -> Result<Option<Seat>, Refusal> {
        self.param("seatId").map(|_| self.seat()).transpose()
    }

    /// An id in the path. One that does not parse cannot exist.
    pub fn id<T: FromStr>(&self, name: &str) -> Result<T, Refusal> {
        self.param(name).unwrap_or_default().parse().map_err(|_| Refusal::NotFound)
    }

    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str)
    }

    /// A parameter of the query string, percent-decoded. Given twice it is refused.
    pub fn query(&self, name: &'static str) -> Result<Option<String>, Refusal> {
        let query = self.uri.query().unwrap_or_default();
        let mut found = None;
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if key == name && found.replace(value.into_owned()).is_some() {
                return Err(FieldError::refused(name, Problem::Repeated));
            }
        }
        Ok(found)
    }

    /// The entry token that was sent. What cannot be one counts as none.
    pub fn entry(&self) -> Option<EntryToken> {
        let mut shown = self.headers.get_all(&ENTRY_TOKEN).iter();
        match (shown.next(), shown.next()) {
            (Some(token), None) => EntryToken::read(token.to_str().ok()?),
            _ => None,
        }
    }

    /// The ticket as it was sent. What is not text cannot be one.
    pub fn ticket(&self) -> Result<Option<&str>, Refusal> {
        let mut shown = self.headers.get_all(&QUEUE_TICKET).iter();
        let Some(first) = shown.next() else { return Ok(None) };
        match (first.to_str(), shown.next()) {
            (Ok(text), None) => Ok(Some(text)),
            _ => Err(Refusal::Forbidden(Forbidden::Ticket)),
        }
    }

    /// The caller's idempotency key, plain or quoted, under either name.
    pub fn key(&self, body: &[u8]) -> Result<Option<Key>, Refusal> {
        let mut shown = self.headers.get_all(&IDEMPOTENCY_KEY).iter().chain(self.headers.get_all(&X_IDEMPOTENCY_KEY));
        let Some(first) = shown.next() else { return Ok(None) };
        let field = "Idempotency-Key";
        if shown.any(|other| other != first) {
            return Err(FieldError::refused(field, Problem::Repeated));
        }
        let text = std::str::from_utf8(first.as_bytes()).map_err(|_| FieldError::refused(field, Problem::NotUtf8))?;
        let bare = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        if !printable(bare, KEY_CHARS) {
            return Err(FieldError::refused(field, auth::problem_with(bare, KEY_CHARS)));
        }
        Ok(Some(Key { text: bare.into(), content: self.digest(body) }))
    }

    /// Of method, path, dialect and body, each with its length before it.
    fn digest(&self, body: &[u8]) -> [u8; 32] {
        let mut hash = Sha256::new();
        let path = self.uri.path();
        for part in [self.method.as_str().as_bytes(), path.as_bytes(), self.dialect.name().as_bytes(), body] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}
