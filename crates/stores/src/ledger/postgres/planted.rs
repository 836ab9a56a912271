//! Bugs put in on purpose, so that the suite can show that it would find them. Without the feature
//! `planted`, which only tests ask for, nothing of this is in the binary.

use std::collections::HashMap;

use rules::nights::Night;
use rules::stays::RoomTypeKnown;
use rules::stays::{NightRow, RoomType};
use tokio_postgres::Statement;

use super::Inner;
use super::known::Reads;
use super::rooms::RoomReads;
use super::session::Session;
use super::trouble::Trouble;
use crate::ledger::Batch;

type Nights = HashMap<Night, NightRow>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bug {
    #[default]
    None,
    /// Answers leave before COMMIT was answered.
    #[cfg(feature = "planted")]
    AnswerBeforeCommit,
    /// What is sold is counted in the statement that locks: in the snapshot from before the wait.
    #[cfg(feature = "planted")]
    CountInLock,
    /// After a broken COMMIT the row is looked for without waiting for the lock.
    #[cfg(feature = "planted")]
    ReadBackWithoutLock,
    /// Nights are counted before the room type's lock was had.
    #[cfg(feature = "planted")]
    NightsBeforeLock,
    /// A room type's time is that of the beginning of the transaction, before the wait for the lock.
    #[cfg(feature = "planted")]
    OldNow,
}

/// The statement that locks the event.
#[cfg(not(feature = "planted"))]
pub async fn lock(ledger: &Inner, _: &Session, reads: &Reads) -> Result<Statement, Trouble> {
    let Bug::None = ledger.planted;
    Ok(reads.lock.clone())
}

#[cfg(not(feature = "planted"))]
pub fn reads_back_without_lock(_: &Inner) -> bool {
    false
}

#[cfg(not(feature = "planted"))]
pub async fn nights_before_lock(_: &Inner, _: &Batch<RoomType>) -> Result<Option<Nights>, Trouble> {
    Ok(None)
}

/// What the rules are shown.
pub fn seen(known: RoomTypeKnown, early: Option<&Nights>) -> RoomTypeKnown {
    match early {
        Some(early) => RoomTypeKnown { nights: early.clone(), ..known },
        None => known,
    }
}

/// The statement that asks a room type's batch for the time.
#[cfg(not(feature = "planted"))]
pub async fn room_now(_: &Inner, _: &Session, reads: &RoomReads) -> Result<Statement, Trouble> {
    Ok(reads.now.clone())
}

#[cfg(feature = "planted")]
pub use self::on_purpose::{nights_before_lock, room_now};

#[cfg(feature = "planted")]
pub use self::on_purpose::{lock, reads_back_without_lock, write_later};

#[cfg(feature = "planted")]
mod on_purpose {
    use rules::event::Event;
    use rules::event::EventWrites;
    use rules::time::Moment;

    use super::*;
    use crate::ledger::postgres::writes::{Page, Writer};

    pub async fn lock(ledger: &Inner, session: &Session, reads: &Reads) -> Result<Statement, Trouble> {
        match ledger.planted {
            Bug::CountInLock => session.prepared(COUNT_IN_LOCK).await,
            _ => Ok(reads.lock.clone()),
        }
    }

    const COUNT_IN_LOCK: &str = "
        SELECT id, name, max_per_user, opens_at, state, deleted, created_at, n,
               (SELECT coalesce(max(seat), 0) FROM taken WHERE event = $1),
               (SELECT count(*)::integer FROM taken WHERE event = $1 AND kind = 'sold'), held, came_back, inside,
               room_most, room_ttl_ms, room_max_age_ms, room_idle_ms, oldest_key, changed_at, hold_ttl
        FROM event WHERE id = $1 FOR NO KEY UPDATE";

    pub async fn nights_before_lock(ledger: &Inner, batch: &Batch<RoomType>) -> Result<Option<Nights>, Trouble> {
        if ledger.planted != Bug::NightsBeforeLock {
            return Ok(None);
        }
        let session = ledger.sessions.get().await?;
        let reads = RoomReads::prepare(&session).await?;
        let raw = reads.known(&session, &[(batch.subject, &batch.commands)]).await?;
        Ok(raw.understand()?.remove(&batch.subject).map(|known| known.nights).or_else(|| Some(Nights::new())))
    }

    pub async fn room_now(ledger: &Inner, session: &Session, reads: &RoomReads) -> Result<Statement, Trouble> {
        match ledger.planted {
            Bug::OldNow => session.prepared(OLD_NOW).await,
            _ => Ok(reads.now.clone()),
        }
    }

    const OLD_NOW: &str = "
        SELECT floor(extract(epoch FROM now()) * 1000)::bigint
             + coalesce(nullif(current_setting('tickettock.clock_offset_ms', true), ''), '0')::bigint";

    pub fn reads_back_without_lock(ledger: &Inner) -> bool {
        ledger.planted == Bug::ReadBackWithoutLock
    }

    /// Commits at leisure, while the answers are on their way.
    pub fn write_later(
        mut session: Session,
        writer: Writer,
        events: (Event, Event),
        writes: EventWrites,
        now: Moment,
        id: String,
    ) {
        tokio::spawn(async move {
            let (before, after) = &events;
            let page = Page { before, after, writes: &writes, holds: None, now, key_ttl_ms: i64::MAX / 4, batch: &id };
            if writer.write(&session, &page).await.is_ok() && session.batch_execute("COMMIT").await.is_ok() {
                session.clean();
            }
        });
    }
}
