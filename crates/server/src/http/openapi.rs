//! The OpenAPI 3.1 document, made from the route table: no route can be missing from it.

pub mod operations;
mod schemas;
mod yaml;

use std::collections::BTreeSet;

use rules::ids::USER_CHARS;
use rules::outcome::{FieldError, Forbidden, Problem, Refusal};
use serde_json::{Map, Value, json};

use super::plumbing::access::Access;
use super::plumbing::body::Takes;
use super::plumbing::call::KEY_CHARS;
use super::plumbing::operation::{Operation, Route};
use super::respond::{self, Dialect, Speech, Success};
use super::routes::table;

pub use self::yaml::yaml;

/// What the document says about one operation, beyond what its row in the route table declares.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// Its name, here and in metrics.
    pub id: &'static str,
    pub tag: &'static str,
    pub summary: &'static str,
    /// The outcome that its success is counted as.
    pub done: &'static str,
    /// Optional headers of its own.
    pub shows: &'static [Shown],
    pub paged: bool,
    /// It takes `checkIn` and `checkOut`.
    pub dates: bool,
    /// Optional parameters of its own.
    pub filters: &'static [Filter],
    pub gives: &'static [Gives],
    /// Reasons beyond those that follow from the declaration.
    pub refuses: &'static [fn() -> Refusal],
}

/// An optional header.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub name: &'static str,
    pub about: &'static str,
    /// Longer ones are refused; none: a malformed one is ignored.
    pub most: Option<usize>,
}

/// An optional parameter of the query.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    pub name: &'static str,
    /// `integer` or `string`.
    pub kind: &'static str,
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Gives {
    pub status: Success,
    pub kind: &'static str,
    /// A schema by name; none: no body, or one that is not described.
    pub schema: Option<&'static str>,
}

pub fn document() -> Value {
    let mut paths = Map::new();
    for route in table() {
        let mut item = Map::new();
        for operation in &route.operations {
            item.insert(operation.method.as_str().to_ascii_lowercase(), describe(&route, operation));
        }
        paths.insert(route.path.into(), Value::Object(item));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tickettock",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "First come, first served reservations. Every request ends in one outcome of one list; \
                docs/outcomes.md says for each what to do next.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "securitySchemes": { "adminToken": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas::all(),
        },
    })
}

fn describe(route: &Route, operation: &Operation) -> Value {
    let doc = &operation.doc;
    let mut described = Map::new();
    described.insert("operationId".into(), doc.id.into());
    described.insert("tags".into(), json!([doc.tag]));
    described.insert("summary".into(), doc.summary.into());
    described.insert("parameters".into(), parameters(route, operation).into());
    if let Some((schema, required)) = match operation.takes {
        Takes::Nothing | Takes::Bytes { .. } => None,
        Takes::Json { schema, .. } => Some((schema, true)),
        Takes::JsonByDialect { schema, .. } => Some((schema, false)),
    } {
        let mut content = json!({ "application/json": { "schema": named(schema) } });
        if let Some(example) = schemas::example(schema) {
            content["application/json"]["example"] = example;
        }
        described.insert("requestBody".into(), json!({ "required": required, "content": content }));
    }
    if operation.access == Access::Admin {
        described.insert("security".into(), json!([{ "adminToken": [] }]));
    }
    described.insert("responses".into(), responses(route, operation));
    Value::Object(described)
}

