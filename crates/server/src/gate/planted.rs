//! Bugs put in on purpose, so that the overload tests can show that they would find them. Without the feature
//! `planted`, which only tests ask for, nothing of this is in the binary.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverloadBug {
    #[default]
    None,
    /// Only a full queue and the deadline refuse: neither the gate nor the age of a request does.
    #[cfg(feature = "planted")]
    DeadlineOnly,
    /// `Retry-After` is always 1.
    #[cfg(feature = "planted")]
    ConstantRetry,
}

#[cfg(not(feature = "planted"))]
pub use self::absent::*;
#[cfg(feature = "planted")]
pub use self::on_purpose::*;

#[cfg(not(feature = "planted"))]
mod absent {
    use super::OverloadBug;

    pub fn sheds(bug: OverloadBug) -> bool {
        bug == OverloadBug::None
    }

    pub fn retry_after(_: OverloadBug, seconds: u64) -> u64 {
        seconds
    }
}

#[cfg(feature = "planted")]
mod on_purpose {
    use super::OverloadBug;

    /// Whether load is shed before deadlines pass.
    pub fn sheds(bug: OverloadBug) -> bool {
        bug != OverloadBug::DeadlineOnly
    }

    pub fn retry_after(bug: OverloadBug, seconds: u64) -> u64 {
        if bug == OverloadBug::ConstantRetry { 1 } else { seconds }
    }
}
