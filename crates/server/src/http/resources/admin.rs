//! What operators do: create events, open and close sales, read reservations. Every handler that changes something
//! takes an `Admin`, which only a request with an admin's token has; those that read take a `Viewer`.

pub mod audit;
pub mod columns;
pub mod demo;
pub mod events;
pub mod everything;
mod fields;
pub mod history;
pub mod holds;
mod list_format;
mod orders;
pub mod reservations;
pub mod room_types;
mod search;
mod subject_lists;
pub mod tokens;
pub mod user_lists;
pub mod users;
pub mod waiting_room;
pub mod webhook_lists;
pub mod webhooks;
