//! HTTP in and out. Handlers parse, ask, and hand the outcome to `respond`, the only place that
//! names status codes.

pub mod admin;
pub mod asked;
pub mod body;
pub mod buyer;
pub mod docs;
pub mod endpoint;
pub mod events;
pub mod fcfs;
pub mod gateway;
pub mod health;
pub mod holds;
pub mod json;
pub mod openapi;
pub mod page;
pub mod paging;
pub mod reservations;
pub mod respond;
pub mod room_types;
pub mod routes;
pub mod seats;
pub mod wire;
