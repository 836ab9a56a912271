//! The room types of the port, on PostgreSQL: rows into the nouns of the rules, and the reads.

mod batch;
mod gather;
mod known;
mod writes;

pub use self::gather::Gathering;
pub use self::known::Reads as RoomReads;
pub use self::writes::{begin_holds, change_holds};

use rules::history::Happened;
use rules::holds::{Hold, HoldState};
use rules::ids::{EventId, Seat, User};
use rules::nights::{Dates, Night};
use rules::stays::{NewRoomType, NightRow, RoomRecord, RoomType, Stay};
use rules::subject::{HoldId, RoomTypeId, StayId, SubjectId};
use rules::time::Moment;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::unknown;
use super::session::{Session, within};
use super::trouble::Trouble;
use super::{Inner, PostgresLedger, all, first, prepare, queries};
use crate::ledger::holds::{At, Holds, read_numbers, read_stock};
use crate::ledger::rooms::{Availability, Rooms};
use crate::ledger::{Answered, Batch, Commit, Committed, LedgerFault};

/// Columns from `at` on; the newest moment that the row knows comes last.
fn room_type(row: &Row, at: usize) -> Result<(RoomType, Moment), Trouble> {
    let room_type = RoomType {
        id: RoomTypeId(row.try_get(at)?),
        name: row.try_get::<_, &str>(at + 1)?.into(),
        description: row.try_get::<_, Option<&str>>(at + 2)?.map(Into::into),
        price: row.try_get::<_, Option<&str>>(at + 3)?.map(Into::into),
        time_zone: row.try_get::<_, &str>(at + 4)?.into(),
        total: row.try_get::<_, i32>(at + 5)? as u32,
        created_at: Moment(row.try_get(at + 6)?),
        n: row.try_get::<_, i64>(at + 7)? as u64,
    };
    Ok((room_type, Moment(row.try_get(at + 8)?)))
}

fn night(row: &Row, at: usize) -> Result<(Night, NightRow), Trouble> {
    let count = |i: usize| row.try_get::<_, i32>(at + i).map(|n| n as u32);
    Ok((Night(row.try_get(at)?), NightRow { total: count(1)?, reserved: count(2)?, held: count(3)? }))
}

pub fn hold(row: &Row) -> Result<Hold, Trouble> {
    let (stock, state): (&str, &str) = (row.try_get(4)?, row.try_get(8)?);
    let reserved: Option<&str> = row.try_get(10)?;
    Ok(Hold {
        id: HoldId { subject: SubjectId::of_row(row.try_get(0)?), n: row.try_get::<_, i64>(1)? as u64 },
        owner: User::stored(row.try_get(2)?),
        key: row.try_get::<_, &str>(3)?.into(),
        on: read_stock(stock).ok_or_else(|| unknown(stock))?,
        first_at: Moment(row.try_get(5)?),
        at: Moment(row.try_get(6)?),
        ends_at: Moment(row.try_get(7)?),
        state: HoldState::named(state).ok_or_else(|| unknown(state))?,
        ended_at: row.try_get::<_, Option<i64>>(9)?.map(Moment),
        reserved: match reserved {
            Some(numbers) => read_numbers(numbers).ok_or_else(|| unknown(numbers))?,
            None => Vec::new(),
        },
    })
}

fn stay(row: &Row) -> Result<Stay, Trouble> {
    Ok(Stay {
        id: StayId { room_type: RoomTypeId(row.try_get(6)?), n: row.try_get::<_, i64>(0)? as u64 },
        owner: User::stored(row.try_get(1)?),
        dates: Dates { check_in: Night(row.try_get(2)?), check_out: Night(row.try_get(3)?) },
        hold: row.try_get::<_, i64>(4)? as u64,
        at: Moment(row.try_get(5)?),
    })
}

fn entry(row: &Row) -> Result<RoomRecord, Trouble> {
    let what: &str = row.try_get(1)?;
    let dates: (Option<i32>, Option<i32>) = (row.try_get(6)?, row.try_get(7)?);
    Ok(RoomRecord {
        n: row.try_get::<_, i64>(0)? as u64,
        what: Happened::named(what).ok_or_else(|| unknown(what))?,
        owner: row.try_get::<_, Option<&str>>(2)?.map(User::stored),
        by_admin: row.try_get(3)?,
        at: Moment(row.try_get(4)?),
        hold: row.try_get::<_, Option<i64>>(5)?.map(|n| n as u64),
        dates: dates.0.zip(dates.1).map(|(i, o)| Dates { check_in: Night(i), check_out: Night(o) }),
    })
}

fn available(inner: &Inner, rows: &[Row], dates: Dates) -> Result<Option<Availability>, Trouble> {
    let (mut found, mut nights, mut lapsed) = (None, Vec::new(), Vec::new());
    for row in rows {
        match row.try_get::<_, i32>(0)? {
            0 => {
                inner.clock.saw(Moment(row.try_get(5)?));
                found = Some(room_type(row, 6)?.0);
            }
            1 => nights.push(night(row, 1)?),
            _ => {
                let on = Dates { check_in: Night(row.try_get(1)?), check_out: Night(row.try_get(2)?) };
                lapsed.push((on, row.try_get::<_, i32>(3)? as u32));
            }
        }
    }
    Ok(found.map(|room_type| Availability::of(room_type, dates, &nights, &lapsed)))
}

impl Inner {
    async fn create_room_type(&self, new: &NewRoomType) -> Result<Option<RoomType>, Trouble> {
        let mut session = self.sessions.get().await?;
        session.dirty();
        let id = within(insert(&session, new)).await??;
        within(session.batch_execute("COMMIT")).await??;
        session.clean();
        let rows = self.rows(queries::ROOM_TYPE, &[Box::new(id)]).await?;
        first(&rows, |row| Ok(room_type(row, 0)?.0))
    }
}

