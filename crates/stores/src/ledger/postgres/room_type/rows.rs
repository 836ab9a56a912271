//! Converts rows of room types to types of the rules. The column order is that of the query files.

use rules::buyer::Metadata;
use rules::history::{Happened, RequestOrigin};
use rules::holds::LapsedMark;
use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::room_type::{NightRow, RoomRecord, RoomType, Stay};
use rules::subject::{RoomTypeId, StayId};
use rules::time::Moment;
use tokio_postgres::Row;

use super::super::trouble::{Trouble, unknown};
use crate::ledger::details::read_details;
use crate::ledger::records::admin;

/// Columns from `at` on, and the newest timestamp in the row.
pub fn room_type(row: &Row, at: usize) -> Result<(RoomType, Moment), Trouble> {
    let room_type = RoomType {
        id: RoomTypeId(row.try_get(at)?),
        name: row.try_get::<_, &str>(at + 1)?.into(),
        description: row.try_get::<_, Option<&str>>(at + 2)?.map(Into::into),
        price: row.try_get::<_, Option<&str>>(at + 3)?.map(Into::into),
        currency: row.try_get::<_, Option<&str>>("currency")?.map(Into::into),
        time_zone: row.try_get::<_, &str>(at + 4)?.into(),
        total: row.try_get::<_, i32>(at + 5)? as u32,
        created_at: Moment(row.try_get(at + 6)?),
        n: row.try_get::<_, i64>(at + 7)? as u64,
        counted: LapsedMark { ends_at: Moment(row.try_get(at + 9)?), place: row.try_get::<_, i64>(at + 10)? as u64 },
    };
    Ok((room_type, Moment(row.try_get(at + 8)?)))
}

pub fn night(row: &Row, at: usize) -> Result<(Night, NightRow), Trouble> {
    let night = Night(row.try_get(at)?);
    let count = |i: usize| row.try_get::<_, i32>(at + i).map(|n| n as u32);
    let row = NightRow { total: count(1)?, reserved: count(2)?, held: count(3)?, lapsed: count(4)? };
    Ok((night, row))
}

pub fn stay(row: &Row) -> Result<Stay, Trouble> {
    Ok(Stay {
        id: StayId { room_type: RoomTypeId(row.try_get(6)?), n: row.try_get::<_, i64>(0)? as u64 },
        owner: User::stored(row.try_get(1)?),
        dates: Dates { check_in: Night(row.try_get(2)?), check_out: Night(row.try_get(3)?) },
        hold: row.try_get::<_, i64>(4)? as u64,
        at: Moment(row.try_get(5)?),
        metadata: row.try_get::<_, Option<&str>>(7)?.map(Metadata::stored),
    })
}

pub fn record(row: &Row) -> Result<RoomRecord, Trouble> {
    let what: &str = row.try_get(1)?;
    let dates: (Option<i32>, Option<i32>) = (row.try_get(6)?, row.try_get(7)?);
    Ok(RoomRecord {
        n: row.try_get::<_, i64>(0)? as u64,
        what: Happened::named(what).ok_or_else(|| unknown(what))?,
        owner: row.try_get::<_, Option<&str>>(2)?.map(User::stored),
        admin: admin(row.try_get(3)?, row.try_get(8)?),
        at: Moment(row.try_get(4)?),
        hold: row.try_get::<_, Option<i64>>(5)?.map(|n| n as u64),
        details: read_details(row.try_get(9)?),
        dates: dates.0.zip(dates.1).map(|(i, o)| Dates { check_in: Night(i), check_out: Night(o) }),
        origin: RequestOrigin::default(),
    })
}
