//! A bug put in on purpose, so that the test of leaks can show that it would find one. Without the feature `planted`, which
//! only tests ask for, nothing of this is in the binary.

#[cfg(not(feature = "planted"))]
pub use self::absent::*;
#[cfg(feature = "planted")]
pub use self::on_purpose::*;

#[cfg(not(feature = "planted"))]
mod absent {
    use rules::buyer::Buyer;

    pub fn leak(_: &Buyer) {}
}

#[cfg(feature = "planted")]
mod on_purpose {
    use rules::buyer::Buyer;

    /// Logs who buys, if the test that started the process asked for it.
    pub fn leak(buyer: &Buyer) {
        if std::env::var_os("PLANTED_LEAK").is_some() {
            tracing::debug!(?buyer, "a reservation came in");
        }
    }
}
