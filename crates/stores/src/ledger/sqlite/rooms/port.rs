//! The room types of the port, on SQLite.

use rules::holds::Hold;
use rules::ids::{EventId, Seat, User};
use rules::nights::Dates;
use rules::stays::{NewRoomType, RoomRecord, RoomType, Stay};
use rules::subject::{HoldId, RoomTypeId, StayId, SubjectId};
use rules::time::Moment;
use rusqlite::OptionalExtension;

use super::{availability, entry, hold, read_room_type, room_type, stay};
use crate::ledger::holds::{At, Holds};
use crate::ledger::rooms::{Availability, Rooms};
use crate::ledger::sqlite::writer::Job;
use crate::ledger::sqlite::{SqliteLedger, queries};
use crate::ledger::{Answered, Batch, Commit, Committed};

impl Commit<RoomType> for SqliteLedger {
    fn commit(&self, batch: Batch<RoomType>) -> Answered<Committed<RoomType>> {
        self.ask(|reply| Job::Rooms(batch, reply))
    }
}

impl Holds for SqliteLedger {
    fn held_seats(&self, event: EventId) -> Answered<At<Vec<(Seat, Moment)>>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HELD_SEATS)?;
            let rows = statement.query_map([event.0], |row| Ok((Seat(row.get(0)?), Moment(row.get(1)?))))?;
            Ok(At { found: rows.collect::<rusqlite::Result<_>>()?, now: clock.now() })
        })
    }

    fn seat_is_held(&self, event: EventId, seat: Seat) -> Answered<bool> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::SEAT_IS_HELD)?;
            statement.query_row((event.0, seat.0, clock.now().0), |row| row.get(0))
        })
    }

    fn hold(&self, id: HoldId) -> Answered<At<Option<Hold>>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HOLD)?;
            let found = statement.query_row((id.subject.row(), id.n as i64), hold).optional()?;
            Ok(At { found, now: clock.now() })
        })
    }

    fn holds_of(&self, user: User, after: Option<HoldId>, limit: usize) -> Answered<At<Vec<Hold>>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let now = clock.now();
            let (subject, n) = after.map_or((i64::MIN, 0), |id| (id.subject.row(), id.n as i64));
            let mut statement = conn.prepare_cached(queries::LIVE_HOLDS_OF)?;
            let row = (user.as_str(), now.0, subject, n, limit as i64);
            let found = statement.query_map(row, hold)?.collect::<rusqlite::Result<_>>()?;
            Ok(At { found, now })
        })
    }
}

impl Rooms for SqliteLedger {
    fn create_room_type(&self, new: NewRoomType) -> Answered<RoomType> {
        self.ask(|reply| Job::CreateRooms(new, reply))
    }

    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::ROOM_TYPES)?;
            let after = after.map_or(i64::MIN, |id| id.0);
            statement.query_map((after, limit as i64), read_room_type)?.collect()
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
            conn.prepare_cached(queries::STAY)?.query_row((id.room_type.0, id.n as i64), stay).optional()
        })
    }

    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>> {
        self.readers.read(move |conn| {
            let (room_type, n) = after.map_or((i64::MIN, 0), |id| (id.room_type.0, id.n as i64));
            let mut statement = conn.prepare_cached(queries::STAYS_OF)?;
            statement.query_map((user.as_str(), room_type, n, limit as i64), stay)?.collect()
        })
    }

    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<RoomRecord>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::ROOM_HISTORY)?;
            let row = (SubjectId::RoomType(id).row(), after as i64, limit as i64);
            statement.query_map(row, entry)?.collect()
        })
    }
}
