//! The gateway in front: what it answers itself, whom it believes, and what it survives. The tests of
//! answers run through it too; see `Backing::Gateway`.

mod arriving;
mod echoes;
pub mod edge;
mod faults;
mod figures;
mod files;
mod framing;
mod freed;
mod hints;
mod likeness;
mod limits;
mod modes;
mod rolling;
mod sifting;
mod slots;
mod slow;
mod spelling;
mod spoofing;
mod tls;
