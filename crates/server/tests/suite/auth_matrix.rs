//! The access matrix: every operation of the route table, called by every kind of caller on a running server.
//! What is expected comes from `golden/access.txt`, which is pinned apart from the code: loosening
//! an operation fails here, and shows up in review. A new route is in the matrix by itself.

pub mod stage;

use std::collections::BTreeMap;

use server::http::openapi::operations as doc;
use server::http::plumbing::access::Anyone;
use server::http::plumbing::body::{NoBody, Takes};
use server::http::plumbing::operation::{Operation, Route};
use server::http::resources::events;
use server::http::respond::Speech;
use server::http::routes::table;
use stage::{Caller, Row, Stage};

/// How the access check of a request ended.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Admitted,
    MissingUser,
    Unauthorized,
    /// It belongs to another user.
    Forbidden,
    Other(u16, String),
}

/// The pinned access list: operation id to the name of its access.
fn pinned() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(ACCESS_LIST).unwrap();
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.map(|row| (row[0].to_owned(), row[1].to_owned())).collect()
}

const ACCESS_LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/access.txt");

/// The same from the code: id, access, method, path, body.
fn access_list(table: &[Route]) -> String {
    let mut lines = Vec::new();
    for route in table {
        for operation in &route.operations {
            let body = match operation.takes {
                Takes::Nothing => "-".to_owned(),
                Takes::Bytes { most } => format!("any bytes, at most {most}"),
                Takes::Json { schema, most } => format!("{schema}, at most {most}"),
                Takes::PerhapsJson { schema, most } => format!("{schema} or nothing, at most {most}"),
                Takes::JsonByDialect { schema, most } => format!("{schema} by dialect, at most {most}"),
            };
            let (id, access, method) = (operation.doc.id, operation.access.name(), operation.method.as_str());
            lines.push(format!("{id:<24} {access:<17} {method:<6} {:<55} {body}\n", route.path));
        }
    }
    lines.sort();
    lines.concat()
}

fn expected(stage: &Stage, access: &str, row: &Row<'_>) -> Verdict {
    let by_user = match row.caller {
        Caller::User => Verdict::Admitted,
        Caller::OtherUser if row.has_owner() => Verdict::Forbidden,
        Caller::OtherUser => Verdict::Admitted,
        Caller::Impostor => Verdict::Forbidden,
        _ if stage.tokens => Verdict::Unauthorized,
        _ => Verdict::MissingUser,
    };
    // The admin's token does everything; one with another role is known, and refused where its role is not enough.
    let by_role = |role: Option<Caller>| match row.caller {
        Caller::AdminToken => Verdict::Admitted,
        caller if Some(caller) == role => Verdict::Admitted,
        Caller::ViewerToken | Caller::ServiceToken => Verdict::Forbidden,
        _ => Verdict::Unauthorized,
    };
    match access {
        "anyone" => Verdict::Admitted,
        "user" => by_user,
        "user-or-nobody" if row.dialect == "2025-08-17" && stage.anonymous => Verdict::Admitted,
        "user-or-nobody" => by_user,
        "user-or-ticket" if row.caller == Caller::Ticket => Verdict::Admitted,
        "user-or-ticket" => by_user,
        "owner-or-service" if stage.confirmed_by_service => by_role(Some(Caller::ServiceToken)),
        "owner-or-service" => by_user,
        "viewer" => by_role(Some(Caller::ViewerToken)),
        "admin" => by_role(None),
        other => panic!("golden/access.txt: what is {other}?"),
    }
}

fn verdict(operation: &Operation, status: u16, code: &str) -> Verdict {
    match (status, code) {
        (200 | 201, code) if code == operation.doc.done => Verdict::Admitted,
        (400, "missing_user") => Verdict::MissingUser,
        (401, "unauthorized") => Verdict::Unauthorized,
        (403, "forbidden" | "FORBIDDEN") => Verdict::Forbidden,
        (status, code) => Verdict::Other(status, code.to_owned()),
    }
}

/// Calls every operation as every kind of caller, and lists where the server and the pinned list differ.
async fn violations(stage: &mut Stage, table: &[Route], pinned: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for route in table {
        let dialects: &[&str] = if route.speech == Speech::Plain { &["1.1"] } else { &["1.1", "2025-08-17"] };
        for operation in &route.operations {
            let Some(access) = pinned.get(operation.doc.id) else {
                found.push(format!("{}: not in golden/access.txt", operation.doc.id));
                continue;
            };
            let callers = stage.callers();
            for (caller, dialect) in callers.iter().flat_map(|c| dialects.iter().map(move |d| (*c, *d))) {
                let row = Row { path: route.path, operation, caller, dialect };
                let (answer, counted) = stage.call(&row).await;
                let id = operation.doc.id;
                // Every call is counted once, under the operation's own name.
                let [(counted_as, code)] = &counted[..] else { panic!("{id} as {caller:?}: counted as {counted:?}") };
                assert_eq!(counted_as, id, "{caller:?}: {code}");
                let (verdict, expected) = (verdict(operation, answer.status, code), expected(stage, access, &row));
                if verdict != expected {
                    found.push(format!(
                        "{id} ({access}) as {caller:?} in {dialect}: {verdict:?}, expected {expected:?}: {}",
                        answer.text()
                    ));
                }
            }
        }
    }
    found
}

