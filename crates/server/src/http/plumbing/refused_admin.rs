//! Refused requests of operators, noted in the history: who tried what, and from where. They are bounded per address
//! and in all, so that nobody can fill the disk with them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rules::history::{Happened, RequestOrigin};
use rules::ids::ClientAddress;
use rules::outcome::Refusal;
use salvo::http::header::AUTHORIZATION;
use salvo::http::{HeaderMap, Method};
use stores::ledger::records::LedgerNote;

use super::call::Incoming;
use crate::app::App;
use crate::auth;
use crate::http::respond;

/// Notes in a minute, of one address and of all.
const OF_ONE: u32 = 10;
const OF_ALL: u32 = 100;
const MINUTE: Duration = Duration::from_secs(60);

/// A refusal does not wait longer for its note.
const NOTING: Duration = Duration::from_secs(1);

/// How many characters of a path are noted.
const PATH_CHARS: usize = 200;

/// What was noted in this minute.
#[derive(Debug, Default)]
pub struct RefusalNotes(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    began: Option<Instant>,
    all: u32,
    by_address: HashMap<ClientAddress, u32>,
}

impl RefusalNotes {
    /// Whether there is room for one more.
    fn room_for(&self, from: ClientAddress, now: Instant) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.began.is_none_or(|began| now.duration_since(began) >= MINUTE) {
            *noted = Noted { began: Some(now), ..Noted::default() };
        }
        let of_one = noted.by_address.get(&from).copied().unwrap_or_default();
        if of_one >= OF_ONE || noted.all >= OF_ALL {
            return false;
        }
        noted.all += 1;
        noted.by_address.insert(from, of_one + 1);
        true
    }
}

/// A request of an operator, remembered until it is known how it ended.
pub struct AdminAttempt {
    origin: RequestOrigin,
    reads: bool,
    what: String,
    /// Only the token.
    headers: HeaderMap,
}

impl AdminAttempt {
    pub fn of(request: &Incoming) -> AdminAttempt {
        let token = request.headers.get(AUTHORIZATION).map(|token| (AUTHORIZATION, token.clone()));
        let path: String = request.uri.path().chars().take(PATH_CHARS).collect();
        AdminAttempt {
            origin: request.origin(),
            reads: matches!(request.method, Method::GET | Method::HEAD),
            what: format!("{} {path}", request.method),
            headers: token.into_iter().collect(),
        }
    }

    /// Notes that it was refused: a change for whatever reason but our own trouble, a read for want of a right.
    pub async fn refused(self, app: &App, refusal: &Refusal) {
        let no_right = matches!(refusal, Refusal::Unauthorized | Refusal::Forbidden(_));
        let trouble = matches!(refusal, Refusal::Internal | Refusal::Overloaded | Refusal::LedgerUnreachable);
        if trouble || (self.reads && !no_right) {
            return;
        }
        let from = self.origin.address.map(ClientAddress::from);
        if !from.is_some_and(|from| app.refusal_notes.room_for(from, Instant::now())) {
            app.metrics.refusal_not_noted();
            return;
        }
        let by = auth::operator_name(app, &self.headers).await;
        let detail = Some(format!("{} {}", self.what, respond::code(refusal)).into());
        let note = LedgerNote { what: Happened::Refused, by, owner: None, origin: self.origin, detail };
        let noted = tokio::time::timeout(NOTING, app.ledger.note(note)).await;
        if !matches!(noted, Ok(Ok(()))) {
            app.metrics.refusal_not_noted();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_bounded_per_address_and_in_all() {
        let (notes, now) = (RefusalNotes::default(), Instant::now());
        let address = |i: u8| ClientAddress::V4([192, 0, 2, i]);
        let fit = |from: u8, now: Instant| (0..50).filter(|_| notes.room_for(address(from), now)).count();
        assert_eq!(fit(1, now), 10);
        let others: usize = (2..40).map(|from| fit(from, now)).sum();
        assert_eq!(others, 90);
        assert_eq!(fit(1, now + MINUTE), 10, "a new minute");
    }
}
