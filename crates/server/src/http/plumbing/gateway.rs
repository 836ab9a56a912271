//! A gateway in front. What it says about a request is believed only because it shows `GATEWAY_KEY`;
//! without the key these headers are ignored. What only the gateway may know goes back in headers
//! that it removes.
//!
//! | header              | from the gateway                                                     |
//! |---------------------|----------------------------------------------------------------------|
//! | `X-Gateway-Key`     | that it is ours                                                      |
//! | `X-Gateway-Address` | the client's address                                                 |
//! | `X-Fcfs-Seq`        | the arrival number; mark, budget and number are settled              |
//! | `X-Gateway-Request` | the name in the mark, 32 hexadecimal digits; comes with a number      |
//!
//! | header              | to the gateway                                                       |
//! |---------------------|----------------------------------------------------------------------|
//! | `X-Fcfs-Outcome`    | how the request for a seat ended                                     |
//! | `X-Fcfs-Ledger`     | whose door it is: without it a gateway gives no number               |
//! | `X-Fcfs-Freed`      | the event in which something came back, or may have begun            |
//! | `X-Fcfs-Auth`       | this server's `AUTH_MODE`; a gateway in another mode stops asking it  |
//! | `X-Fcfs-Full`       | this server refuses for load; the refused wait so many seconds       |
//! | `X-Fcfs-Stops`      | this server was told to stop: ask another one                        |

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rules::decide::Answer;
use rules::ids::{EventId, Number, RequestName, whole};
use rules::outcome::{Expected, FieldError, Outcome, Problem, Refusal};
use salvo::http::header::AUTHORIZATION;
use salvo::http::{HeaderMap, HeaderName, HeaderValue};
use stores::door::Release;

use super::call::Incoming;
use crate::app::App;
use crate::auth;
use crate::http::respond::Reply;
use crate::path::{Came, LetIn};

const ADDRESS: HeaderName = HeaderName::from_static("x-gateway-address");
const NUMBER: HeaderName = HeaderName::from_static("x-fcfs-seq");
const REQUEST: HeaderName = HeaderName::from_static("x-gateway-request");

const OUTCOME: HeaderName = HeaderName::from_static("x-fcfs-outcome");
const LEDGER: HeaderName = HeaderName::from_static("x-fcfs-ledger");
const FREED: HeaderName = HeaderName::from_static("x-fcfs-freed");
const AUTH: HeaderName = HeaderName::from_static("x-fcfs-auth");
pub const FULL: HeaderName = HeaderName::from_static("x-fcfs-full");
const STOPS: HeaderName = HeaderName::from_static("x-fcfs-stops");

/// An answer waits at most this long until a mark is removed.
const RELEASE_TIME: Duration = Duration::from_millis(50);

/// What the gateway gets beside the answer.
#[derive(Debug, Default)]
pub struct Aside {
    outcome: OnceLock<&'static str>,
    freed: OnceLock<EventId>,
}

impl Aside {
    /// For a request whose gateway showed its key.
    pub fn of(app: &App, headers: &HeaderMap) -> Option<Arc<Aside>> {
        auth::from_gateway(&app.settings, headers).then(Arc::default)
    }

    /// How a request for a seat ended. Without it the gateway gives the request's mark back itself.
    pub fn tell_outcome(&self, code: &'static str) {
        let _ = self.outcome.set(code);
    }

    pub fn write(&self, app: &App, mut reply: Reply) -> Reply {
        reply = reply.with(AUTH, HeaderValue::from_static(app.settings.auth_mode.name()));
        if app.draining() {
            reply = reply.with(STOPS, HeaderValue::from_static("1"));
        }
        if let Some(outcome) = self.outcome.get() {
            reply = reply.with(OUTCOME, HeaderValue::from_static(outcome));
            let ledger = app.door.ledger().and_then(|ledger| HeaderValue::from_str(&ledger).ok());
            if let Some(ledger) = ledger {
                reply = reply.with(LEDGER, ledger);
            }
        }
        match self.freed.get() {
            Some(event) => reply.with(FREED, event.0.into()),
            None => reply,
        }
    }
}

