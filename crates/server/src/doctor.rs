//! Looks at what a sale depends on and the server cannot change: the machine, the disk, PostgreSQL, Redis. Says
//! what to change, and how bad it is.

mod disk;
mod ledger;
mod machine;
mod redis;
mod sale;

use serde::Serialize;

pub use self::sale::PlannedSale;
use crate::settings::{Settings, Stores};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Ok,
    /// It could be better.
    Advice,
    /// A sale may suffer.
    Warning,
    /// Do not sell like this.
    Critical,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    pub check: &'static str,
    pub severity: Severity,
    pub found: String,
    /// What to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

impl Diagnosis {
    fn ok(check: &'static str, found: impl Into<String>) -> Diagnosis {
        Diagnosis { check, severity: Severity::Ok, found: found.into(), change: None }
    }

    fn bad(check: &'static str, severity: Severity, found: impl Into<String>, change: impl Into<String>) -> Diagnosis {
        Diagnosis { check, severity, found: found.into(), change: Some(change.into()) }
    }
}

/// Milliseconds that calls took, in order.
#[derive(Clone, Debug, Default, PartialEq)]
struct CallTimes(Vec<f64>);

impl CallTimes {
    fn add(&mut self, time: std::time::Duration) {
        let ms = time.as_secs_f64() * 1_000.0;
        let at = self.0.partition_point(|other| *other < ms);
        self.0.insert(at, ms);
    }

    /// 0.5 is the median.
    fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
    }
}

/// Everything that was found, and with a sale also the arithmetic for it.
pub async fn examine(settings: &Settings, sale: Option<PlannedSale>) -> Vec<Diagnosis> {
    let mut all = machine::examine();
    let flush = match &settings.stores {
        Stores::Embedded => {
            let (found, flush) = disk::examine(&settings.data_dir);
            all.extend(found);
            flush
        }
        Stores::Postgres { url, pool, redis } => {
            let (found, commit) = ledger::examine(url, *pool).await;
            all.extend(found);
            if let Some(redis) = redis {
                all.extend(redis::examine(redis).await);
            }
            commit
        }
    };
    if let Some(sale) = sale {
        all.extend(sale::examine(settings, sale, flush).await);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn percentiles_of_call_times() {
        let mut times = CallTimes::default();
        for ms in [5, 1, 3, 2, 4] {
            times.add(Duration::from_millis(ms));
        }
        assert_eq!((times.at(0.0), times.at(0.5), times.at(1.0)), (1.0, 3.0, 5.0));
        assert_eq!(CallTimes::default().at(0.5), 0.0);
    }
}
