//! Tickettock over HTTP. `ARCHITECTURE.md` tells the path of a request; `path.rs` is that path.

pub mod app;
pub mod auth;
pub mod backups;
pub mod board;
pub mod clock;
pub mod commands;
pub mod connections;
pub mod doctor;
pub mod gate;
pub mod gateway;
#[cfg(test)]
mod golden;
pub mod http;
pub mod lane;
pub mod line;
pub mod live;
pub mod logins;
pub mod names;
pub mod path;
pub mod public_ids;
pub mod rates;
pub mod readiness;
pub mod refusals;
mod reload;
pub mod reopen;
mod restored;
pub mod rush;
pub mod secrets;
pub mod settings;
mod supervisor;
pub mod telemetry;
pub mod terminal;
pub mod tickets;
pub mod tidier;
pub mod turner;
pub mod wiring;
pub mod zones;
