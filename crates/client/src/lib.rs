//! The HTTP client of `rush`, the commands, the bench and the tests: HTTP/1.1 over plain TCP.
//!
//! [`Connection`] is one connection that stays open and carries one request after another.
//! [`Client`] opens one when it needs it, opens a new one when the server has closed the last, and
//! limits the time. [`ask_once`] uses a connection for a single request.
//!
//! [`fetch`] gets one document from elsewhere, with TLS; [`outbound`] posts to elsewhere.
//!
//! There is no pool, no redirect and no retry down here: a load generator and a test decide about those. [`api`] knows
//! the routes, and comes again where the server asks for it.

pub mod api;
pub mod blocking;
mod connection;
mod error;
pub mod fetch;
mod keeping;
pub mod outbound;
mod request;
mod response;
mod stream;
mod target;
#[cfg(test)]
mod tests;

pub use connection::Connection;
pub use error::ClientError;
pub use hyper::header::{HeaderMap, HeaderName, HeaderValue};
pub use keeping::{Client, ask_once};
pub use request::HttpRequest;
pub use response::HttpResponse;
pub use stream::{EventStream, StreamEvent};
pub use target::Target;