fn none(violations: &[String]) {
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn the_access_list_is_pinned() {
    let list = access_list(&table());
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(ACCESS_LIST, &list).unwrap();
    }
    let kept = std::fs::read_to_string(ACCESS_LIST).unwrap_or_default();
    assert_eq!(kept, list, "INSTA_UPDATE=always cargo test -p tickettock writes golden/access.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_admits_whom_it_declares() {
    let mut stage = Stage::new(&[]).await;
    none(&violations(&mut stage, &table(), &pinned()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn stricter_settings_narrow_access() {
    let mut stage = Stage::new(&[("CONFIRM_BY", "service"), ("FCFS_ANONYMOUS", "0")]).await;
    (stage.confirmed_by_service, stage.anonymous) = (true, false);
    let mut table = table();
    table.retain(|route| route.speech != Speech::Plain || route.path.contains("{holdId}"));
    none(&violations(&mut stage, &table, &pinned()).await);
}

/// The same operations, where a token says who asks.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_admit_the_same_callers() {
    let secret = "a-secret-of-the-tests-0123456789abcdef";
    let mut stage = Stage::new(&[("AUTH_MODE", "jwt"), ("JWT_SECRET", secret)]).await;
    (stage.tokens, stage.anonymous) = (true, false);
    none(&violations(&mut stage, &table(), &pinned()).await);
}

/// A planted bug: an admin operation that anyone may call.
fn loosened() -> Route {
    Route::at("/api/v1/admin/events", Speech::Plain).on(GET, Anyone, NoBody, events::list, doc::ADMIN_EVENTS)
}

const GET: salvo::http::Method = salvo::http::Method::GET;

#[tokio::test(flavor = "multi_thread")]
async fn a_loosened_operation_is_found() {
    let mut stage = Stage::new(&[]).await;
    stage.serve_instead(vec![loosened()]).await;
    let found = violations(&mut stage, &[loosened()], &pinned()).await;
    // All callers but the admin and the viewer, who are admitted as before.
    assert_eq!(found.len(), Caller::ALL.len() - 2, "{found:?}");
    assert!(found.iter().all(|line| line.starts_with("adminListEvents") && line.contains("Admitted")), "{found:?}");

    let row = access_list(&[loosened()]);
    assert!(row.starts_with("adminListEvents ") && row.contains(" anyone "), "{row}");
    assert!(!std::fs::read_to_string(ACCESS_LIST).unwrap().contains(&row), "the pinned list would not change");
}

/// What no operation answers is counted too, under one name whatever the path.
#[tokio::test(flavor = "multi_thread")]
async fn requests_without_an_operation_are_counted() {
    let stage = Stage::new(&[]).await;
    let unknown_dialect = [("Api-Version", "7")];
    for (method, path, headers, status, operation, code) in [
        ("GET", "/nothing/here", &[][..], 404, "unmatched", "not_found"),
        ("PUT", "/api/v1/events", &[], 405, "unmatched", "validation"),
        ("GET", "/nothing/here", &unknown_dialect, 400, "unmatched", "validation"),
        ("GET", "/api/v1/events", &unknown_dialect, 400, "listEvents", "validation"),
        ("HEAD", "/api/v1/events", &[], 200, "listEvents", "ok"),
    ] {
        let (answer, counted) = stage.ask(method, path, headers).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(counted, [(operation.to_owned(), code.to_owned())], "{method} {path}");
    }
}

/// The declared limits and types of bodies are the enforced ones.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_bounded_as_declared() {
    let mut stage = Stage::new(&[]).await;
    for route in table() {
        for operation in &route.operations {
            let id = operation.doc.id;
            let caller = if operation.access.is_operators() { Caller::AdminToken } else { Caller::User };
            let row = Row { path: route.path, operation, caller, dialect: "1.1" };
            let is_json = matches!(operation.takes, Takes::Json { .. } | Takes::JsonByDialect { .. });
            if let Some(most) = operation.takes.most() {
                let fits = stage.call_with(&row, "application/json", &" ".repeat(most)).await;
                assert_ne!(fits.status, 413, "{id}: {}", fits.text());
                let larger = stage.call_with(&row, "application/json", &" ".repeat(most + 1)).await;
                assert_eq!(larger.status, 413, "{id}: {}", larger.text());
                assert!(larger.text().contains(&most.to_string()), "{id}: {}", larger.text());
                let text = stage.call_with(&row, "text/plain", "x").await;
                assert_eq!(text.status == 415, is_json, "{id}: {}", text.text());
            }
        }
    }
}
