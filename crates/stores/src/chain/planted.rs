//! Deliberate bugs, with which the tests of the chain prove that they would find them. Without the feature `planted`,
//! which only tests enable, none of this is in the binary.

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

    /// Global to the process: every test is a process of its own.
    static PLANTED: AtomicU8 = AtomicU8::new(0);

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum ChainBug {
        /// The digest of the buyer's contact omits the phone.
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
