//! Room types in PostgreSQL: how they are found, read and written, several in one transaction.

mod port;
mod reads;
mod rows;
mod writes;

use std::collections::HashMap;

use rules::room_type::{RoomType, RoomTypeKnown, short_nights};
use rules::subject::RoomTypeId;
use rules::time::Moment;
use tokio_postgres::{Error, Row};

pub use self::reads::{RoomTypeReads, RoomTypeRows};
use self::writes::RoomTypeWriter;
use super::engine::gather::Gathering;
use super::engine::{DecidedBatch, Mark, Portion, PostgresSubject};
use super::planted::{self, EarlyNights};
use super::session::Session;
use super::trouble::Trouble;
use super::{Inner, queries};
use crate::ledger::Batch;

impl PostgresSubject for RoomType {
    const LOCK: &'static str = queries::LOCK_ROOM_TYPE;

    /// Nights that were read before the lock was taken: only if that bug is enabled.
    type Aside = EarlyNights;
    type Reads = RoomTypeReads;
    type Found = RoomTypeRows;
    type Writer = RoomTypeWriter;

    fn row_id(id: RoomTypeId) -> i64 {
        id.0
    }

    async fn aside(ledger: &Inner, batch: &Batch<RoomType>) -> Result<Option<EarlyNights>, Trouble> {
        planted::nights_before_lock(ledger, batch).await.map(Some)
    }

    fn gathering(ledger: &Inner) -> Option<&Gathering<RoomType>> {
        Some(&ledger.room_types)
    }

    async fn reads(session: &Session, _: &[Portion<'_, RoomType>]) -> Result<RoomTypeReads, Trouble> {
        RoomTypeReads::prepare(session).await
    }

    async fn read(
        reads: &RoomTypeReads,
        session: &Session,
        portions: &[Portion<'_, RoomType>],
    ) -> Result<RoomTypeRows, Error> {
        reads.read(session, portions).await
    }

    fn of_row(row: &Row, _: &EarlyNights) -> Result<(RoomType, Moment), Trouble> {
        rows::room_type(row, 0)
    }

    fn wholly_read(&self, found: &RoomTypeRows, now: Moment) -> bool {
        !found.misses_count(self.id, now)
    }

    async fn read_rest(
        &self,
        _: &RoomTypeReads,
        session: &Session,
        portion: &Portion<'_, RoomType>,
        found: &mut RoomTypeRows,
        now: Moment,
    ) -> Result<(), Trouble> {
        found.count(session, self, now).await?;
        let known = found.understand()?.remove(&self.id).unwrap_or_default();
        let short = short_nights(self, &known, portion.commands, now);
        found.read_lapsed_on(session, self.id, &short, now).await
    }

    fn understand(
        found: &RoomTypeRows,
        locked: &[(&RoomType, &EarlyNights)],
    ) -> Result<HashMap<RoomTypeId, RoomTypeKnown>, Trouble> {
        let mut known = found.understand()?;
        for (room_type, early) in locked {
            planted::show_early_nights(early, known.entry(room_type.id).or_default());
        }
        Ok(known)
    }

    async fn writer(session: &Session) -> Result<RoomTypeWriter, Trouble> {
        RoomTypeWriter::prepare(session).await
    }

    async fn write(
        writer: &RoomTypeWriter,
        session: &Session,
        decided: &[DecidedBatch<'_, RoomType>],
        mark: Mark<'_>,
    ) -> Result<(), Error> {
        writer.write(session, decided, mark).await
    }
}
