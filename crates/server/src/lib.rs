//! Tickettock over HTTP. `ARCHITECTURE.md` tells the path of a request; `reserve.rs` is that path.

pub mod app;
pub mod auth;
pub mod batch;
pub mod board;
pub mod clock;
pub mod commands;
pub mod gateway;
#[cfg(test)]
mod golden;
pub mod http;
pub mod load;
pub mod names;
pub mod reserve;
pub mod rush;
pub mod settings;
pub mod telemetry;
pub mod wiring;
pub mod zones;
