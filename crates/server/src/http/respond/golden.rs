//! The whole table of outcomes in every dialect, as a snapshot; and the page that explains it.

use std::fmt::Write;
use std::sync::Arc;

use rules::ids::{EventId, Number, ReservationId, Seat};
use rules::outcome::{Again, Refusal, Reserved};
use rules::seats::Hall;

use super::advice::Advice;
use super::{Caller, Dialect, Refused, Reply, refused, reserved};
use crate::golden::same_as_file;

fn told(refusal: Refusal, asking: bool) -> Refused {
    let caller = asking.then(|| Caller(Some("alice".into())));
    // What is refused before the door has no number.
    let samples = Refusal::samples();
    let at = |wanted: &Refusal| samples.iter().position(|sample| sample == wanted);
    let number = (asking && at(&refusal) >= at(&Refusal::KeyMismatch)).then_some(Number(42));
    Refused { refusal, hall: Some(Arc::new(Hall::Count(9))), number, caller }
}

/// One sample per kind and reason: what differs in facts alone needs no row of its own.
fn kinds() -> Vec<Refusal> {
    let mut kinds = Refusal::samples();
    kinds.dedup_by_key(|sample| Advice::on(sample).when);
    kinds
}

fn success() -> Reserved {
    Reserved {
        reservation: ReservationId { event: EventId(1), n: 7 },
        seat: Seat(5),
        remaining: 3,
        user_ttl_s: Some(900),
        number: Some(Number(42)),
    }
}

fn given(dialect: Dialect) -> Reply {
    reserved(&success(), &Hall::Count(9), &Caller(Some("alice".into())), dialect)
}

#[test]
fn every_outcome_in_every_dialect() {
    for dialect in Dialect::ALL {
        let mut text = String::new();
        let mut line = |name: &str, reply: &Reply| {
            let (status, headers, body) = reply.described();
            let _ = writeln!(text, "{name}\n  {status} {}\n  {body}", headers.join("; "));
        };
        line("Reserved", &given(dialect));
        for sample in Refusal::samples() {
            let name = format!("{sample:?}");
            line(&name, &refused(&told(sample, true), dialect, "trace"));
        }
        same_as_file(&format!("crates/server/golden/outcomes-{}.txt", dialect.name()), &text);
    }
}

/// Where nobody asked for a seat, no dialect answers a refusal with 200.
#[test]
fn reading_is_not_asking() {
    for dialect in Dialect::ALL {
        for sample in Refusal::samples() {
            let (status, ..) = refused(&told(sample.clone(), false), dialect, "trace").described();
            assert_eq!(status, super::number(&sample), "{sample:?} in {}", dialect.name());
        }
    }
}

#[test]
fn whatever_may_be_asked_again_says_when() {
    for dialect in Dialect::ALL {
        for sample in Refusal::samples() {
            let (_, headers, _) = refused(&told(sample.clone(), true), dialect, "trace").described();
            let says = headers.iter().any(|h| h.starts_with("retry-after: ") && !h.ends_with(" 0"));
            assert_eq!(says, matches!(sample.again(), Again::After(_)), "{sample:?}");
        }
    }
}

#[test]
fn the_page_of_outcomes() {
    let mut page = String::from(INTRODUCTION);
    page.push_str("| outcome | when | 1.1 | 2025-08-17 | 1.0 |\n|---|---|---|---|---|\n");
    let cell = |dialect: Dialect, reply: Reply| {
        let (status, _, body) = reply.described();
        let fixed = dialect == Dialect::V1_0 || (dialect == Dialect::V2025_08_17 && status == 200);
        if fixed { format!("{status} `{body}`") } else { status.to_string() }
    };
    let columns = [Dialect::V1_1, Dialect::V2025_08_17, Dialect::V1_0];
    let row = |page: &mut String, name: &str, when: &str, cells: [String; 3]| {
        let _ = writeln!(page, "| `{name}` | {when} | {} |", cells.join(" | "));
    };
    row(&mut page, "success", "a seat was given", columns.map(|dialect| cell(dialect, given(dialect))));
    for sample in kinds() {
        let cells = columns.map(|dialect| cell(dialect, refused(&told(sample.clone(), true), dialect, "...")));
        row(&mut page, sample.code(), Advice::on(&sample).when, cells);
    }
    page.push_str(NEXT);
    for sample in kinds() {
        let Advice { when, buyer, author, operator } = Advice::on(&sample);
        let again = match sample.again() {
            Again::No => "no",
            Again::Corrected => "corrected",
            Again::After(_) => "after `Retry-After`",
        };
        let _ = writeln!(page, "| `{}` | {when} | {again} | {buyer} | {author} | {operator} |", sample.code());
    }
    same_as_file("docs/outcomes.md", &page);
}

const INTRODUCTION: &str = "# Outcomes

Every request ends in one of these. Where several apply, the first in this list is the answer.
Written by the suite from the table that the server answers with (`UPDATE_GOLDEN=1 cargo test -p tickettock`);
the whole bodies are in `crates/server/golden/`.

`Api-Version` chooses the wording: `1.1` (the default), `2025-08-17`, or `1.0` (the default of
`POST /api/v1/seats/reservation`). Statuses below are those of a request that asks for a seat.
In 1.1 a refusal is `{\"success\":false,\"reason\":<outcome>,\"message\":...,\"traceId\":...}` plus facts; in 2025-08-17,
where no body is shown, `{\"error\":{\"code\",\"message\",\"trace_id\",\"meta\"}}`.

";

const NEXT: &str = "
## What to do next

| outcome | when | ask again | buyer | client's author | operator |
|---|---|---|---|---|---|
";
