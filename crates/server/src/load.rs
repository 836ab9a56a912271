//! The other end of the wire: plain HTTP/1.1 connections for crowds of our own making.

pub mod connection;
pub mod target;
