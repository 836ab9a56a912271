//! A server on which every operation can succeed: whatever a call needs is made right before it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use salvo::conn::{Acceptor, TcpListener};
use salvo::{Listener, Server};
use serde_json::json;
use server::http::plumbing::body::Takes;
use server::http::plumbing::operation::{Operation, Route};
use server::http::routes::router;
use testing::http::{TestClient, TestResponse};
use testing::server::TestServer;

use crate::holds::{day, hold, hold_id, nights, seats};
use crate::waiting::Person;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Nobody,
    /// Whose reservation, hold or place in line it is.
    User,
    OtherUser,
    AdminToken,
    ViewerToken,
    ServiceToken,
    WrongToken,
    /// Only the user's ticket.
    Ticket,
    /// The other user's token, and the user's name in the user header.
    Impostor,
}

impl Caller {
    pub const ALL: [Caller; 8] = [
        Caller::Nobody,
        Caller::User,
        Caller::OtherUser,
        Caller::AdminToken,
        Caller::ViewerToken,
        Caller::ServiceToken,
        Caller::WrongToken,
        Caller::Ticket,
    ];
}

/// One call of the matrix.
pub struct Row<'a> {
    pub path: &'static str,
    pub operation: &'a Operation,
    pub caller: Caller,
    pub dialect: &'static str,
}

impl Row<'_> {
    /// The path names something that belongs to one user.
    pub fn has_owner(&self) -> bool {
        self.path.contains("{reservationId}") || self.path.contains("{holdId}")
    }
}

pub struct Stage {
    stand: TestServer,
    address: SocketAddr,
    room_type: u64,
    /// `Bearer` and the token.
    viewer: String,
    service: String,
    /// Calls so far: every call has users, a seat and a telephone number of its own.
    calls: u64,
    pub anonymous: bool,
    pub confirmed_by_service: bool,
    /// Users show tokens.
    pub tokens: bool,
    /// The page that asks.
    pub origin: Option<&'static str>,
}

/// What was made for one call.
struct Prepared {
    target: String,
    user: String,
    other: String,
    ticket: String,
}

impl Stage {
    pub async fn new(settings: &[(&str, &str)]) -> Stage {
        let settings: Vec<_> = settings.iter().copied().chain([("FCFS_SEATS", "5000")]).collect();
        let stand = TestServer::embedded(&settings).await;
        let body = json!({ "name": "Double", "totalQuantity": 1000 });
        let made = stand.admin("POST", "room-types", &body).await.json();
        let room_type = made["roomType"]["id"].as_u64().unwrap();
        let address = stand.address;
        let mut tokens = Vec::new();
        for role in ["viewer", "service"] {
            let made = stand.admin("POST", "tokens", &json!({ "name": role, "role": role })).await;
            assert_eq!(made.status, 201, "{}", made.text());
            tokens.push(format!("Bearer {}", made.json()["secret"].as_str().unwrap()));
        }
        let (service, viewer) = (tokens.pop().unwrap(), tokens.pop().unwrap());
        Stage {
            stand,
            address,
            room_type,
            viewer,
            service,
            calls: 0,
            anonymous: true,
            confirmed_by_service: false,
            tokens: false,
            origin: None,
        }
    }

    pub fn callers(&self) -> Vec<Caller> {
        let impostor = self.tokens.then_some(Caller::Impostor);
        Caller::ALL.into_iter().chain(impostor).collect()
    }

    /// From now on calls go to a server with these routes only, on the same stores.
    pub async fn serve_instead(&mut self, table: Vec<Route>) {
        let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
        self.address = acceptor.holdings()[0].local_addr.clone().into_std().unwrap();
        tokio::spawn(Server::new(acceptor).serve(router(&self.stand.app, table)));
    }

    /// The answer, and which outcomes were counted meanwhile: operation and code.
    pub async fn call(&mut self, row: &Row<'_>) -> (TestResponse, Vec<(String, String)>) {
        self.calls += 1;
        let (kind, body) = match row.operation.takes {
            Takes::Nothing => ("", String::new()),
            Takes::Bytes { .. } => ("", "{}".to_owned()),
            Takes::Json { schema, .. } | Takes::PerhapsJson { schema, .. } | Takes::JsonByDialect { schema, .. } => {
                ("application/json", self.sample(schema))
            }
        };
        let prepared = self.prepare(row).await;
        let before = self.counted();
        let answer = self.send(row, &prepared, kind, &body).await;
        (answer, self.counted_since(&before))
    }