impl Incoming {
    /// The client's address, as far as it is known.
    pub(super) fn address(&self) -> IpAddr {
        let told = self.gateway.as_ref().and_then(|_| self.headers.get(ADDRESS)?.to_str().ok()?.parse().ok());
        told.unwrap_or(self.peer.ip())
    }

    /// The client's own address, if it is known: a proxy's says nothing about who asks.
    pub(super) fn client_address(&self, app: &App) -> Option<IpAddr> {
        let proxied = self.gateway.is_some() || app.settings.allow_trusted_header;
        if proxied && !self.headers.contains_key(ADDRESS) {
            return None;
        }
        Some(self.address())
    }

    /// Who shows a token, right or wrong.
    pub(super) fn guess(&self) -> Option<IpAddr> {
        self.headers.contains_key(AUTHORIZATION).then(|| self.address())
    }

    /// Where a request for a seat comes from, and how it was let in.
    pub(super) fn came(&self) -> Result<Came, Refusal> {
        let unlike = |name: &'static str, what| FieldError::refused(name, Problem::Expected(what));
        if self.gateway.is_none() {
            return Ok(Came { address: self.peer.ip().into(), let_in: None });
        }
        let address = match self.said(&ADDRESS, "X-Gateway-Address")? {
            None => self.peer.ip(),
            Some(text) => text.parse::<IpAddr>().map_err(|_| unlike("X-Gateway-Address", Expected::IpAddress))?,
        };
        let name = self.said(&REQUEST, "X-Gateway-Request")?;
        let let_in = match self.said(&NUMBER, "X-Fcfs-Seq")? {
            None => None,
            Some(number) => Some(LetIn {
                name: name.and_then(name_of).ok_or_else(|| unlike("X-Gateway-Request", Expected::RequestName))?,
                number: number_of(number).ok_or_else(|| unlike("X-Fcfs-Seq", Expected::ArrivalNumber))?,
            }),
        };
        Ok(Came { address: address.into(), let_in })
    }

    fn said(&self, header: &HeaderName, field: &'static str) -> Result<Option<&str>, Refusal> {
        let mut all = self.headers.get_all(header).iter();
        let first = all.next();
        if all.next().is_some() {
            return Err(FieldError::refused(field, Problem::Repeated));
        }
        first.map(|value| value.to_str().map_err(|_| FieldError::refused(field, Problem::NotUtf8))).transpose()
    }

    /// Tells the gateway that stock came back in this event, or that its sale may have begun. A refusal and a replay
    /// changed nothing.
    pub fn tell_gateway_freed(&self, event: EventId, answer: &Answer) {
        let changed = matches!(answer.outcome, Outcome::Done(_)) && !answer.replayed;
        if changed && let Some(aside) = &self.gateway {
            let _ = aside.freed.set(event);
        }
    }

    /// Removes the mark that a gateway set for a request which was refused before a lane took it: no
    /// lane will.
    pub async fn release_mark(&self, app: &App) {
        let Ok(Came { let_in: Some(let_in), .. }) = self.came() else { return };
        let (Ok(Some(user)), Ok(event)) = (self.named_user(app).await, self.event()) else { return };
        let releasing = app.door.release(event, vec![Release { user, name: let_in.name }]);
        let _ = tokio::time::timeout(RELEASE_TIME, tokio::spawn(releasing)).await;
    }
}

fn number_of(text: &str) -> Option<Number> {
    whole(text).filter(|number| (1..=i64::MAX as u64).contains(number)).map(Number)
}

fn name_of(text: &str) -> Option<RequestName> {
    let plain = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if plain { u128::from_str_radix(text, 16).ok().map(RequestName) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_have_one_spelling() {
        assert_eq!(number_of("1000000001"), Some(Number(1_000_000_001)));
        for bad in ["", "0", "01", "+1", "-1", "1.0", "1e3", " 1", "9223372036854775808", "99999999999999999999"] {
            assert_eq!(number_of(bad), None, "{bad}");
        }
        assert_eq!(name_of("000000000000000000000000000000ff"), Some(RequestName(255)));
        for bad in ["", "ff", "000000000000000000000000000000FF", "+00000000000000000000000000000ff"] {
            assert_eq!(name_of(bad), None, "{bad}");
        }
    }
}