async fn insert(session: &Session, new: &NewRoomType) -> Result<i64, Trouble> {
    session.batch_execute("BEGIN").await?;
    let family = [&prepare::LOCK_FAMILY as &(dyn ToSql + Sync), &prepare::LOCK_NEW_ROOM_TYPE];
    session.execute("SELECT pg_advisory_xact_lock($1, $2)", &family).await?;
    let row: [&(dyn ToSql + Sync); 5] =
        [&&*new.name, &new.description.as_deref(), &new.price.as_deref(), &&*new.time_zone, &(new.total as i32)];
    let made = session.query_one(&session.prepared(queries::CREATE_ROOM_TYPE).await?, &row).await?;
    let (id, at): (i64, i64) = (made.try_get(0)?, made.try_get(1)?);
    let created = RoomRecord {
        n: 1,
        what: Happened::Created,
        hold: None,
        dates: None,
        owner: None,
        by_admin: true,
        at: Moment(at),
    };
    let append = session.prepared(queries::APPEND_ROOM_HISTORY).await?;
    let subject = SubjectId::RoomType(RoomTypeId(id)).row();
    writes::append(session, &append, vec![(subject, &created)], None).await?;
    Ok(id)
}

impl Commit<RoomType> for PostgresLedger {
    fn commit(&self, batch: Batch<RoomType>) -> Answered<Committed<RoomType>> {
        self.run(|inner| gather::commit(inner, batch))
    }
}

impl Holds for PostgresLedger {
    fn held_seats(&self, event: EventId) -> Answered<At<Vec<(Seat, Moment)>>> {
        self.read(queries::HELD_SEATS, vec![Box::new(event.0)], |_, rows| {
            let now = first(&rows, |row| Ok(Moment(row.try_get(2)?)))?.unwrap_or_default();
            let mut found = Vec::with_capacity(rows.len());
            for row in &rows {
                if let Some(seat) = row.try_get::<_, Option<i32>>(0)? {
                    found.push((Seat(seat as u32), Moment(row.try_get(1)?)));
                }
            }
            Ok(At { found, now })
        })
    }

    fn seat_is_held(&self, event: EventId, seat: Seat) -> Answered<bool> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(event.0), Box::new(seat.0 as i32)];
        self.read(queries::SEAT_IS_HELD, row, |_, rows| Ok(first(&rows, |row| Ok(row.try_get(0)?))?.unwrap_or(false)))
    }

    fn hold(&self, id: HoldId) -> Answered<At<Option<Hold>>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(id.subject.row()), Box::new(id.n as i64)];
        self.read(queries::HOLD, row, |inner, rows| {
            let found = first(&rows, |row| Ok((hold(row)?, Moment(row.try_get(11)?))))?;
            let now = found.as_ref().map_or(inner.clock.now(), |(_, now)| *now);
            Ok(At { found: found.map(|(hold, _)| hold), now })
        })
    }

    fn holds_of(&self, user: User, after: Option<HoldId>, limit: usize) -> Answered<At<Vec<Hold>>> {
        let (subject, n) = after.map_or((i64::MIN, 0), |id| (id.subject.row(), id.n as i64));
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(user.as_str().to_owned()), Box::new(subject), Box::new(n), Box::new(limit as i64)];
        self.read(queries::LIVE_HOLDS_OF, row, |_, rows| {
            let now = first(&rows, |row| Ok(Moment(row.try_get(11)?)))?.unwrap_or_default();
            let mut found = Vec::with_capacity(rows.len());
            for row in &rows {
                if row.try_get::<_, Option<i64>>(0)?.is_some() {
                    found.push(hold(row)?);
                }
            }
            Ok(At { found, now })
        })
    }
}

impl Rooms for PostgresLedger {
    fn create_room_type(&self, new: NewRoomType) -> Answered<RoomType> {
        self.run(move |inner| async move {
            inner.create_room_type(&new).await.map_err(Trouble::fault)?.ok_or(LedgerFault::NoSuchSubject)
        })
    }

    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(after.map_or(i64::MIN, |id| id.0)), Box::new(limit as i64)];
        self.read(queries::ROOM_TYPES, row, |_, rows| all(&rows, |row| Ok(room_type(row, 0)?.0)))
    }

    fn room_type(&self, id: RoomTypeId) -> Answered<Option<RoomType>> {
        self.read(queries::ROOM_TYPE, vec![Box::new(id.0)], |inner, rows| {
            first(&rows, |row| {
                inner.clock.saw(Moment(row.try_get(9)?));
                Ok(room_type(row, 0)?.0)
            })
        })
    }

    fn availability(&self, id: RoomTypeId, dates: Dates) -> Answered<Option<Availability>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(id.0), Box::new(dates.check_in.0), Box::new(dates.check_out.0)];
        self.read(queries::AVAILABILITY, row, move |inner, rows| available(inner, &rows, dates))
    }

    fn stay(&self, id: StayId) -> Answered<Option<Stay>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(vec![id.room_type.0]), Box::new(vec![id.n as i64])];
        self.read(queries::STAYS, row, |_, rows| first(&rows, stay))
    }

    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>> {
        let (room_type, n) = after.map_or((i64::MIN, 0), |id| (id.room_type.0, id.n as i64));
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(user.as_str().to_owned()), Box::new(room_type), Box::new(n), Box::new(limit as i64)];
        self.read(queries::STAYS_OF, row, |_, rows| all(&rows, stay))
    }

    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<RoomRecord>> {
        let subject = SubjectId::RoomType(id).row();
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(subject), Box::new(after as i64), Box::new(limit as i64)];
        self.read(queries::ROOM_HISTORY, row, |_, rows| all(&rows, entry))
    }
}
