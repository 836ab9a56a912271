//! The server over HTTP: the contract, the crowd, the kills.

mod answers;
mod crowd;
mod keys;
mod kills;
mod leaving;
mod overload;
mod support;
