//! Leaks put in on purpose, so that the test of leaks can show that it would find them: in the log, in a metric, in the
//! streams. Without the feature `planted`, which only tests ask for, nothing of this is in the binary.

#[cfg(not(feature = "planted"))]
pub use self::absent::*;
#[cfg(feature = "planted")]
pub use self::on_purpose::*;

#[cfg(not(feature = "planted"))]
mod absent {
    use rules::buyer::Buyer;

    use crate::telemetry::Metrics;

    pub fn leak(_: &Metrics, _: &Buyer) {}

    pub fn into_message(_: &mut Vec<u8>) {}
}

#[cfg(feature = "planted")]
mod on_purpose {
    use std::sync::Mutex;

    use rules::buyer::Buyer;

    use crate::telemetry::Metrics;

    static NEWEST: Mutex<Option<String>> = Mutex::new(None);

    /// Where, if the test that started the process asked for it.
    fn place() -> Option<String> {
        std::env::var("PLANTED_LEAK").ok()
    }

    /// Who buys.
    pub fn leak(metrics: &Metrics, buyer: &Buyer) {
        match place().as_deref() {
            Some("log") => tracing::debug!(?buyer, "a reservation came in"),
            Some("metrics") => {
                metrics.outcomes("reserve", format!("{buyer:?}").leak()).inc();
            }
            Some("streams") => {
                *NEWEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(format!("{buyer:?}"));
            }
            _ => {}
        }
    }

    /// Into the object that watchers get.
    pub fn into_message(data: &mut Vec<u8>) {
        let newest = NEWEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        if let Some(newest) = newest
            && data.pop() == Some(b'}')
        {
            data.extend_from_slice(format!(",\"buyer\":{}}}", serde_json::Value::from(newest)).as_bytes());
        }
    }
}