fn named(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn parameters(route: &Route, operation: &Operation) -> Vec<Value> {
    let mut all = Vec::new();
    for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let schema = match name {
            "eventId" => json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX }),
            "roomTypeId" => json!({ "type": "integer", "minimum": 1, "maximum": i64::MAX }),
            "seatId" => json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
            _ => json!({ "type": "string" }),
        };
        all.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    let header = |name: &str, required: bool, schema: Value, description: &str| json!({ "name": name, "in": "header", "required": required, "schema": schema, "description": description });
    let text = |least: usize, most: usize| json!({ "type": "string", "minLength": least, "maxLength": most });
    let doc = &operation.doc;
    match operation.access {
        Access::Anyone | Access::Admin => {}
        Access::User | Access::OwnerOrService | Access::UserOrNobody => {
            let about = "Who asks (FCFS_USER_HEADER). Dialect 2025-08-17 may do without on the short paths.";
            // An empty header names nobody, which is allowed where nobody is.
            let required = operation.access != Access::UserOrNobody;
            all.push(header("X-User-Id", required, text(usize::from(required), USER_CHARS), about));
        }
        Access::UserOrTicket => {
            let about = "Who asks (FCFS_USER_HEADER); a ticket alone says whose it is.";
            all.push(header("X-User-Id", false, text(1, USER_CHARS), about));
        }
    }
    for shown in doc.shows {
        let schema = shown.most.map_or(json!({ "type": "string" }), |most| text(1, most));
        all.push(header(shown.name, false, schema, shown.about));
    }
    // Queue calls are idempotent by nature.
    if operation.access != Access::Admin && doc.tag != "queue" && !operation.method.is_safe() {
        // Two more for quotes around it.
        let about = "The same key again gets the first answer again.";
        all.push(header("Idempotency-Key", false, text(1, KEY_CHARS + 2), about));
    }
    let about = match route.speech {
        Speech::Plain => "Checked, and changes nothing here.".to_owned(),
        Speech::Every(default) => format!("The dialect; without it {}.", default.name()),
    };
    all.push(header("Api-Version", false, json!({ "type": "string", "enum": Dialect::NAMES }), &about));
    if doc.dates {
        for name in ["checkIn", "checkOut"] {
            let date = json!({ "type": "string", "format": "date" });
            all.push(json!({ "name": name, "in": "query", "required": true, "schema": date }));
        }
    }
    for filter in doc.filters {
        let schema = json!({ "type": filter.kind });
        all.push(json!({ "name": filter.name, "in": "query", "schema": schema, "description": filter.about }));
    }
    if doc.paged {
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 });
        all.push(json!({ "name": "limit", "in": "query", "schema": limit }));
        let about = "The `next` of an earlier page.";
        all.push(json!({ "name": "after", "in": "query", "schema": { "type": "string" }, "description": about }));
    }
    all
}

fn responses(route: &Route, operation: &Operation) -> Value {
    let doc = &operation.doc;
    let mut all = Map::new();
    for gives in doc.gives {
        let answer = all.entry(gives.status.number().to_string()).or_insert_with(|| json!({ "description": "Done." }));
        if !gives.kind.is_empty() {
            let schema = gives.schema.map_or(json!({}), |schema| json!({ "schema": named(schema) }));
            answer["content"][gives.kind] = schema;
        }
    }
    let spoken = route.speech != Speech::Plain;
    let schema = if spoken { named("RefusalInAnyDialect") } else { named("Refusal") };
    let mut reasons: std::collections::BTreeMap<u16, BTreeSet<&'static str>> = Default::default();
    for refusal in refusals(route, operation) {
        reasons.entry(respond::number(&refusal)).or_default().insert(respond::code(&refusal));
    }
    for (status, codes) in reasons {
        let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        let content = json!({ "application/json": { "schema": schema } });
        all.insert(status.to_string(), json!({ "description": codes.join(", "), "content": content }));
    }
    Value::Object(all)
}

/// Every way in which this operation may refuse.
fn refusals(route: &Route, operation: &Operation) -> Vec<Refusal> {
    let doc = &operation.doc;
    let mut all = vec![FieldError::refused("Api-Version", Problem::Repeated), Refusal::Internal, Refusal::Overloaded];
    match operation.access {
        Access::Anyone => {}
        Access::User | Access::UserOrNobody | Access::UserOrTicket | Access::OwnerOrService => {
            let proxy = Refusal::Forbidden(Forbidden::UnknownProxy);
            all.extend([Refusal::MissingUser, Refusal::Unauthorized, proxy]);
        }
        Access::Admin => all.push(Refusal::Unauthorized),
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
    all.extend(doc.refuses.iter().map(|refusal| refusal()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::same_as_file;

    #[test]
    fn the_committed_document_is_up_to_date() {
        same_as_file("openapi/tickettock.yaml", &yaml(&document()));
    }

    #[test]
    fn every_schema_reference_resolves() {
        fn names(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    map.values().for_each(|value| names(value, found));
                }
                Value::Array(list) => list.iter().for_each(|value| names(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        names(&document, &mut found);
        assert!(found.len() > 20);
        for name in found {
            assert!(document.pointer(name.trim_start_matches('#')).is_some(), "{name}");
        }
    }

    #[test]
    fn operation_ids_are_unique() {
        let mut ids = BTreeSet::new();
        for route in table() {
            for operation in &route.operations {
                assert!(ids.insert(operation.doc.id), "{} is used twice", operation.doc.id);
            }
        }
    }
}
