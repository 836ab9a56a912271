//! Converts rows of room types to types of the rules. The column order is that of the query files.

use rules::buyer::Metadata;
use rules::history::{Happened, RequestOrigin};
use rules::holds::LapsedMark;
use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::room_type::{NightRow, RoomRecord, RoomType, Stay};
use rules::subject::{RoomTypeId, StayId};
use rules::time::Moment;
use rusqlite::{Result, Row};

use super::super::trouble::unknown;
use crate::ledger::details::read_details;
use crate::ledger::records::admin;

pub fn room_type(row: &Row<'_>) -> Result<RoomType> {
    Ok(RoomType {
        id: RoomTypeId(row.get(0)?),
        name: row.get::<_, String>(1)?.into(),
        description: row.get::<_, Option<String>>(2)?.map(Into::into),
        price: row.get::<_, Option<String>>(3)?.map(Into::into),
        currency: row.get::<_, Option<String>>("currency")?.map(Into::into),
        time_zone: row.get::<_, String>(4)?.into(),
        total: row.get(5)?,
        created_at: Moment(row.get(6)?),
        n: row.get::<_, i64>(7)? as u64,
        counted: LapsedMark { ends_at: Moment(row.get(8)?), place: row.get::<_, i64>(9)? as u64 },
    })
}

pub fn night(row: &Row<'_>) -> Result<(Night, NightRow)> {
    Ok((
        Night(row.get(0)?),
        NightRow { total: row.get(1)?, reserved: row.get(2)?, held: row.get(3)?, lapsed: row.get(4)? },
    ))
}

pub fn stay(row: &Row<'_>) -> Result<Stay> {
    Ok(Stay {
        id: StayId { room_type: RoomTypeId(row.get(6)?), n: row.get::<_, i64>(0)? as u64 },
        owner: User::stored(&row.get::<_, String>(1)?),
        dates: Dates { check_in: Night(row.get(2)?), check_out: Night(row.get(3)?) },
        hold: row.get::<_, i64>(4)? as u64,
        at: Moment(row.get(5)?),
        metadata: row.get_ref(7)?.as_str_or_null()?.map(Metadata::stored),
    })
}

pub fn record(row: &Row<'_>) -> Result<RoomRecord> {
    let what: String = row.get(1)?;
    let dates: (Option<i32>, Option<i32>) = (row.get(6)?, row.get(7)?);
    Ok(RoomRecord {
        n: row.get::<_, i64>(0)? as u64,
        what: Happened::named(&what).ok_or_else(|| unknown(1, &what))?,
        owner: row.get::<_, Option<String>>(2)?.map(|o| User::stored(&o)),
        admin: admin(row.get(3)?, row.get_ref(8)?.as_str_or_null()?),
        at: Moment(row.get(4)?),
        hold: row.get::<_, Option<i64>>(5)?.map(|n| n as u64),
        details: read_details(row.get_ref(9)?.as_str_or_null()?),
        dates: dates.0.zip(dates.1).map(|(i, o)| Dates { check_in: Night(i), check_out: Night(o) }),
        origin: RequestOrigin::default(),
    })
}
