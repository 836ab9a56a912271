//! What a request is about, as far as method and path show it.

use rules::ids::FIRST_EVENT;
use salvo::http::Method;

use crate::http::respond::{Dialect, Speech};

/// Kinds of requests, the least important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    Read,
    Join,
    Reserve,
    Hold,
    Cancel,
    Confirm,
    /// Health checks, metrics and the admin API are never refused here.
    Operate,
}

impl RequestKind {
    /// The pressure, in percent of what the server can take, from which this kind is refused.
    pub fn refused_from(self) -> usize {
        match self {
            RequestKind::Read => 70,
            RequestKind::Join => 85,
            RequestKind::Reserve => 100,
            RequestKind::Hold => 115,
            RequestKind::Cancel => 130,
            RequestKind::Confirm => 150,
            RequestKind::Operate => usize::MAX,
        }
    }

    /// The budget that a request spends, per user and per address. Polls and confirmations spend none: they keep
    /// what their sender already has.
    pub fn spent(method: &Method, path: &str) -> Option<RequestKind> {
        let kind = GateRequest::of(method, path).kind;
        let budgeted =
            matches!(kind, RequestKind::Join | RequestKind::Reserve | RequestKind::Hold | RequestKind::Cancel);
        (budgeted && !method.is_safe()).then_some(kind)
    }

    /// Whether it passes a lane, so that its duration measures the ledger.
    pub fn changes(self) -> bool {
        matches!(self, RequestKind::Reserve | RequestKind::Hold | RequestKind::Cancel | RequestKind::Confirm)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateRequest {
    pub kind: RequestKind,
    /// The event in the path. 0: the path names none.
    pub event: i64,
    pub speech: Speech,
}

impl GateRequest {
    pub fn of(method: &Method, path: &str) -> GateRequest {
        let (event, rest) = match path.strip_prefix("/api/v1/") {
            None => (0, path),
            Some(rest) => match rest.strip_prefix("events/") {
                None if rest.starts_with("seats") || rest == "stream" => (FIRST_EVENT.0, rest),
                None => (0, rest),
                Some(rest) => {
                    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
                    (id.parse().unwrap_or(0), rest)
                }
            },
        };
        let event = if rest == "/fcfs/join" { FIRST_EVENT.0 } else { event };
        let speech = match path {
            "/api/v1/seats/reservation" => Speech::Every(Dialect::V1_0),
            _ if rest.starts_with("seats") || rest == "/fcfs/join" => Speech::Every(Dialect::V1_1),
            _ if path.starts_with("/v1/") => Speech::Seed004,
            _ => Speech::Plain,
        };
        GateRequest { kind: kind(method, path, rest), event, speech }
    }
}

/// `rest` is the path without the part that names the event.
fn kind(method: &Method, path: &str, rest: &str) -> RequestKind {
    if matches!(path, "/livez" | "/readyz" | "/metrics") || rest.starts_with("admin/") {
        return RequestKind::Operate;
    }
    match *method {
        Method::POST if rest.ends_with("/confirm") => RequestKind::Confirm,
        Method::POST if rest.starts_with("/v1/holds") || rest.starts_with("holds") => RequestKind::Hold,
        // A client that is refused a ticket sees the public messages only.
        Method::POST if rest == "queue" || rest == "stream-ticket" => RequestKind::Join,
        Method::POST => RequestKind::Reserve,
        Method::DELETE => RequestKind::Cancel,
        // Clients in line keep their place by polling.
        _ if rest == "queue" => RequestKind::Join,
        _ => RequestKind::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::routes::table;

    #[test]
    fn kinds_follow_method_and_path() {
        let cases = [
            ("POST", "/api/v1/events/7/seats/reservation/fcfs", RequestKind::Reserve, 7),
            ("POST", "/api/v1/seats/reservation/fcfs", RequestKind::Reserve, 1),
            ("POST", "/fcfs/join", RequestKind::Reserve, 1),
            ("POST", "/api/v1/events/7/queue", RequestKind::Join, 7),
            ("GET", "/api/v1/events/7/queue", RequestKind::Join, 7),
            ("POST", "/api/v1/events/7/queue/enter", RequestKind::Reserve, 7),
            ("GET", "/api/v1/events/7/seats", RequestKind::Read, 7),
            ("POST", "/v1/holds", RequestKind::Hold, 0),
            ("POST", "/v1/holds/x/confirm", RequestKind::Confirm, 0),
            ("POST", "/v1/holds/x/extend", RequestKind::Hold, 0),
            ("DELETE", "/v1/holds/x", RequestKind::Cancel, 0),
            ("DELETE", "/api/v1/reservations/e1-2", RequestKind::Cancel, 0),
            ("GET", "/livez", RequestKind::Operate, 0),
            ("PATCH", "/api/v1/admin/events/1", RequestKind::Operate, 0),
            ("GET", "/", RequestKind::Read, 0),
        ];
        for (method, path, kind, event) in cases {
            let asked = GateRequest::of(&method.parse().unwrap(), path);
            assert_eq!((asked.kind, asked.event), (kind, event), "{method} {path}");
        }
    }

    /// Routes of operators are never refused, others are; and the gate knows every route's dialects.
    #[test]
    fn only_operators_and_health_pass_always() {
        for route in table() {
            for operation in &route.operations {
                let always = GateRequest::of(&operation.method, route.path).kind == RequestKind::Operate;
                let admin = operation.access.is_operators();
                let health = matches!(route.path, "/livez" | "/readyz" | "/metrics");
                assert_eq!(always, admin || health, "{}", operation.doc.id);
                assert_eq!(GateRequest::of(&operation.method, route.path).speech, route.speech, "{}", operation.doc.id);
            }
        }
    }
}
