//! What browsers need to know of every answer: its type, that they must not guess another, who may keep it, and
//! which pages may read it. Walks the whole route table.

use salvo::http::Method;
use server::gate::GateRequest;
use server::http::respond::Speech;
use server::http::routes::table;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::server::TestServer;

use crate::auth_matrix::stage::{Row, Stage};
use crate::gateway::edge::{Edge, FCFS, JSON};

const SHOP: &str = "https://shop.example";
const STRANGER: &str = "https://evil.example";
const ALLOWED: [(&str, &str); 1] = [("CORS_ORIGINS", "https://shop.example,http://localhost:3000")];
const PREFLIGHT: (&str, &str) = ("Access-Control-Request-Method", "POST");

fn vary(answer: &TestResponse) -> String {
    let all: Vec<&str> = answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap()).collect();
    all.join(", ")
}

/// What is true of every answer. `origin` is the page that asked, if it may read the answer.
fn sound(what: &str, answer: &TestResponse, origin: Option<&str>) {
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{what}");
    assert!(answer.header("cache-control").is_some(), "{what}");
    if !answer.body.is_empty() {
        let kind = answer.header("content-type").unwrap_or_default();
        // A stream of events is always UTF-8 and takes no charset.
        let known = kind.contains("; charset=utf-8") || kind == "text/event-stream" || kind.starts_with("image/");
        assert!(known, "{what}: {kind:?}");
    }
    assert!(vary(answer).contains("Origin"), "{what}: {}", vary(answer));
    assert_eq!(answer.header("access-control-allow-origin"), origin, "{what}");
    assert_eq!(answer.header("access-control-allow-credentials"), origin.map(|_| "true"), "{what}");
    let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
    for name in ["Retry-After", "ETag", "X-Request-Id", "Idempotent-Replayed"] {
        assert_eq!(exposed.contains(name), origin.is_some(), "{what}: {name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_of_every_route_is_sound() {
    let mut stage = Stage::new(&ALLOWED).await;
    let callers = stage.callers();
    for (origin, reads) in [(SHOP, Some(SHOP)), (STRANGER, None)] {
        stage.origin = Some(origin);
        for route in table() {
            let dialects: &[&str] =
                if route.speech == Speech::Plain { &["1.1"] } else { &["1.1", "2025-08-17", "1.0"] };
            for operation in &route.operations {
                for (caller, dialect) in callers.iter().flat_map(|c| dialects.iter().map(move |d| (*c, *d))) {
                    let row = Row { path: route.path, operation, caller, dialect };
                    let (answer, _) = stage.call(&row).await;
                    let what = format!("{} as {caller:?} in {dialect}: {}", operation.doc.id, answer.status);
                    sound(&what, &answer, reads);
                    let personal = operation.access.name() != "anyone" || answer.status >= 400;
                    if personal {
                        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
                    }
                }
                if let Some(most) = operation.takes.most() {
                    let row = Row { path: route.path, operation, caller: callers[1], dialect: "1.1" };
                    let answer = stage.call_with(&row, "application/json", &" ".repeat(most + 1)).await;
                    sound(&format!("{}, too large", operation.doc.id), &answer, reads);
                }
            }
            let path = route.path.replace(['{', '}'], "");
            for method in ["PUT", "OPTIONS"] {
                let (answer, _) = stage.ask(method, &path, &[("Origin", origin)]).await;
                sound(&format!("{method} {path}: {}", answer.status), &answer, reads);
                assert_eq!(answer.header("cache-control"), Some("no-store"));
            }
        }
        let (answer, _) = stage.ask("GET", "/no/such/path", &[("Origin", origin)]).await;
        sound("no such path", &answer, reads);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_exact_origins_are_answered() {
    let stand = TestServer::embedded(&ALLOWED).await;
    let mut client = stand.client();
    for path in [FCFS, "/v1/holds/x/confirm", "/api/v1/admin/events/1", "/no/such/path"] {
        for origin in [SHOP, "http://localhost:3000"] {
            let told = client.send("OPTIONS", path, &[("Origin", origin), PREFLIGHT], "").await;
            assert_eq!((told.status, told.text().as_str()), (204, ""), "{path}");
            sound(path, &told, Some(origin));
            let methods = told.header("access-control-allow-methods").unwrap();
            assert!(["GET", "POST", "PATCH", "DELETE"].iter().all(|method| methods.contains(method)), "{methods}");
            let headers = told.header("access-control-allow-headers").unwrap().to_lowercase();
            for name in
                ["authorization", "content-type", "idempotency-key", "api-version", "x-user-id", "x-queue-ticket"]
            {
                assert!(headers.contains(name), "{headers}");
            }
            assert!(told.header("access-control-max-age").is_some());
        }
    }
    for origin in
        [STRANGER, "null", "*", "https://shop.example.evil.example", "http://shop.example", "https://SHOP.example", ""]
    {
        let told = client.send("OPTIONS", FCFS, &[("Origin", origin), PREFLIGHT], "").await;
        assert_eq!(told.status, 405, "{origin}");
        sound(origin, &told, None);
    }
    let two = client.send("GET", "/api/v1/seats", &[("Origin", SHOP), ("Origin", STRANGER)], "").await;
    sound("two origins", &two, None);

    // Without the setting nothing is added.
    let plain = TestServer::embedded(&[]).await;
    let told = plain.client().send("GET", "/api/v1/seats", &[("Origin", SHOP)], "").await;
    assert_eq!(told.header("access-control-allow-origin"), None);
    assert_eq!(vary(&told), "Api-Version, Accept-Encoding");
    assert_eq!(plain.client().send("OPTIONS", FCFS, &[("Origin", SHOP), PREFLIGHT], "").await.status, 405);
}

/// A page must be able to read when to come again; and asking first is never refused for load.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_for_load_can_be_read() {
    let stand = TestServer::embedded(&ALLOWED).await;
    let asked = GateRequest::of(&Method::GET, "/api/v1/seats");
    let mut inside = Vec::new();
    while let Ok(admitted) = stand.app.gate.enter(GateRequest::of(&Method::POST, FCFS)) {
        inside.push(admitted);
        assert!(inside.len() < 1_000_000, "the gate is never full");
    }
    assert!(stand.app.gate.enter(asked).is_err());
    let mut client = stand.client();
    let told = client.send("GET", "/api/v1/seats", &[("Origin", SHOP)], "").await;
    assert_eq!(told.status, 503, "{}", told.text());
    sound("full", &told, Some(SHOP));
    assert!(told.header("retry-after").is_some());
    let told = client.send("OPTIONS", FCFS, &[("Origin", SHOP), PREFLIGHT], "").await;
    assert_eq!(told.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_the_gateway_are_sound() {
    let edge =
        Edge::new(&[ALLOWED[0], ("FCFS_SEATS", "1"), ("GATEWAY_WORKERS", "1"), ("GATEWAY_USER_RATE", "1")]).await;
    for (origin, reads) in [(SHOP, Some(SHOP)), (STRANGER, None)] {
        let mut client = TestClient::new(edge.gate.address());
        let from = ("Origin", origin);
        let buyer = |user| [JSON, from, ("X-User-Id", user)];
        client.send("POST", FCFS, &buyer("alice"), BUYER).await;
        client.send("POST", FCFS, &buyer("bob"), BUYER).await;
        let user = format!("late-{}", reads.is_some());
        let sold_out = client.send("POST", FCFS, &buyer(&user), BUYER).await;
        assert_eq!((sold_out.status, sold_out.reason().as_str()), (409, "sold_out"));
        let mut all = vec![
            ("sold out", sold_out),
            ("no user", client.send("POST", FCFS, &[JSON, from], BUYER).await),
            ("not JSON", client.send("POST", FCFS, &[from, ("X-User-Id", "x")], BUYER).await),
            ("too large", client.send("POST", FCFS, &buyer("x"), &" ".repeat(20_000)).await),
            ("odd path", client.send("GET", "/api//v1/seats", &[from], "").await),
            ("passed on", client.send("GET", "/api/v1/seats", &[from], "").await),
            ("not found", client.send("GET", "/no/such/path", &[from], "").await),
            ("wrong method", client.send("PUT", FCFS, &[from, ("X-User-Id", "x")], "").await),
        ];
        for _ in 0..20 {
            all.push(("many", client.send("GET", "/v1/holds", &[from, ("X-User-Id", "often")], "").await));
        }
        assert!(all.iter().any(|(_, answer)| answer.status == 429), "nobody was limited");
        for (what, answer) in &all {
            sound(&format!("{what}: {} {}", answer.status, answer.text()), answer, reads);
        }
        let preflight = client.send("OPTIONS", FCFS, &[from, PREFLIGHT], "").await;
        assert_eq!(preflight.status, if reads.is_some() { 204 } else { 405 }, "{}", preflight.text());
        sound("preflight", &preflight, reads);
    }
    // No server left.
    edge.gate.turn_to(&[([127, 0, 0, 1], testing::free_port()).into()]);
    let told = edge.client().send("GET", "/api/v1/seats", &[("Origin", SHOP)], "").await;
    assert_eq!(told.status, 503);
    sound("no server", &told, Some(SHOP));
}