    /// Any request of nobody.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (TestResponse, Vec<(String, String)>) {
        let before = self.counted();
        let answer = TestClient::new(self.address).send(method, path, headers, "").await;
        (answer, self.counted_since(&before))
    }

    /// With a body of the test's own.
    pub async fn call_with(&mut self, row: &Row<'_>, kind: &str, body: &str) -> TestResponse {
        self.calls += 1;
        let prepared = self.prepare(row).await;
        self.send(row, &prepared, kind, body).await
    }

    async fn send(&self, row: &Row<'_>, prepared: &Prepared, kind: &str, body: &str) -> TestResponse {
        let token = format!("Bearer {}", self.stand.app.admin_token);
        let others = self.stand.mint().map(|mint| format!("Bearer {}", mint(&prepared.other))).unwrap_or_default();
        let mut headers = vec![("Api-Version", row.dialect)];
        if !kind.is_empty() {
            headers.push(("Content-Type", kind));
        }
        headers.extend(self.origin.map(|origin| ("Origin", origin)));
        match row.caller {
            Caller::Nobody => {}
            Caller::User => headers.push(("X-User-Id", &prepared.user)),
            Caller::OtherUser => headers.push(("X-User-Id", &prepared.other)),
            Caller::AdminToken => headers.push(("Authorization", &token)),
            Caller::ViewerToken => headers.push(("Authorization", &self.viewer)),
            Caller::ServiceToken => headers.push(("Authorization", &self.service)),
            Caller::WrongToken => headers.push(("Authorization", "Bearer not-the-token")),
            Caller::Ticket => headers.push(("X-Queue-Ticket", &prepared.ticket)),
            // In this spelling the client adds no token of its own.
            Caller::Impostor => headers.extend([("x-user-id", prepared.user.as_str()), ("Authorization", &others)]),
        }
        let method = row.operation.method.as_str();
        let mut client = TestClient::new(self.address);
        if let Some(mint) = self.stand.mint() {
            client = client.with_tokens(mint);
        }
        client.send(method, &prepared.target, &headers, body).await
    }

    /// A body that succeeds. A new schema needs a line here.
    fn sample(&self, schema: &str) -> String {
        let n = self.calls;
        match schema {
            "Buyer" => {
                json!({ "userName": "Alice", "phone": format!("010-{:04}-{:04}", 1000 + n / 9000, 1000 + n % 9000) })
            }
            "NewHold" => nights(self.room_type, 1, 2, n),
            "NewEvent" => json!({ "name": "Gala", "seats": 9 }),
            "Amendment" => json!({ "maxPerUser": 4 }),
            "NewWebhook" => json!({ "url": "https://localhost:1/", "enabled": false }),
            "WebhookAmendment" => json!({ "types": ["hold.expired"] }),
            "WebhookRotation" => json!({ "overlapSeconds": 60 }),
            "WebhookReplay" => json!({ "eventId": 1, "from": 1 }),
            "NewRoomType" => json!({ "name": "Suite", "totalQuantity": 2 }),
            "NewAdminToken" => json!({ "name": format!("token-{n}"), "role": "viewer" }),
            "TokenRotation" => json!({ "graceSeconds": 60 }),
            "Confirmation" => json!({ "userName": "Alice" }),
            "Cancellation" => json!({ "reason": "Ill" }),
            "RoomTypeAmendment" => json!({ "price": 100 }),
            other => panic!("no sample of a {other}"),
        }
        .to_string()
    }

    async fn prepare(&self, row: &Row<'_>) -> Prepared {
        let n = self.calls;
        let (user, other) = (format!("alice-{n}"), format!("bob-{n}"));
        let mut client = self.stand.client();
        let mut target = row.path.replace("{seatId}", &n.to_string()).replace("/assets/{file}", "/assets/page.css");
        target = target.replace("/openapi/{file}", "/openapi/1.0.json").replace("{file}", "swagger-ui.css");
        target = target.replace("{roomTypeId}", &self.room_type.to_string()).replace("{userId}", &user);
        if target.ends_with("/availability") {
            target += &format!("?checkIn={}&checkOut={}", day(1), day(2));
        }
        if row.path == "/api/v1/admin/reservations" || row.path == "/api/v1/admin/holds" {
            target += "?user=alice";
        }
        if row.operation.doc.month {
            target += &format!("?month={}", &day(1)[..7]);
        }
        let mut ticket = "no-ticket".to_owned();
        if target.contains("/queue") || row.caller == Caller::Ticket {
            let body = json!({ "name": "W", "seats": 9, "waitingRoom": {} });
            let made = self.stand.admin("POST", "events", &body).await.json();
            let event = made["event"]["id"].as_u64().unwrap();
            let mut alice = Person::new(&self.stand, event, &user);
            assert_eq!(alice.join().await.status, 200);
            assert_eq!(Person::new(&self.stand, event, &other).join().await.status, 200);
            ticket = alice.ticket.clone().unwrap();
            if target.contains("/queue") {
                target = target.replace("{eventId}", &event.to_string());
            }
        }
        if target.contains("{eventId}") {
            let event = self.stand.event(5000, 1).await;
            target = target.replace("{eventId}", &event.to_string());
            if target.ends_with("/resume") {
                self.stand.admin("POST", &format!("events/{event}/pause"), &json!(null)).await;
            }
            if target.ends_with("/unarchive") {
                self.stand.admin("POST", &format!("events/{event}/archive"), &json!(null)).await;
            }
        }
        if target.contains("{tokenName}") {
            let name = format!("t-{n}");
            let body = json!({ "name": name, "role": "viewer" });
            assert_eq!(self.stand.admin("POST", "tokens", &body).await.status, 201);
            if target.ends_with("/replaced") {
                let path = format!("tokens/{name}/rotate");
                assert_eq!(self.stand.admin("POST", &path, &json!({})).await.status, 201);
            }
            target = target.replace("{tokenName}", &name);
        }
        if target.contains("{webhookId}") {
            // There may be a hundred of them at a time.
            let known = self.stand.admin("GET", "webhooks", &json!(null)).await.json();
            for webhook in known["webhooks"].as_array().unwrap() {
                self.stand.admin("DELETE", &format!("webhooks/{}", webhook["id"]), &json!(null)).await;
            }
            let body = json!({ "url": "https://localhost:1/", "enabled": false });
            let made = self.stand.admin("POST", "webhooks", &body).await;
            assert_eq!(made.status, 201, "{}", made.text());
            target = target.replace("{webhookId}", &made.json()["webhook"]["id"].to_string());
        }
        if target.contains("{reservationId}") {
            let event = self.stand.event(9, 1).await;
            let id = client.reserve(event, &user).await.json()["reservationId"].as_str().unwrap().to_owned();
            target = target.replace("{reservationId}", &id);
        }
        if target.contains("{holdId}") {
            let event = self.stand.event(9, 2).await;
            let held = hold(&mut client, &user, &seats(event, &[1, 2], n)).await;
            // What was just held cannot be extended within the same second.
            self.stand.advance_ms(1_000);
            target = target.replace("{holdId}", &hold_id(&held));
        }
        Prepared { target, user, other, ticket }
    }

    /// One entry per count.
    fn counted_since(&self, before: &BTreeMap<(String, String), u64>) -> Vec<(String, String)> {
        let counted = self.counted().into_iter().flat_map(|(outcome, times)| {
            let more = times - before.get(&outcome).copied().unwrap_or(0);
            std::iter::repeat_n(outcome, usize::try_from(more).unwrap())
        });
        counted.collect()
    }

    /// Outcomes so far, by operation and code.
    fn counted(&self) -> BTreeMap<(String, String), u64> {
        let text = self.stand.app.metrics.text(&self.stand.app);
        let lines = text.lines().filter_map(|line| line.strip_prefix("tickettock_outcomes_total{"));
        let outcome = |line: &str| -> Option<((String, String), u64)> {
            let (labels, times) = line.split_once("} ")?;
            let label = |name: &str| {
                let value = labels.split(',').find_map(|label| label.strip_prefix(name));
                value.map(|value| value.trim_matches(['=', '"']).to_owned())
            };
            Some(((label("operation")?, label("outcome")?), times.parse().ok()?))
        };
        lines.map(|line| outcome(line).unwrap_or_else(|| panic!("{line}"))).collect()
    }
}
