//! Subjects whose messages do not yield to a crowd: one of their holds ends soon, and `hold.expired` is promised
//! within a second of the end. Messages of a subject are sent in order, so those before it must be sent by then.

use std::collections::{HashMap, HashSet};

use rules::subject::SubjectId;
use stores::ledger::webhooks::WebhookDue;

/// From this long before the end on. In a crowd messages are late by about as much.
pub const HOLD_ENDS_WITHIN_MS: i64 = 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UrgentUntil {
    /// A hold ends soon.
    HoldEnds,
    /// It has ended. Its row is this one, or an earlier one.
    Told(u64),
}

/// The urgent subjects of one endpoint.
#[derive(Default)]
pub struct UrgentSubjects {
    until: HashMap<SubjectId, UrgentUntil>,
}

impl UrgentSubjects {
    /// `ending`: subjects with holds that end soon. `due`: what the endpoint was not sent yet, read after it. It
    /// contains the row of any hold that is no longer in `ending`.
    pub fn look(&mut self, ending: &[SubjectId], due: &[WebhookDue]) -> HashSet<SubjectId> {
        let mut until: HashMap<_, _> = ending.iter().map(|subject| (*subject, UrgentUntil::HoldEnds)).collect();
        for one in due {
            let ended = match self.until.get(&one.subject) {
                Some(UrgentUntil::HoldEnds) => UrgentUntil::Told(one.newest),
                Some(UrgentUntil::Told(n)) if one.cursor.n < *n => UrgentUntil::Told(*n),
                _ => continue,
            };
            until.entry(one.subject).or_insert(ended);
        }
        self.until = until;
        self.until.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use rules::ids::EventId;
    use stores::ledger::webhooks::WebhookCursor;

    use super::*;

    #[test]
    fn urgent_from_before_the_end_until_it_is_told() {
        let (hall, other) = (SubjectId::Event(EventId(1)), SubjectId::Event(EventId(2)));
        let due = |n, newest| {
            let cursor = WebhookCursor { n, ..WebhookCursor::default() };
            [WebhookDue { subject: hall, cursor, newest }, WebhookDue { subject: other, cursor, newest }]
        };
        let urgent = HashSet::from([hall]);
        let mut subjects = UrgentSubjects::default();
        assert_eq!(subjects.look(&[], &due(0, 500)), HashSet::new(), "no hold ends");
        assert_eq!(subjects.look(&[hall], &[]), urgent, "also if nothing is due yet");
        assert_eq!(subjects.look(&[hall], &due(0, 500)), urgent);
        assert_eq!(subjects.look(&[], &due(100, 700)), urgent, "it ended with one of these rows");
        assert_eq!(subjects.look(&[], &due(699, 900)), urgent, "which is not told yet");
        assert_eq!(subjects.look(&[hall], &due(699, 900)), urgent, "the next one ends");
        assert_eq!(subjects.look(&[], &due(800, 950)), urgent);
        assert_eq!(subjects.look(&[], &due(950, 1_200)), HashSet::new(), "the crowd comes first again");
        assert_eq!(subjects.look(&[hall], &[]), urgent);
        assert_eq!(subjects.look(&[], &[]), HashSet::new(), "it was confirmed, and everything is told");
    }
}
