//! The room type methods of the port, on PostgreSQL.

use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::room_type::{NewRoomType, RoomRecord, RoomType, RoomTypeWrites, Stay};
use rules::subject::{RoomTypeId, StayId, SubjectId};
use rules::time::Moment;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::session::{Session, within};
use super::super::trouble::Trouble;
use super::super::{Inner, PostgresLedger, all, first, prepare, queries, values};
use super::{rows, writes};
use crate::chain::{Chain, ChainedSubject};
use crate::ledger::rooms::{Availability, Rooms};
use crate::ledger::{Answered, LedgerFault};

fn available(inner: &Inner, found: &[Row], dates: Dates) -> Result<Option<Availability>, Trouble> {
    let (mut room_type, mut nights, mut lapsed) = (None, Vec::new(), Vec::new());
    for row in found {
        match row.try_get::<_, i32>(0)? {
            0 => {
                inner.clock.saw(Moment(row.try_get(6)?));
                room_type = Some(rows::room_type(row, 7)?.0);
            }
            1 => nights.push(rows::night(row, 1)?),
            _ => {
                let on = Dates { check_in: Night(row.try_get(1)?), check_out: Night(row.try_get(2)?) };
                lapsed.push((on, row.try_get::<_, i32>(3)? as u32));
            }
        }
    }
    Ok(room_type.map(|room_type| Availability::of(room_type, dates, &nights, &lapsed)))
}

impl Inner {
    async fn create_room_type(&self, new: &NewRoomType) -> Result<Option<RoomType>, Trouble> {
        let mut session = self.sessions.get().await?;
        session.dirty();
        let id = within(insert(&session, new)).await??;
        within(session.batch_execute("COMMIT")).await??;
        session.clean();
        let rows = self.rows(queries::ROOM_TYPE, &[Box::new(id)]).await?;
        first(&rows, |row| Ok(rows::room_type(row, 0)?.0))
    }
}

async fn insert(session: &Session, new: &NewRoomType) -> Result<i64, Trouble> {
    session.batch_execute("BEGIN").await?;
    let family = [&prepare::LOCK_FAMILY as &(dyn ToSql + Sync), &prepare::LOCK_NEW_ROOM_TYPE];
    session.execute("SELECT pg_advisory_xact_lock($1, $2)", &family).await?;
    let row: [&(dyn ToSql + Sync); 6] = [
        &&*new.name,
        &new.description.as_deref(),
        &new.price.as_deref(),
        &new.currency.as_deref(),
        &&*new.time_zone,
        &(new.total as i32),
    ];
    let made = session.query_one(&session.prepared(queries::CREATE_ROOM_TYPE).await?, &row).await?;
    let (id, at): (i64, i64) = (made.try_get(0)?, made.try_get(1)?);
    let created = RoomTypeWrites { history: vec![new.created(Moment(at))], ..RoomTypeWrites::default() };
    let chain = Chain::extend(None, RoomType::chain_rows(RoomTypeId(id), &created, None));
    let append = session.prepared(queries::APPEND_ROOM_HISTORY).await?;
    let subject = SubjectId::RoomType(RoomTypeId(id)).row();
    let history = created.history.iter().zip(&chain.links).map(|(entry, link)| (subject, entry, link));
    writes::append(session, &append, history.collect(), None).await?;
    session.execute("UPDATE room_type SET head = $2 WHERE id = $1", &[&id, &chain.head()]).await?;
    Ok(id)
}

impl Rooms for PostgresLedger {
    fn create_room_type(&self, new: NewRoomType) -> Answered<RoomType> {
        self.run(move |inner| async move {
            inner
                .create_room_type(&new)
                .await
                .map_err(Trouble::fault)?
                .ok_or_else(|| LedgerFault::Broken("a new room type is not there".into()))
        })
    }

    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>> {
        let row = values![after.map_or(i64::MIN, |id| id.0), limit as i64];
        self.read(queries::ROOM_TYPES, row, |_, rows| all(&rows, |row| Ok(rows::room_type(row, 0)?.0)))
    }

    fn room_type(&self, id: RoomTypeId) -> Answered<Option<RoomType>> {
        self.read(queries::ROOM_TYPE, values![id.0], |inner, rows| {
            first(&rows, |row| {
                inner.clock.saw(Moment(row.try_get(11)?));
                Ok(rows::room_type(row, 0)?.0)
            })
        })
    }

    fn availability(&self, id: RoomTypeId, dates: Dates) -> Answered<Option<Availability>> {
        let row = values![id.0, dates.check_in.0, dates.check_out.0];
        self.read(queries::AVAILABILITY, row, move |inner, rows| available(inner, &rows, dates))
    }

    fn stay(&self, id: StayId) -> Answered<Option<Stay>> {
        let row = values![vec![id.room_type.0], vec![id.n as i64]];
        self.read(queries::STAYS, row, |_, rows| first(&rows, rows::stay))
    }

    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>> {
        let (room_type, n) = after.map_or((i64::MIN, 0), |id| (id.room_type.0, id.n as i64));
        let row = values![user.as_str().to_owned(), room_type, n, limit as i64];
        self.read(queries::STAYS_OF, row, |_, rows| all(&rows, rows::stay))
    }

    fn stays_in(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<Stay>> {
        let row = values![id.0, after as i64, limit as i64];
        self.read(queries::STAYS_IN, row, |_, rows| all(&rows, rows::stay))
    }

    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<RoomRecord>> {
        let subject = SubjectId::RoomType(id).row();
        let row = values![subject, after as i64, limit as i64];
        self.read(queries::ROOM_HISTORY, row, |_, rows| all(&rows, rows::record))
    }
}
