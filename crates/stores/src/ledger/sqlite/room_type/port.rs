//! The room type methods of the port, on SQLite.

use rules::ids::User;
use rules::nights::Dates;
use rules::room_type::{NewRoomType, RoomRecord, RoomType, Stay};
use rules::subject::{RoomTypeId, StayId, SubjectId};
use rusqlite::OptionalExtension;

use super::super::{SqliteLedger, queries};
use super::{availability, create, room_type, rows};
use crate::ledger::Answered;
use crate::ledger::rooms::{Availability, Rooms};

impl Rooms for SqliteLedger {
    fn create_room_type(&self, new: NewRoomType) -> Answered<RoomType> {
        self.write(move |transaction| create(transaction.conn, &new, transaction.read.now))
    }

    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::ROOM_TYPES)?;
            let after = after.map_or(i64::MIN, |id| id.0);
            statement.query_map((after, limit as i64), rows::room_type)?.collect()
        })
    }

    fn room_type(&self, id: RoomTypeId) -> Answered<Option<RoomType>> {
        self.readers.read(move |conn| room_type(conn, id))
    }

    fn availability(&self, id: RoomTypeId, dates: Dates) -> Answered<Option<Availability>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| availability(conn, id, dates, clock.now()))
    }

    fn stay(&self, id: StayId) -> Answered<Option<Stay>> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::STAY)?.query_row((id.room_type.0, id.n as i64), rows::stay).optional()
        })
    }

    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>> {
        self.readers.read(move |conn| {
            let (room_type, n) = after.map_or((i64::MIN, 0), |id| (id.room_type.0, id.n as i64));
            let mut statement = conn.prepare_cached(queries::STAYS_OF)?;
            statement.query_map((user.as_str(), room_type, n, limit as i64), rows::stay)?.collect()
        })
    }

    fn stays_in(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<Stay>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::STAYS_IN)?;
            statement.query_map((id.0, after as i64, limit as i64), rows::stay)?.collect()
        })
    }

    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<RoomRecord>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::ROOM_HISTORY)?;
            let row = (SubjectId::RoomType(id).row(), after as i64, limit as i64);
            statement.query_map(row, rows::record)?.collect()
        })
    }
}
