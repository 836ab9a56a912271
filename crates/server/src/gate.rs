//! The gate: decides before the router whether a request is let in. While the server keeps up it lets
//! everything in. When requests wait too long, it refuses the least important kinds first, and of those
//! the subjects that have more than their share, with an answer that was prepared at the start.

mod client_wait;
mod coming;
mod kinds;
mod parked;
pub mod planted;
mod pressure;
mod refusing;
mod retry;
mod served;

pub use self::client_wait::{take_client_wait, waiting_for_client};
pub use self::coming::ExpectedRequest;
pub use self::kinds::{GateRequest, RequestKind};
pub use self::parked::Parked;
pub use self::pressure::{Accepting, Admitted, Gate, GateFull, Unread};
pub use self::refusing::{BacklogWait, thread_time};
