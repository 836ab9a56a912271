//! Everything that is kept of one user: seats, stays, live holds, places in line, and what the history says of them, in
//! this order. Holds that have ended come with the history row of their beginning: there is no index of them.

use std::sync::Arc;

use rules::event::Event;
use rules::history::Happened;
use rules::holds::HoldState;
use rules::ids::{EventId, Number, Seat, User, whole, whole_id};
use rules::outcome::Refusal;
use rules::subject::{HoldId, StayId, SubjectId};
use stores::ledger::records::LedgerRecord;

use super::history;
use super::holds::on_cells;
use super::list_format::ListRow;
use super::search::{Searched, listed};
use crate::app::App;
use crate::auth::Viewer;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::AdminReservationBody;
use crate::http::wire::records::HistoryBody;
use crate::http::wire::stays::{AdminStayBody, HoldBody};
use crate::http::wire::users::{AdminUserAnswer, LinePlaceBody, UserRecordBody};
use crate::public_ids::PublicIds;
use crate::refusals::Failure;

pub async fn of_user(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let user = request.param("userId").and_then(User::new).ok_or(Refusal::NotFound)?;
    let ids = app.secrets.get().await?.ids.clone();
    let (everything, name) = (Everything { app, user: user.clone(), ids }, user.as_str());
    listed(everything, &request, |records, next| Reply::ok(&AdminUserAnswer::of(name, records, next))).await
}

struct Everything {
    app: Arc<App>,
    user: User,
    ids: Arc<PublicIds>,
}

/// What was read last.
#[derive(Clone, Copy)]
enum RecordPlace {
    Seat(EventId, Seat),
    Stay(StayId),
    Hold(HoldId),
    /// The line of this event.
    Line(EventId),
    /// A hold that has ended. The history row of its beginning, which has the same number, is next.
    Ended(SubjectId, u64),
    History(SubjectId, u64),
}

/// The body is none where a line or a history row has nothing of the user.
type Row = (RecordPlace, Option<UserRecordBody>);

impl Everything {
    async fn seats(&self, after: Option<(EventId, Seat)>, rows: usize) -> Result<Vec<Row>, Failure> {
        let found = self.app.ledger.reservations_of(self.user.clone(), after, rows).await?.shown(&self.app);
        let mut seats = Vec::with_capacity(found.len());
        for one in found {
            let hall = self.app.lanes.find(one.event).await?.hall();
            let body = AdminReservationBody::of(&one, &hall, &self.ids);
            seats.push((RecordPlace::Seat(one.event, one.sale.seat), Some(UserRecordBody::Reservation(body))));
        }
        Ok(seats)
    }

    async fn stays(&self, after: Option<StayId>, rows: usize) -> Result<Vec<Row>, Failure> {
        let found = self.app.ledger.stays_of(self.user.clone(), after, rows).await?.shown(&self.app);
        let stay = |stay| UserRecordBody::Stay(AdminStayBody::of(stay, &self.ids));
        Ok(found.iter().map(|one| (RecordPlace::Stay(one.id), Some(stay(one)))).collect())
    }

    async fn holds(&self, after: Option<HoldId>, rows: usize) -> Result<Vec<Row>, Failure> {
        let at = self.app.ledger.holds_of(self.user.clone(), after, rows).await?.shown(&self.app);
        let hold = |hold| UserRecordBody::Hold(HoldBody::for_admin(hold, at.now, &self.ids));
        Ok(at.found.iter().map(|one| (RecordPlace::Hold(one.id), Some(hold(one)))).collect())
    }

    /// One row per event that is listed: the user's entry, else the place in its line.
    async fn lines(&self, after: Option<EventId>, rows: usize) -> Result<Vec<Row>, Failure> {
        let events = self.app.ledger.events(false, after, rows).await?;
        let mut lines = Vec::with_capacity(events.len());
        for event in events {
            let place = match event.waiting_room {
                Some(_) => self.place_in(&event).await?,
                None => None,
            };
            lines.push((RecordPlace::Line(event.id), place.map(UserRecordBody::Place)));
        }
        Ok(lines)
    }

