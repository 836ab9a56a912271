//! Bugs put in on purpose, so that the tests of webhooks can show that they would find them. Without the feature
//! `planted`, which only tests ask for, nothing of this is in the binary.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookBug {
    #[default]
    None,
    /// The cursor is moved before the delivery.
    #[cfg(feature = "planted")]
    CursorFirst,
    /// What failed is left for later, and the next message is sent before it.
    #[cfg(feature = "planted")]
    FailedSkipped,
    /// A request has no time limit.
    #[cfg(feature = "planted")]
    WaitsForever,
    /// Messages give way to a crowd also where a hold ends.
    #[cfg(feature = "planted")]
    ExpiryGivesWay,
    /// Failures count on although messages were taken in between.
    #[cfg(feature = "planted")]
    AllFailuresCounted,
}

#[cfg(not(feature = "planted"))]
impl WebhookBug {
    pub fn moves_cursor_first(self) -> bool {
        false
    }

    pub fn skips_failed(self) -> bool {
        false
    }

    pub fn waits_forever(self) -> bool {
        false
    }

    pub fn expiry_gives_way(self) -> bool {
        false
    }

    pub fn counts_all_failures(self) -> bool {
        false
    }
}

#[cfg(feature = "planted")]
impl WebhookBug {
    pub fn moves_cursor_first(self) -> bool {
        self == WebhookBug::CursorFirst
    }

    pub fn skips_failed(self) -> bool {
        self == WebhookBug::FailedSkipped
    }

    pub fn waits_forever(self) -> bool {
        self == WebhookBug::WaitsForever
    }

    pub fn expiry_gives_way(self) -> bool {
        self == WebhookBug::ExpiryGivesWay
    }

    pub fn counts_all_failures(self) -> bool {
        self == WebhookBug::AllFailuresCounted
    }
}
