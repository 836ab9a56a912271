//! Deliberate bugs, with which the suite proves that it would find them. Without the feature `planted`, which only
//! tests enable, none of this is in the binary.

use std::collections::HashMap;

use rules::nights::Night;
use rules::room_type::{NightRow, RoomType, RoomTypeKnown};

use super::Inner;
use super::engine::PostgresSubject;
use super::trouble::Trouble;
use crate::ledger::Batch;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedBug {
    #[default]
    None,
    /// Sends the responses before COMMIT was acknowledged.
    #[cfg(feature = "planted")]
    AnswerBeforeCommit,
    /// Counts sold seats in the locking statement, that is, in the snapshot from before the wait for the lock.
    #[cfg(feature = "planted")]
    CountInLock,
    /// After a broken COMMIT, looks for the row without waiting for the lock.
    #[cfg(feature = "planted")]
    ReadBackWithoutLock,
    /// Counts nights before the room type is locked.
    #[cfg(feature = "planted")]
    NightsBeforeLock,
    /// Uses the start time of the transaction, from before the wait for the lock.
    #[cfg(feature = "planted")]
    OldNow,
}

/// Nights that were read before the lock was taken. None unless that bug is enabled.
pub type EarlyNights = Option<HashMap<Night, NightRow>>;

#[cfg(not(feature = "planted"))]
pub use self::absent::*;
#[cfg(feature = "planted")]
pub use self::on_purpose::*;

#[cfg(not(feature = "planted"))]
mod absent {
    use super::*;

    pub fn lock(ledger: &Inner, query: &'static str) -> &'static str {
        let PlantedBug::None = ledger.planted;
        query
    }

    pub fn now(_: &Inner, query: &'static str) -> &'static str {
        query
    }

    pub fn lock_to_resolve<S: PostgresSubject>(_: &Inner) -> &'static str {
        S::LOCK
    }

    pub async fn nights_before_lock(_: &Inner, _: &Batch<RoomType>) -> Result<EarlyNights, Trouble> {
        Ok(None)
    }

    pub fn show_early_nights(_: &EarlyNights, _: &mut RoomTypeKnown) {}
}

#[cfg(feature = "planted")]
mod on_purpose {
    use std::sync::LazyLock;

    use rules::time::Moment;

    use super::*;
    use crate::chain::Chain;
    use crate::ledger::postgres::engine::{DecidedBatch, Mark, Portion};
    use crate::ledger::postgres::queries;
    use crate::ledger::postgres::room_type::RoomTypeReads;
    use crate::ledger::postgres::session::Session;

    /// The statement that locks one subject.
    pub fn lock(ledger: &Inner, query: &'static str) -> &'static str {
        let counts = ledger.planted == PlantedBug::CountInLock && query == queries::LOCK_EVENT;
        if counts { &COUNT_IN_LOCK } else { query }
    }

    /// The real statement, except for two columns that it counts in other rows.
    static COUNT_IN_LOCK: LazyLock<String> = LazyLock::new(|| {
        let (cursor, sold) = (
            "(SELECT coalesce(max(seat), 0) FROM taken WHERE event = $1)",
            "(SELECT count(*)::integer FROM taken WHERE event = $1 AND kind = 'sold')",
        );
        let counting = queries::LOCK_EVENT.replacen("\"cursor\", sold", &format!("{cursor}, {sold}"), 1);
        assert_ne!(counting, queries::LOCK_EVENT);
        counting
    });

    /// The statement that reads the time.
    pub fn now(ledger: &Inner, query: &'static str) -> &'static str {
        if ledger.planted == PlantedBug::OldNow { OLD_NOW } else { query }
    }

    const OLD_NOW: &str = "
        SELECT floor(extract(epoch FROM now()) * 1000)::bigint
             + coalesce(nullif(current_setting('tickettock.clock_offset_ms', true), ''), '0')::bigint";

    /// The statement that waits for a transaction whose result is unknown.
    pub fn lock_to_resolve<S: PostgresSubject>(ledger: &Inner) -> &'static str {
        let bare = ledger.planted == PlantedBug::ReadBackWithoutLock;
        S::UNLOCKED.filter(|_| bare).unwrap_or(S::LOCK)
    }

    pub async fn nights_before_lock(ledger: &Inner, batch: &Batch<RoomType>) -> Result<EarlyNights, Trouble> {
        if ledger.planted != PlantedBug::NightsBeforeLock {
            return Ok(None);
        }
        let session = ledger.sessions.get().await?;
        let reads = RoomTypeReads::prepare(&session).await?;
        let portions = [Portion { id: batch.subject, commands: &batch.commands, terms: batch.terms, aside: &None }];
        let known = reads.read(&session, &portions).await?.understand()?.remove(&batch.subject);
        Ok(Some(known.map(|known| known.nights).unwrap_or_default()))
    }

    pub fn show_early_nights(early: &EarlyNights, known: &mut RoomTypeKnown) {
        if let Some(early) = early {
            known.nights = early.clone();
        }
    }

    /// Commits later, while the responses are already being sent.
    pub fn write_later<S: PostgresSubject>(
        mut session: Session,
        writer: S::Writer,
        decided: &[DecidedBatch<'_, S>],
        mark: Mark<'_>,
    ) {
        let owned = |one: &DecidedBatch<'_, S>| {
            (one.before.clone(), one.after.clone(), one.writes.clone(), one.now, one.chain.clone())
        };
        let decided: Vec<(S, S, S::Writes, Moment, Chain)> = decided.iter().map(owned).collect();
        let id = mark.batch.to_owned();
        tokio::spawn(async move {
            let decided = decided.iter().map(|(before, after, writes, now, chain)| {
                let (now, chain) = (*now, chain.clone());
                DecidedBatch { before, after, writes, now, chain }
            });
            let decided: Vec<DecidedBatch<'_, S>> = decided.collect();
            let written = S::write(&writer, &session, &decided, Mark { batch: &id }).await;
            if written.is_ok() && session.batch_execute("COMMIT").await.is_ok() {
                session.clean();
            }
        });
    }
}
