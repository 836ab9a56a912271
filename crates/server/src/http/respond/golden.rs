//! Every outcome in every dialect and language as snapshots, and the page that explains them.

use std::fmt::Write;
use std::sync::Arc;

use rules::ids::{EventId, Number, ReservationId, Seat};
use rules::outcome::{FieldError, Problem, Refusal, Reserved};
use rules::seats::Hall;

use super::{Caller, Card, Dialect, Language, Refused, Reply, Retry, card, refused, reserved};
use crate::golden::same_as_file;

fn told(refusal: Refusal, asking: bool) -> Refused {
    let caller = asking.then(|| Caller(Some("alice".into())));
    // What is refused before the door has no arrival number.
    let samples = Refusal::samples();
    let at = |wanted: &Refusal| samples.iter().position(|sample| sample == wanted);
    let number = (asking && at(&refusal) >= at(&Refusal::KeyMismatch)).then_some(Number(42));
    Refused { refusal, hall: Some(Arc::new(Hall::Count(9))), number, caller, retry_after: None }
}

/// One sample per code and reason: what differs in facts alone needs no row of its own.
fn kinds() -> Vec<Refusal> {
    let mut kinds = Refusal::samples();
    kinds.dedup_by_key(|sample| card(sample).when);
    kinds
}

fn given(dialect: Dialect) -> Reply {
    let success = Reserved {
        reservation: ReservationId { event: EventId(1), n: 7 },
        seat: Seat(5),
        remaining: 3,
        user_ttl_s: Some(900),
        number: Some(Number(42)),
    };
    reserved(&success, &Hall::Count(9), &Caller(Some("alice".into())), dialect)
}

fn everything(dialect: Dialect, language: Language) -> String {
    let mut text = String::new();
    let mut line = |name: &str, reply: &Reply| {
        let (status, headers, body) = reply.described();
        let _ = writeln!(text, "{name}\n  {status} {}\n  {body}", headers.join("; "));
    };
    line("Reserved", &given(dialect));
    for sample in Refusal::samples() {
        let name = format!("{sample:?}");
        line(&name, &refused(&told(sample, true), dialect, language, "trace"));
    }
    text
}

fn pinned(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn every_outcome_in_every_dialect() {
    for dialect in Dialect::ALL {
        pinned(&format!("outcomes-{}", dialect.name()), &everything(dialect, Language::English));
    }
    pinned("outcomes-1.1-ko", &everything(Dialect::V1_1, Language::Korean));
}

#[test]
fn seed_dialects_keep_their_words_in_every_language() {
    for dialect in [Dialect::V1_0, Dialect::V2025_08_17] {
        assert_eq!(everything(dialect, Language::Korean), everything(dialect, Language::English));
    }
}

#[test]
fn every_problem_with_a_field_in_every_language() {
    let mut text = String::new();
    for problem in Problem::samples() {
        let name = format!("{problem:?}");
        let message = card(&FieldError::refused("name", problem)).message;
        let _ = writeln!(text, "{name}\n  {}\n  {}", message.en, message.ko);
    }
    pinned("fields", &text);
}

#[test]
fn messages_are_whole_sentences_without_our_own_terms() {
    let problems = Problem::samples().into_iter().map(|problem| FieldError::refused("name", problem));
    for refusal in Refusal::samples().into_iter().chain(problems) {
        let message = card(&refusal).message;
        let english = message.en.to_ascii_lowercase();
        for term in ["ledger", "door", "lane", "batch", "redis"] {
            assert!(!english.contains(term), "{term}: {}", message.en);
        }
        assert!(message.en.ends_with('.'), "{}", message.en);
        let hangul = message.ko.chars().any(|c| ('가'..='힣').contains(&c));
        let polite = message.ko.ends_with("니다.") || message.ko.ends_with("세요.");
        assert!(hangul && polite, "{}", message.ko);
    }
}

/// Where nobody asked for a seat, no dialect answers a refusal with 200.
#[test]
fn refusals_of_reads_keep_their_status() {
    for dialect in Dialect::ALL {
        for sample in Refusal::samples() {
            let reply = refused(&told(sample.clone(), false), dialect, Language::English, "trace");
            assert_eq!(reply.described().0, super::number(&sample), "{sample:?} in {}", dialect.name());
        }
    }
}

#[test]
fn retryable_refusals_carry_retry_after() {
    for dialect in Dialect::ALL {
        for sample in Refusal::samples() {
            let reply = refused(&told(sample.clone(), true), dialect, Language::English, "trace");
            let (_, headers, _) = reply.described();
            let says = headers.iter().any(|h| h.starts_with("retry-after: ") && !h.ends_with(" 0"));
            assert_eq!(says, matches!(card(&sample).retry, Retry::After(_)), "{sample:?}");
        }
    }
}

#[test]
fn page_of_outcomes_is_written_from_the_cards() {
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
        let answer = |dialect| refused(&told(sample.clone(), true), dialect, Language::English, "...");
        let cells = columns.map(|dialect| cell(dialect, answer(dialect)));
        row(&mut page, card(&sample).code, card(&sample).when, cells);
    }
    page.push_str(NEXT);
    for sample in kinds() {
        let Card { code, when, retry, buyer, author, operator, .. } = card(&sample);
        let retry = match retry {
            Retry::No => "no",
            Retry::Corrected => "corrected",
            Retry::After(_) => "after `Retry-After`",
        };
        let _ = writeln!(page, "| `{code}` | {when} | {retry} | {buyer} | {author} | {operator} |");
    }
    page.push_str(MESSAGES);
    let mut samples = Refusal::samples();
    samples.dedup_by_key(|sample| (card(sample).code, card(sample).message.en));
    for sample in samples {
        let Card { code, message, .. } = card(&sample);
        let _ = writeln!(page, "| `{code}` | {} | {} |", message.en, message.ko);
    }
    page.push_str(FIELDS);
    for problem in Problem::samples() {
        let message = card(&FieldError::refused("name", problem)).message;
        let _ = writeln!(page, "| {} | {} |", message.en, message.ko);
    }
    same_as_file("docs/outcomes.md", &page);
}

const INTRODUCTION: &str = "# Outcomes

Every request ends in one of these. Where several apply, the first in this list is the answer.
The suite writes this page from the cards that the server answers with (`crates/server/src/http/respond/cards/`;
`INSTA_UPDATE=always cargo test -p tickettock`). The whole bodies are in `crates/server/src/http/respond/snapshots/`.

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

const MESSAGES: &str = "
## Messages

`message` in dialect 1.1 is English, or Korean where `Accept-Language` prefers `ko`; `Content-Language` says which.
Programs read `reason`; a message may be reworded. The dialects of the seeds do not look at `Accept-Language`, and
their words stay as they are.

| outcome | English | Korean |
|---|---|---|
";

const FIELDS: &str = "
What may be wrong with a field, header or parameter (`validation`, here about `name`):

| English | Korean |
|---|---|
";
