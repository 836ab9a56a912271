//! What the tests stand on: a server in this process, or the real binary; and a plain HTTP client.

pub mod client;
pub mod gate;
pub mod process;
pub mod stand;

pub use client::{Answer, Client};
pub use stand::Stand;

/// A small random number generator with a seed that a failing test can print.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From 0 up to, not including, `below`.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}
