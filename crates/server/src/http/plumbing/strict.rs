//! Unknown parameters of the query string. A misspelt filter would be a list of everything, taken for what was asked for.

use rules::outcome::{FieldError, Problem, Refusal};
use salvo::http::Method;

use super::access::Access;
use super::call::Incoming;
use super::nearest::{nearest, shown};
use crate::http::openapi::{Doc, query};
use crate::http::respond::Dialect;

/// For the gateway, which passes it on.
const WRAP: &str = "wrap";

/// What the query string of an operation may have.
pub struct KnownParameters {
    names: Vec<&'static str>,
    /// Pages and health checks ignore what they do not know, as the seeds do.
    checked: bool,
}

impl KnownParameters {
    /// The admin API is strict, and so are the reads of the canonical dialect.
    pub fn of(method: &Method, path: &str, access: Access, doc: &Doc) -> KnownParameters {
        let reads = *method == Method::GET && path.starts_with("/api/v1/");
        let names = query(doc).iter().map(|parameter| parameter.name).collect();
        KnownParameters { names, checked: access.is_operators() || reads }
    }

    /// Refuses the first one that is not known. The dialects of the seeds ignore it.
    pub fn check(&self, request: &Incoming) -> Result<(), Refusal> {
        let Some(sent) = request.uri.query().filter(|_| self.checked && request.dialect == Dialect::V1_1) else {
            return Ok(());
        };
        for (name, _) in url::form_urlencoded::parse(sent.as_bytes()) {
            let of_gateway = name == WRAP && request.gateway.is_some();
            if !of_gateway && !self.names.iter().any(|known| **known == *name) {
                let nearest = nearest(&name, &self.names);
                let field = if name.is_empty() { "query".to_owned() } else { shown(&name) };
                return Err(FieldError::refused(field, Problem::Unknown { nearest }));
            }
        }
        Ok(())
    }
}
