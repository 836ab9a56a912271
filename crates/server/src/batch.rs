//! Faults as refusals, under the names that the handlers use.

pub use crate::refusals::{closed, refusal};
