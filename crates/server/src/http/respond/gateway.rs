//! What a gateway answers by itself, from the same cards: written as Lua, with a gap for every fact that
//! is known only when a request comes.

use std::fmt::Write;

use rules::outcome::{Expected, FieldError, Problem, Refusal};
use rules::time::Moment;

use super::{Caller, Dialect, Language, Refused, refused};
use crate::http::plumbing::body::{ADMIN_BODY_MOST, BODY_MOST};
use crate::http::wire;

/// Headers of one request at most: a Lua handler sees no more.
pub const HEADERS_MOST: usize = 100;

/// Placeholders for facts. Nothing else in an answer looks like them.
const RETRY: u64 = 4_000_000_001;
const LINE: usize = 4_000_000_002;
const COLUMN: usize = 4_000_000_003;
const TRACE: &str = "@trace@";
const CALLER: &str = "@caller@";
const OPENS: Moment = Moment(4_102_444_801_000);

/// Everything that a gateway refuses by itself, by the names that its Lua uses.
fn refusals() -> Vec<(&'static str, Refusal)> {
    vec![
        ("no_such_path", Refusal::NoSuchPath),
        ("too_large", Refusal::TooLarge { limit_bytes: BODY_MOST }),
        ("too_large_for_admin", Refusal::TooLarge { limit_bytes: ADMIN_BODY_MOST }),
        ("not_json_type", Refusal::NotJsonType),
        ("not_json", FieldError::refused("body", Problem::NotJson { line: LINE, column: COLUMN })),
        ("too_many_headers", FieldError::refused("headers", Problem::Count { least: 0, most: HEADERS_MOST })),
        ("malformed", FieldError::refused("request", Problem::Expected(Expected::WellFormedRequest))),
        ("missing_user", Refusal::MissingUser),
        ("unauthorized", Refusal::Unauthorized),
        ("rate_limited", Refusal::RateLimited { retry_after: RETRY }),
        ("address_spent", Refusal::AddressSpent { retry_after: RETRY }),
        ("already_asking", Refusal::AlreadyAsking { retry_after: RETRY }),
        ("not_open", Refusal::NotOpen { opens_at: Some(OPENS), retry_after: Some(RETRY) }),
        ("paused", Refusal::NotOpen { opens_at: None, retry_after: Some(rules::event::PAUSE_RETRY_S) }),
        ("closed", Refusal::Closed),
        ("sold_out", Refusal::SoldOut),
        ("held_out", Refusal::HeldOut { retry_after: RETRY }),
        ("door_unreachable", Refusal::DoorUnreachable),
        ("server_unreachable", Refusal::ServerUnreachable),
        ("auth_modes_differ", Refusal::AuthModesDiffer),
        ("overloaded", Refusal::Overloaded),
        ("door_failed", Refusal::DoorFailed),
        ("no_number", Refusal::NoNumber),
        ("internal", Refusal::Internal),
    ]
}

/// `answers.lua`: by refusal and dialect the status, the headers that differ, and the body as text and
/// gaps in turn. Where the message has a language, English has the other languages in it by their tags.
pub fn answers() -> String {
    let mut text = String::from("-- Written by the server from the cards that it answers with.\n\nreturn {\n");
    for (name, refusal) in refusals() {
        let _ = writeln!(text, "    {name} = {{");
        for dialect in Dialect::ALL {
            let _ = writeln!(text, "        [{}] = {},", quoted(dialect.name()), in_every_language(&refusal, dialect));
        }
        text.push_str("    },\n");
    }
    text.push_str("}\n");
    text
}

fn in_every_language(refusal: &Refusal, dialect: Dialect) -> String {
    let mut others = String::new();
    for language in Language::ALL.into_iter().filter(|language| *language != Language::English) {
        match dialect {
            Dialect::V1_1 | Dialect::Seed004 => {
                let _ = write!(others, ", {} = {{ {} }}", language.tag(), answer(refusal, dialect, language));
            }
            Dialect::V1_0 | Dialect::V2025_08_17 => {}
        }
    }
    format!("{{ {}{others} }}", answer(refusal, dialect, Language::English))
}

fn answer(refusal: &Refusal, dialect: Dialect, language: Language) -> String {
    let mut asked = Refused::from(refusal.clone()).to(Caller(Some(CALLER.into())));
    if *refusal == Refusal::Overloaded {
        asked.retry_after = Some(RETRY);
    }
    let (status, headers, body) = refused(&asked, dialect, language, TRACE).described();
    let header = |name: &str| headers.iter().find_map(|h| h.strip_prefix(name)?.strip_prefix(": "));
    let mut text = format!("status = {status}");
    if let Some(again) = header("retry-after") {
        let again = if again == RETRY.to_string() { "retry" } else { again };
        let _ = write!(text, ", again = {}", quoted(again));
    }
    for (name, key) in [("www-authenticate", "challenge"), ("content-language", "language"), ("vary", "vary")] {
        if let Some(value) = header(name) {
            let _ = write!(text, ", {key} = {}", quoted(value));
        }
    }
    let parts: Vec<String> = parts(&body).iter().map(|part| quoted(part)).collect();
    let _ = write!(text, ", parts = {{ {} }}", parts.join(", "));
    text
}

/// Text, the name of a gap, text, and so on.
fn parts(body: &str) -> Vec<String> {
    let gaps = [
        (TRACE.to_owned(), "trace"),
        (format!("\"{CALLER}\""), "caller"),
        (RETRY.to_string(), "retry"),
        (LINE.to_string(), "line"),
        (COLUMN.to_string(), "column"),
        (wire::moment(OPENS), "opens"),
        (wire::seed_moment(OPENS), "opens_in_seeds"),
    ];
    let mut parts = vec![];
    let mut rest = body;
    while let Some((at, mark, name)) =
        gaps.iter().filter_map(|(mark, name)| Some((rest.find(mark.as_str())?, mark, name))).min()
    {
        parts.push(rest[..at].to_owned());
        parts.push((*name).to_owned());
        rest = &rest[at + mark.len()..];
    }
    parts.push(rest.to_owned());
    parts
}

/// As a Lua string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for b in text.bytes() {
        match b {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(b.into());
            }
            b' '..=b'~' => quoted.push(b.into()),
            _ => {
                let _ = write!(quoted, "\\{b:03}");
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_become_gaps() {
        assert_eq!(
            parts(r#"{"a":4000000001,"by":"@caller@","t":"@trace@"}"#),
            [r#"{"a":"#, "retry", r#","by":"#, "caller", r#","t":""#, "trace", r#""}"#]
        );
        assert_eq!(parts("{}"), ["{}"]);
        assert_eq!(quoted("a\"\\\n\u{e9}"), r#""a\"\\\010\195\169""#);
    }

    #[test]
    fn answers_keep_status_headers_and_gaps() {
        let text = answers();
        for line in [
            r#"["1.1"] = { status = 409, language = "en", parts = { "{\"success\":false,\"reason\":\"sold_out\""#,
            r#"["1.0"] = { status = 200, parts = { "{\"success\":false,\"reason\":\"sold out\"}" } }"#,
            r#"ko = { status = 409, language = "ko", parts = { "{\"success\":false,\"reason\":\"sold_out\""#,
            r#"status = 404, language = "ko", vary = "Accept-Language", parts = "#,
            r#"status = 429, again = "retry", parts = "#,
            r#"status = 503, again = "1", parts = "#,
            r#""trace", "\",\"retryAfter\":", "retry", ",\"opensAt\":\"", "opens", "\"}\010" }"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("@caller@") && !text.contains("4000000"), "a fact is written down: {text}");
    }
}
