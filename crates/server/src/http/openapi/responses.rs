//! What the document says about answers: a schema and an example for every outcome. Refusals are written by
//! the code that answers with them, so the document cannot say anything else.

use std::collections::{BTreeMap, BTreeSet};

use rules::outcome::{FieldError, Forbidden, Problem, Refusal};
use rules::seats::Hall;
use serde_json::{Map, Value, json};

use super::{examples, schemas};
use crate::http::plumbing::access::Access;
use crate::http::plumbing::body::Takes;
use crate::http::plumbing::operation::{Operation, Route};
use crate::http::resources::admin::columns::columns;
use crate::http::respond::{self, Caller, Dialect, Language, Refused};

const TRACE: &str = "7f0c5e0a9b3d4c21a7e6f1d2c3b4a596";

pub fn responses(route: &Route, operation: &Operation, dialect: Dialect) -> Value {
    let mut all = Map::new();
    for gives in operation.doc.gives {
        let answer = all.entry(gives.status.number().to_string()).or_insert_with(|| json!({ "description": "Done." }));
        if !gives.kind.is_empty() {
            let content = match gives.schema {
                None => whole_list(operation, gives.kind),
                Some(schema) => with_example(schema, dialect),
            };
            answer["content"][gives.kind] = content;
        }
    }
    for (status, told) in by_status(route, operation, dialect) {
        told.add(&mut all, status, dialect);
    }
    Value::Object(all)
}

fn with_example(schema: &str, dialect: Dialect) -> Value {
    let mut content = json!({ "schema": schemas::in_dialect(schema, dialect) });
    if let Some(example) = examples::answer(schema, dialect) {
        content["examples"] = json!({ "done": { "value": example } });
    }
    content
}

/// A list that comes in pages as JSON, in another format.
fn whole_list(operation: &Operation, kind: &str) -> Value {
    let list = operation.doc.gives.iter().find(|gives| gives.kind == "application/json").and_then(|gives| gives.schema);
    let example = list.and_then(|list| match kind {
        "text/csv" => columns(list).map(Value::from),
        "application/x-ndjson" => examples::lines(list),
        _ => None,
    });
    example.map_or_else(|| json!({}), |example| json!({ "examples": { "done": { "value": example } } }))
}

/// The refusals of one operation that have the same status.
#[derive(Default)]
struct Told {
    codes: BTreeSet<&'static str>,
    /// By what the answer calls it.
    examples: BTreeMap<String, Value>,
}

impl Told {
    fn add(self, all: &mut Map<String, Value>, status: u16, dialect: Dialect) {
        let examples: Map<String, Value> =
            self.examples.iter().map(|(word, body)| (word.replace(' ', "_"), json!({ "value": body }))).collect();
        let answer = all.entry(status.to_string()).or_insert_with(|| json!({}));
        let codes: Vec<String> = self.codes.iter().map(|code| format!("`{code}`")).collect();
        if let Some(json) = answer.pointer_mut("/content/application~1json") {
            // The dialects of the seeds answer some refusals with 200, in the schema of that answer.
            if let Some(known) = json["examples"].as_object_mut() {
                known.extend(examples);
            }
            answer["description"] = format!("Done, or {}.", codes.join(", ")).into();
            return;
        }
        let words: Vec<&String> = self.examples.keys().collect();
        let schema = json!({ "allOf": [schemas::in_dialect("Refusal", dialect), narrowed(&words, dialect)] });
        *answer = json!({
            "description": codes.join(", "),
            "content": { "application/json": { "schema": schema, "examples": examples } },
        });
    }
}

/// Only these words.
fn narrowed(words: &[&String], dialect: Dialect) -> Value {
    let words = json!({ "type": "string", "enum": words });
    match dialect {
        Dialect::V1_1 | Dialect::Seed004 => {
            json!({ "type": "object", "required": ["reason"], "properties": { "reason": words } })
        }
        Dialect::V1_0 => json!({ "type": "object", "properties": { "reason": words, "error": words } }),
        Dialect::V2025_08_17 => {
            let error = json!({ "type": "object", "required": ["code"], "properties": { "code": words } });
            json!({ "type": "object", "required": ["error"], "properties": { "error": error } })
        }
    }
}

fn by_status(route: &Route, operation: &Operation, dialect: Dialect) -> BTreeMap<u16, Told> {
    let mut all: BTreeMap<u16, Told> = BTreeMap::new();
    for refusal in refusals(route, operation) {
        let code = respond::code(&refusal);
        let told = Refused { hall: Some(Hall::Count(9).into()), ..refusal.into() };
        let told = if operation.through_door { told.to(Caller(Some("alice".into()))) } else { told };
        let (status, _, body) = respond::refused(&told, dialect, Language::English, TRACE).described();
        let Ok(body) = serde_json::from_str::<Value>(&body) else { continue };
        let word = ["/reason", "/error/code", "/error"].iter().find_map(|at| body.pointer(at)?.as_str());
        let Some(word) = word.map(str::to_owned) else { continue };
        let told = all.entry(status).or_default();
        told.codes.insert(code);
        told.examples.entry(word).or_insert(body);
    }
    all
}

/// Every way in which this operation may refuse.
fn refusals(route: &Route, operation: &Operation) -> Vec<Refusal> {
    let doc = &operation.doc;
    let mut all = doc.refuses.iter().map(|refusal| refusal()).collect::<Vec<_>>();
    all.extend([FieldError::refused("Api-Version", Problem::Repeated), Refusal::Internal, Refusal::Overloaded]);
    match operation.access {
        Access::Anyone => {}
        Access::User | Access::UserOrNobody | Access::UserOrTicket | Access::OwnerOrService => {
            let proxy = Refusal::Forbidden(Forbidden::UnknownProxy);
            all.extend([Refusal::MissingUser, Refusal::Unauthorized, proxy]);
        }
        Access::Viewer | Access::Admin => {
            all.extend([Refusal::Unauthorized, Refusal::Forbidden(Forbidden::Role)]);
        }
    }
    if operation.spends.is_some() {
        all.push(Refusal::RateLimited { retry_after: 1 });
    }
    if let Some(limit_bytes) = operation.takes.most() {
        all.extend([Refusal::TooLarge { limit_bytes }, Refusal::TooSlow]);
    }
    if matches!(operation.takes, Takes::Json { .. } | Takes::JsonByDialect { .. }) {
        all.push(Refusal::NotJsonType);
    }
    if route.path.contains('{') {
        all.push(Refusal::NotFound);
    }
    all
}
