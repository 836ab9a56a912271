//! HTTP in and out. `routes` declares every operation; `plumbing` enforces what is declared there;
//! `resources` has the handlers; `respond` turns outcomes into answers, and is the only place that
//! names status codes.

pub mod openapi;
pub mod plumbing;
pub mod resources;
pub mod respond;
pub mod routes;
pub mod shown;
pub mod wire;
