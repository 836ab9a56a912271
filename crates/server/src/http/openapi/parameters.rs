//! What the document says that a request may carry beside its body.

use rules::ids::USER_CHARS;
use serde_json::{Value, json};

use super::Doc;
use super::operations::STREAM_TICKET;
use crate::http::plumbing::access::Access;
use crate::http::plumbing::call::KEY_CHARS;
use crate::http::plumbing::operation::{Operation, Route};
use crate::http::respond::{Dialect, Speech};

/// Of the path, the headers and the query.
pub fn parameters(route: &Route, operation: &Operation, dialect: Dialect) -> Vec<Value> {
    let mut all = Vec::new();
    for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let schema = match name {
            "eventId" => json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX }),
            "webhookId" => json!({ "type": "integer", "minimum": 1, "maximum": i64::MAX }),
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
        Access::Anyone | Access::Viewer | Access::Admin => {}
        Access::User | Access::OwnerOrService | Access::UserOrNobody => {
            let about = "Who asks (FCFS_USER_HEADER). Not needed where a token says so.";
            // An empty header names nobody, which is allowed where nobody is.
            let least = usize::from(operation.access != Access::UserOrNobody || dialect != Dialect::V2025_08_17);
            all.push(header("X-User-Id", false, text(least, USER_CHARS), about));
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
    // Queue calls are idempotent by nature, and a ticket for a stream changes nothing.
    let keyed = doc.tag != "queue" && doc.id != STREAM_TICKET.id;
    if !operation.access.is_operators() && keyed && !operation.method.is_safe() {
        // Two more for quotes around it.
        let about = "The same key again gets the first answer again.";
        all.push(header("Idempotency-Key", false, text(1, KEY_CHARS + 2), about));
    }
    if let Speech::Every(default) = route.speech {
        let versions = json!({ "type": "string", "enum": [dialect.name()] });
        let about = format!("The dialect; without it {}.", default.name());
        all.push(header("Api-Version", dialect != default, versions, &about));
    }
    for QueryParameter { name, required, schema, about } in query(doc) {
        let mut described = json!({ "name": name, "in": "query" });
        if required {
            described["required"] = true.into();
        }
        described["schema"] = schema;
        if let Some(about) = about {
            described["description"] = about.into();
        }
        all.push(described);
    }
    all
}

/// A parameter of the query string.
pub struct QueryParameter {
    pub name: &'static str,
    required: bool,
    schema: Value,
    about: Option<&'static str>,
}

/// Every parameter that the query string of an operation may have. Others are refused where `strict` says so.
pub fn query(doc: &Doc) -> Vec<QueryParameter> {
    let needed = |name, schema| QueryParameter { name, required: true, schema, about: None };
    let mut all = Vec::new();
    if doc.month {
        let month = json!({ "type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$" });
        all.push(needed("month", month));
    }
    if doc.dates {
        all.extend(["checkIn", "checkOut"].map(|name| needed(name, json!({ "type": "string", "format": "date" }))));
    }
    for filter in doc.filters {
        let (schema, about) = (json!({ "type": filter.kind }), Some(filter.about));
        all.push(QueryParameter { name: filter.name, required: false, schema, about });
    }
    if doc.paged {
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 });
        all.push(QueryParameter { name: "limit", required: false, schema: limit, about: None });
        let about = Some("The `next` of an earlier page.");
        all.push(QueryParameter { name: "after", required: false, schema: json!({ "type": "string" }), about });
    }
    all
}
