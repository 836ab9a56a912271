//! Connections: how many may be open, how long one may sit idle or stop reading, and the cost of refusing a request.
//! Everything here happens before the router.

mod backlog;
mod client;
mod drive;
pub mod files;
mod filter;
mod heads;
mod linger;
mod listener;
mod open;
mod paced;
mod service;
mod sieve;
mod sifting;
mod steering;
mod unparsed;
mod unrouted;
mod wall;

pub use self::client::{ClientSocket, client_left, current_client};
pub use self::listener::{HttpListener, ListenerKind, bind};
pub use self::open::{ConnectionLimits, OpenConnections};
