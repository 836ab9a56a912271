//! The OpenAPI 3.1 documents, one per dialect, made from the route table: no route can be missing from them.

mod examples;
pub mod operations;
mod parameters;
mod responses;
mod schemas;
mod yaml;

use rules::outcome::Refusal;
use serde_json::{Map, Value, json};

use self::parameters::parameters;
use self::responses::responses;
use super::plumbing::access::Access;
use super::plumbing::body::Takes;
use super::plumbing::operation::{Operation, Route};
use super::respond::{Dialect, Speech, Success};
use super::routes::table;

pub use self::parameters::query;
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
    /// It takes `month`.
    pub month: bool,
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

/// The API in one dialect. That of 1.1 is the canonical one.
pub fn document(dialect: Dialect) -> Value {
    let mut paths = Map::new();
    for route in table().into_iter().filter(|route| speaks(route, dialect)) {
        let mut item = Map::new();
        for operation in &route.operations {
            item.insert(operation.method.as_str().to_ascii_lowercase(), describe(&route, operation, dialect));
        }
        paths.insert(route.path.into(), Value::Object(item));
    }
    let paths = Value::Object(paths);
    let mut schemas = schemas::named_in(&paths);
    if dialect != Dialect::V1_1 {
        schemas::without_orders(&mut schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": title(dialect),
            "version": env!("CARGO_PKG_VERSION"),
            "description": "First come, first served reservations. Every request ends in one outcome of one list; \
                docs/outcomes.md says for each what to do next.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "adminToken": { "type": "http", "scheme": "bearer" },
                "userToken": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "With AUTH_MODE=jwt." },
            },
            "schemas": schemas,
        },
    })
}

fn title(dialect: Dialect) -> String {
    match dialect {
        Dialect::V1_1 => "Tickettock".to_owned(),
        Dialect::V1_0 | Dialect::V2025_08_17 | Dialect::Seed004 => format!("Tickettock, dialect {}", dialect.name()),
    }
}

/// The canonical document has everything under `/api/v1` that speaks 1.1 by default, and what a machine asks.
fn speaks(route: &Route, dialect: Dialect) -> bool {
    match (dialect, route.speech) {
        (Dialect::V1_1, Speech::Plain) | (Dialect::Seed004, Speech::Seed004) => true,
        (Dialect::V1_1, Speech::Every(default)) => default == Dialect::V1_1 && route.path.starts_with("/api/v1/"),
        (Dialect::V1_0 | Dialect::V2025_08_17, Speech::Every(_)) => true,
        _ => false,
    }
}

fn describe(route: &Route, operation: &Operation, dialect: Dialect) -> Value {
    let doc = &operation.doc;
    let mut described = Map::new();
    described.insert("operationId".into(), doc.id.into());
    described.insert("tags".into(), json!([doc.tag]));
    described.insert("summary".into(), doc.summary.into());
    described.insert("parameters".into(), parameters(route, operation, dialect).into());
    if let Some((schema, required)) = match operation.takes {
        Takes::Nothing | Takes::Bytes { .. } => None,
        Takes::Json { schema, .. } => Some((schema, true)),
        Takes::PerhapsJson { schema, .. } => Some((schema, false)),
        Takes::JsonByDialect { schema, .. } => Some((schema, dialect != Dialect::V2025_08_17)),
    } {
        let mut content = json!({ "application/json": { "schema": schemas::in_dialect(schema, dialect) } });
        if let Some(example) = examples::request(schema) {
            content["application/json"]["example"] = example;
        }
        described.insert("requestBody".into(), json!({ "required": required, "content": content }));
    }
    match operation.access {
        Access::Anyone => {}
        Access::Viewer | Access::Admin => drop(described.insert("security".into(), json!([{ "adminToken": [] }]))),
        Access::User | Access::UserOrNobody | Access::UserOrTicket | Access::OwnerOrService => {
            drop(described.insert("security".into(), json!([{}, { "userToken": [] }])));
        }
    }
    described.insert("responses".into(), responses(route, operation, dialect));
    Value::Object(described)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::golden::same_as_file;

    #[test]
    fn the_committed_documents_are_up_to_date() {
        same_as_file("openapi/tickettock.yaml", &yaml(&document(Dialect::V1_1)));
        for dialect in [Dialect::V1_0, Dialect::V2025_08_17, Dialect::Seed004] {
            same_as_file(&format!("openapi/{}.yaml", dialect.name()), &yaml(&document(dialect)));
        }
    }

    #[test]
    fn every_route_is_in_some_document() {
        for route in table() {
            assert!(Dialect::ALL.iter().any(|dialect| speaks(&route, *dialect)), "{}", route.path);
        }
    }

    /// Whoever compares `reason` with a word that the operation never says is told so by a compiler.
    #[test]
    fn reasons_are_enums_and_every_outcome_has_an_example() {
        let document = document(Dialect::V1_1);
        for item in document["paths"].as_object().unwrap().values() {
            for operation in item.as_object().unwrap().values() {
                for (status, answer) in operation["responses"].as_object().unwrap() {
                    let Some(json) = answer.pointer("/content/application~1json") else { continue };
                    let examples = json["examples"].as_object().map(|all| all.len()).unwrap_or_default();
                    let name = &operation["operationId"];
                    assert!(examples > 0 || name == "openapi" || name == "openapiOfDialect", "{name} {status}");
                    if status.as_str() >= "400" {
                        let reasons = json.pointer("/schema/allOf/1/properties/reason/enum").unwrap();
                        assert_eq!(reasons.as_array().unwrap().len(), examples, "{name} {status}");
                    }
                }
            }
        }
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
        for dialect in Dialect::ALL {
            let document = document(dialect);
            let mut found = Vec::new();
            names(&document, &mut found);
            assert!(found.len() > 20);
            for name in found {
                assert!(document.pointer(name.trim_start_matches('#')).is_some(), "{name}");
            }
        }
    }

    /// CSV and JSON Lines have everything; JSON has it in pages.
    #[test]
    fn every_list_of_operators_is_exported() {
        let operations = table().into_iter().flat_map(|route| route.operations);
        let lists: Vec<Doc> =
            operations.filter(|one| one.access.is_operators() && one.doc.paged).map(|one| one.doc).collect();
        assert!(lists.len() > 11);
        for doc in lists {
            for kind in ["application/json", "text/csv", "application/x-ndjson"] {
                assert!(doc.gives.iter().any(|gives| gives.kind == kind), "{} in {kind}", doc.id);
            }
        }
        let document = document(Dialect::V1_1);
        for operation in document["paths"].as_object().unwrap().values().filter_map(|item| item.get("get")) {
            for kind in ["text~1csv", "application~1x-ndjson"] {
                let Some(list) = operation.pointer(&format!("/responses/200/content/{kind}")) else { continue };
                let example = list["examples"]["done"]["value"].as_str().unwrap_or_default();
                assert!(example.ends_with('\n') && example.len() > 40, "{} in {kind}", operation["operationId"]);
            }
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
