//! The gate: decides before the router whether a request is let in. While the server keeps up it lets
//! everything in. When requests wait too long, it refuses the least important kinds first, and of those
//! the subjects that have more than their share, with an answer that was prepared at the start.

mod kinds;
pub mod planted;
mod pressure;
mod retry;

pub use self::kinds::{GateRequest, RequestKind};
pub use self::pressure::{Admitted, Gate, GateFull};