    async fn place_in(&self, event: &Event) -> Result<Option<LinePlaceBody>, Failure> {
        let ledger = &self.app.ledger;
        let (event, gathers) = (event.id, event.gathers(ledger.wall()));
        let entry = ledger.entry_of(event, self.user.clone()).await?.filter(|entry| entry.live(ledger.now()));
        if let Some(entry) = entry {
            return Ok(Some(LinePlaceBody::inside(event, entry.number, entry.ends.shown(&self.app))));
        }
        let number = self.app.door.number_in_line(event, self.user.clone()).await?;
        // Not even an operator learns what will be drawn.
        let shown = |number: Number| Some(number).filter(|number| !(gathers && number.is_drawn()));
        Ok(number.map(|number| LinePlaceBody::waiting(event, shown(number))))
    }

    /// `told`: the hold that began with the first of these rows was in the list already.
    async fn history(&self, after: Option<(SubjectId, u64)>, told: bool, rows: usize) -> Result<Vec<Row>, Failure> {
        let first = after.map(|(subject, n)| (subject, n + 1)).filter(|_| told);
        let records = self.app.ledger.records(None, after, rows).await?.shown(&self.app);
        let mut found = Vec::with_capacity(records.len());
        for record in records {
            let at = (record.subject, record.n);
            let about = record.owner.as_ref() == Some(&self.user);
            if about && record.what == Happened::Held && first != Some(at) {
                let ended = self.ended_hold(&record).await?;
                found.extend(ended.map(|hold| (RecordPlace::Ended(at.0, at.1), Some(UserRecordBody::Hold(hold)))));
            }
            let body = about.then(|| UserRecordBody::History(HistoryBody::of(&record)));
            found.push((RecordPlace::History(at.0, at.1), body));
        }
        Ok(found)
    }

    /// The hold that began with this row, if it has ended and is still kept. Of several seats, the first row names it.
    async fn ended_hold(&self, record: &LedgerRecord) -> Result<Option<HoldBody>, Failure> {
        let Some(n) = record.hold.filter(|n| *n == record.n) else { return Ok(None) };
        let at = self.app.ledger.hold(HoldId { subject: record.subject, n }).await?.shown(&self.app);
        let ended = at.found.filter(|hold| !hold.live(at.now) && hold.state != HoldState::Replaced);
        Ok(ended.map(|hold| HoldBody::for_admin(&hold, at.now, &self.ids)))
    }
}

impl Searched for Everything {
    type Row = Row;
    type Place = RecordPlace;
    type Body = UserRecordBody;

    const ROWS: usize = 2_000;

    async fn read(&self, after: Option<RecordPlace>, rows: usize) -> Result<Vec<Row>, Failure> {
        use RecordPlace::{Ended, History, Hold, Line, Seat, Stay};
        let mut found = Vec::new();
        let left = |found: &Vec<Row>| rows.saturating_sub(found.len());
        if matches!(after, None | Some(Seat(..))) {
            let after = if let Some(Seat(event, seat)) = after { Some((event, seat)) } else { None };
            found.extend(self.seats(after, left(&found)).await?);
        }
        if matches!(after, None | Some(Seat(..) | Stay(_))) && left(&found) > 0 {
            let after = if let Some(Stay(id)) = after { Some(id) } else { None };
            found.extend(self.stays(after, left(&found)).await?);
        }
        if matches!(after, None | Some(Seat(..) | Stay(_) | Hold(_))) && left(&found) > 0 {
            let after = if let Some(Hold(id)) = after { Some(id) } else { None };
            found.extend(self.holds(after, left(&found)).await?);
        }
        if !matches!(after, Some(Ended(..) | History(..))) && left(&found) > 0 {
            let after = if let Some(Line(event)) = after { Some(event) } else { None };
            found.extend(self.lines(after, left(&found)).await?);
        }
        if left(&found) > 0 {
            let (after, told) = match after {
                Some(History(subject, n)) => (Some((subject, n)), false),
                Some(Ended(subject, n)) => (Some((subject, n.saturating_sub(1))), true),
                _ => (None, false),
            };
            found.extend(self.history(after, told, left(&found)).await?);
        }
        Ok(found)
    }

