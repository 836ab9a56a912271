//! Bugs put in on purpose, so that the tests of the chain can show that they would find them. Without the feature `planted`,
//! which only tests ask for, nothing of this is in the binary.

#[cfg(not(feature = "planted"))]
pub use self::absent::*;
#[cfg(feature = "planted")]
pub use self::on_purpose::*;

#[cfg(not(feature = "planted"))]
mod absent {
    pub fn covers_phone() -> bool {
        true
    }

    pub fn covers_link() -> bool {
        true
    }
}

#[cfg(feature = "planted")]
mod on_purpose {
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Of this process: every test is one.
    static PLANTED: AtomicU8 = AtomicU8::new(0);

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum ChainBug {
        /// The digest of what a buyer gave leaves the phone out.
        PhoneNotCovered = 1,
        /// A row's hash does not cover the row before it.
        LinkNotCovered,
    }

    pub fn plant(bug: ChainBug) {
        PLANTED.store(bug as u8, Ordering::Relaxed);
    }

    fn planted(bug: ChainBug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }

    pub fn covers_phone() -> bool {
        !planted(ChainBug::PhoneNotCovered)
    }

    pub fn covers_link() -> bool {
        !planted(ChainBug::LinkNotCovered)
    }
}
