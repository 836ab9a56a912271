//! Between the socket and the handlers: reads requests, and enforces what the route table declares.

pub mod access;
pub mod body;
pub mod call;
mod counted;
pub mod endpoint;
mod form;
pub mod gateway;
pub mod json;
mod nearest;
pub mod operation;
pub mod paging;
pub mod refused_admin;
mod strict;
