//! Compares the reasons of holds that were given back with the history, row by row. The rows contain JSON that callers
//! wrote, which the databases parse differently. So it is parsed here, by the same code as everywhere else.

use super::{Finding, SHOWN_MOST};
use crate::ledger::details::read_details;

pub const REASONS: &str = "reasons are those of the history";

/// Rows of subject, number, reason and details.
pub const GIVEN_BACK: &str = include_str!("reasons.sql");

#[derive(Debug, Default)]
pub struct ReasonWalk {
    broken: Vec<String>,
}

impl ReasonWalk {
    pub fn step(&mut self, subject: i64, n: i64, reason: Option<&str>, details: Option<&str>) {
        let told = read_details(details).and_then(|details| details.reason);
        if told.as_deref().unwrap_or_default() != reason.unwrap_or_default() && self.broken.len() < SHOWN_MOST {
            self.broken.push(format!("hold {n} of {subject} was given back for another reason"));
        }
    }

    /// The scan was aborted. Unreadable data counts as broken too.
    pub fn unreadable(&mut self, why: &str) {
        self.broken.push(why.to_owned());
    }

    pub fn finish(self) -> Finding {
        Finding { name: REASONS, broken: self.broken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_whatever_stands_beside_them() {
        let beside = r#"{"metadata":{"a":"\u0000","reason":"x"}"#;
        let differ = |reason: Option<&str>, details: Option<&str>| {
            let mut walk = ReasonWalk::default();
            walk.step(7, 2, reason, details);
            !walk.finish().holds()
        };
        let with = |reason: &str| Some(format!(r#"{beside},"reason":"{reason}"}}"#));
        let without = format!("{beside}}}");
        assert!(!differ(Some("ill"), with("ill").as_deref()) && !differ(None, Some(&without)));
        assert!(!differ(Some("\"ill\""), with(r#"\"ill\""#).as_deref()));
        assert!(differ(Some("well"), with("ill").as_deref()) && differ(None, with("ill").as_deref()));
        assert!(differ(Some("x"), Some(&without)), "a key of the metadata is not the reason");
        assert!(differ(Some("ill"), Some("not json")) && differ(Some("ill"), None));
    }
}
