//! The demo: a server with something to look at, a crowd that comes when asked, and a plug to pull. The server is
//! a process of its own, so that it can be killed and started again; this one stays and remembers every answer.

pub mod control;
pub mod crowd;
pub mod process;
pub mod qr;
pub mod stock;
