//! The decisions of Tickettock, and nothing else: state, commands and `now` in, outcomes and writes out.
//!
//! This crate reads no clock, generates no random number, opens no file or socket and uses no async runtime. The rules
//! are implemented once, here, for every ledger and every door.

pub mod arrive;
pub mod buyer;
pub mod command;
pub mod decide;
pub mod entries;
pub mod event;
pub mod hall;
pub mod history;
pub mod holds;
pub mod ids;
pub mod nights;
pub mod once;
pub mod outcome;
pub mod phone;
pub mod price;
pub mod queue;
pub mod room_type;
pub mod seats;
pub mod subject;
pub mod time;