    fn place((place, _): &Row) -> RecordPlace {
        *place
    }

    fn place_read(&self, text: &str) -> Option<RecordPlace> {
        let (kind, rest) = text.split_once('.')?;
        let event = |text: &str| whole_id(text).map(EventId);
        let row = || history::place_read(rest);
        Some(match kind {
            "seat" => {
                let (of, seat) = rest.split_once('.')?;
                RecordPlace::Seat(event(of)?, Seat(whole(seat)?.try_into().ok()?))
            }
            "stay" => match history::place_read(rest)? {
                (SubjectId::RoomType(room_type), n) => RecordPlace::Stay(StayId { room_type, n }),
                _ => return None,
            },
            "hold" => RecordPlace::Hold(self.ids.read_hold(rest)?),
            "line" => RecordPlace::Line(event(rest)?),
            "ended" => row().map(|(subject, n)| RecordPlace::Ended(subject, n))?,
            "history" => row().map(|(subject, n)| RecordPlace::History(subject, n))?,
            _ => return None,
        })
    }

    fn place_written(&self, place: RecordPlace) -> String {
        match place {
            RecordPlace::Seat(event, seat) => format!("seat.{event}.{}", seat.0),
            RecordPlace::Stay(id) => format!("stay.{id}"),
            RecordPlace::Hold(id) => format!("hold.{id}"),
            RecordPlace::Line(event) => format!("line.{event}"),
            RecordPlace::Ended(subject, n) => format!("ended.{subject}-{n}"),
            RecordPlace::History(subject, n) => format!("history.{subject}-{n}"),
        }
    }

    fn everything_fits(&self) -> bool {
        false
    }

    fn body(&self, (_, body): Row) -> Option<UserRecordBody> {
        body
    }
}

/// The columns that any of them has, and the whole of it as JSON.
impl ListRow for UserRecordBody {
    const HEADING: &'static str = "kind,id,eventId,roomTypeId,seatIds,checkIn,checkOut,at,state,record\r\n";

    fn cells(&self) -> Vec<String> {
        let shown = |value: Option<String>| value.unwrap_or_default();
        let [id, event, room_type, seats, check_in, check_out, at, state] = match self {
            UserRecordBody::Reservation(AdminReservationBody { reservation: r, .. }) => [
                r.reservation_id.clone(),
                r.event_id.to_string(),
                String::new(),
                r.seat.id.to_string(),
                String::new(),
                String::new(),
                r.created_at.clone(),
                r.state.to_owned(),
            ],
            UserRecordBody::Stay(AdminStayBody { stay, .. }) => [
                stay.reservation_id.clone(),
                String::new(),
                stay.room_type_id.to_string(),
                String::new(),
                stay.check_in.clone(),
                stay.check_out.clone(),
                stay.created_at.clone(),
                stay.state.to_owned(),
            ],
            UserRecordBody::Hold(hold) => {
                let [event, seats, room_type, check_in, check_out] = on_cells(&hold.on);
                let (at, state) = (hold.created_at.clone(), hold.state.to_owned());
                [hold.hold_id.clone(), event, room_type, seats, check_in, check_out, at, state]
            }
            UserRecordBody::Place(place) => {
                let mut cells = <[String; 8]>::default();
                cells[1] = place.event_id.to_string();
                cells[7] = place.status.to_owned();
                cells
            }
            UserRecordBody::History(row) => [
                row.n.to_string(),
                shown(row.event_id.map(|id| id.to_string())),
                shown(row.room_type_id.map(|id| id.to_string())),
                shown(row.seat_id.map(|id| id.to_string())),
                shown(row.check_in.clone()),
                shown(row.check_out.clone()),
                row.at.clone(),
                row.what.to_owned(),
            ],
        };
        let record = serde_json::to_string(self).unwrap_or_default();
        vec![self.kind().to_owned(), id, event, room_type, seats, check_in, check_out, at, state, record]
    }
}
