//! The two ports, and their adapters. The ledger is the only truth and alone decides who gets
//! what; the door says who may come in, and in which order.
//!
//! Nothing here knows HTTP, and nothing here reads a clock: time is handed in.

pub mod chain;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod door;
pub mod ledger;
pub mod log_limit;
mod random;
pub mod verify;

use std::future::Future;
use std::pin::Pin;

/// Work under way in a store. A request does not own it: dropping the future never undoes anything.
pub type Working<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;
