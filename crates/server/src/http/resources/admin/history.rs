//! Who did what when: the history of all events and room types, by event, room type, user, seat, hold, kind, operator, request and time.
//! JSON in pages; CSV and JSON Lines whole.

use std::sync::Arc;

use rules::history::Happened;
use rules::ids::{EventId, Seat, User, whole_id};
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use rules::subject::{AnyReservation, RoomTypeId, SubjectId};
use rules::time::Moment;
use stores::ledger::records::{HistoryHead, LedgerRecord};

use super::list_format::{ListRow, cell};
use super::search::{Searched, listed};
use crate::app::App;
use crate::auth::Viewer;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::orders::MetadataBody;
use crate::http::wire::records::{HistoryAnswer, HistoryBody, HistoryHeadAnswer};
use crate::http::wire::{Succeeded, read_moment};
use crate::public_ids::PublicIds;
use crate::refusals::Failure;

pub async fn list(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let wanted = Wanted::of(&request, &app.secrets.get().await?.ids)?;
    listed(History { app, wanted }, &request, |history, next| {
        Reply::ok(&HistoryAnswer { success: Succeeded, history, next })
    })
    .await
}

/// `e1-43`, `r7-12`, `ledger-3`: a subject and a history number.
pub fn place_read(text: &str) -> Option<(SubjectId, u64)> {
    if let Some(n) = text.strip_prefix("ledger-") {
        return whole_id(n).map(|n| (SubjectId::Ledger, n as u64));
    }
    match text.parse().ok()? {
        AnyReservation::Seat(id) => Some((SubjectId::Event(id.event), id.n)),
        AnyReservation::Stay(id) => Some((SubjectId::RoomType(id.room_type), id.n)),
    }
}

pub async fn head_of_event(app: Arc<App>, call: Call<Viewer>) -> Handled {
    head(&app, SubjectId::Event(call.request.event()?)).await
}

pub async fn head_of_room_type(app: Arc<App>, call: Call<Viewer>) -> Handled {
    head(&app, SubjectId::RoomType(call.request.id("roomTypeId")?)).await
}

/// Of what concerns no event and no room type. Before anything of that kind happened its number is 0.
pub async fn head_of_ledger(app: Arc<App>, _: Call<Viewer>) -> Handled {
    let none = HistoryHead { n: 0, hash: None, at: app.ledger.now() };
    let head = app.ledger.head(SubjectId::Ledger).await?.unwrap_or(none);
    Ok(Reply::ok(&HistoryHeadAnswer::of(SubjectId::Ledger, &head)))
}

async fn head(app: &Arc<App>, of: SubjectId) -> Handled {
    let head = app.ledger.head(of).await?.ok_or(Refusal::NotFound)?;
    Ok(Reply::ok(&HistoryHeadAnswer::of(of, &head)))
}

/// The history of one subject or of all.
struct History {
    app: Arc<App>,
    wanted: Wanted,
}

impl Searched for History {
    type Row = LedgerRecord;
    type Place = (SubjectId, u64);
    type Body = HistoryBody;

    const ROWS: usize = 1_000;

    async fn read(&self, after: Option<(SubjectId, u64)>, rows: usize) -> Result<Vec<LedgerRecord>, Failure> {
        Ok(self.app.ledger.records(self.wanted.subject, after, rows).await?.shown(&self.app))
    }

    fn place(record: &LedgerRecord) -> (SubjectId, u64) {
        (record.subject, record.n)
    }

    fn place_read(&self, text: &str) -> Option<(SubjectId, u64)> {
        place_read(text)
    }

    fn place_written(&self, (subject, n): (SubjectId, u64)) -> String {
        format!("{subject}-{n}")
    }

    fn everything_fits(&self) -> bool {
        self.wanted.is_everything()
    }

    fn body(&self, record: LedgerRecord) -> Option<HistoryBody> {
        self.wanted.fits(&record).then(|| HistoryBody::of(&record))
    }
}

impl ListRow for HistoryBody {
    const HEADING: &'static str = "eventId,roomTypeId,n,what,by,userId,seatId,holdId,checkIn,checkOut,sequence,at,byName,reason,metadata,address,traceId,detail,erased,hash\r\n";

    fn cells(&self) -> Vec<String> {
        vec![
            cell(self.event_id),
            cell(self.room_type_id),
            self.n.to_string(),
            self.what.to_owned(),
            self.by.as_str().to_owned(),
            cell(self.user_id.as_ref()),
            cell(self.seat_id),
            cell(self.hold_id.as_ref()),
            cell(self.check_in.as_ref()),
            cell(self.check_out.as_ref()),
            cell(self.sequence),
            self.at.clone(),
            cell(self.by_name.as_ref()),
            cell(self.reason.as_ref()),
            cell(self.metadata.as_ref().map(MetadataBody::text)),
            cell(self.address.as_ref()),
            cell(self.trace_id.as_ref()),
            cell(self.detail.as_ref()),
            self.erased.to_string(),
            cell(self.hash.as_ref()),
        ]
    }
}

/// What can have happened, as `what` names it.
static KINDS: [&str; Happened::ALL.len()] = {
    let mut names = [""; Happened::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Happened::ALL[i].as_str();
        i += 1;
    }
    names
};

/// What a row must be about; none: anything.
struct Wanted {
    subject: Option<SubjectId>,
    user: Option<User>,
    seat: Option<Seat>,
    hold: Option<u64>,
    what: Option<Happened>,
    /// The operator who did it.
    by_name: Option<String>,
    /// The request that did it, by its trace id.
    trace: Option<String>,
    /// From this moment on, and before that one.
    from: Option<Moment>,
    to: Option<Moment>,
}

impl Wanted {
    fn of(request: &Incoming, ids: &PublicIds) -> Result<Wanted, Refusal> {
        let number = |name: &'static str, most: i64| {
            let out = || FieldError::refused(name, Problem::OutOfRange { least: 0, most });
            let text = request.query(name)?;
            let read = |text: String| whole_id(&text).filter(|n| *n <= most);
            text.map(|text| read(text).ok_or_else(out)).transpose()
        };
        let event = number("event", i64::MAX)?.map(|id| SubjectId::Event(EventId(id)));
        let room_type = number("roomType", i64::MAX)?.map(|id| SubjectId::RoomType(RoomTypeId(id)));
        if event.is_some() && room_type.is_some() {
            return Err(FieldError::refused("roomType", Problem::Expected(Expected::RoomTypeOrEvent)));
        }
        let not_a_user = || FieldError::refused("user", Problem::Unprintable);
        let user = request.query("user")?.map(|text| User::new(&text).ok_or_else(not_a_user)).transpose()?;
        let seat = number("seat", u32::MAX.into())?.map(|seat| Seat(seat as u32));
        let not_a_hold = || FieldError::refused("hold", Problem::Expected(Expected::HoldId));
        let hold = request.query("hold")?.map(|text| ids.read_hold(&text).ok_or_else(not_a_hold)).transpose()?;
        // A hold's id names its event or room type.
        let subject = event.or(room_type).or(hold.map(|hold| hold.subject));
        if hold.is_some_and(|hold| Some(hold.subject) != subject) {
            return Err(not_a_hold());
        }
        let unknown = || FieldError::refused("what", Problem::OneOf(&KINDS));
        let what = request.query("what")?.map(|text| Happened::named(&text).ok_or_else(unknown)).transpose()?;
        let (by_name, trace) = (request.query("byName")?, request.query("traceId")?);
        let moment = |name: &'static str| {
            let not_one = || FieldError::refused(name, Problem::NotAMoment);
            request.query(name)?.map(|text| read_moment(&text).ok_or_else(not_one)).transpose()
        };
        let (from, to) = (moment("from")?, moment("to")?);
        Ok(Wanted { subject, user, seat, hold: hold.map(|hold| hold.n), what, by_name, trace, from, to })
    }

    /// No row of the subject is passed over.
    fn is_everything(&self) -> bool {
        let about = self.user.is_none() && self.seat.is_none() && self.hold.is_none() && self.what.is_none();
        let done_by = self.by_name.is_none() && self.trace.is_none();
        about && done_by && self.from.is_none() && self.to.is_none()
    }

    fn fits(&self, record: &LedgerRecord) -> bool {
        let operator = record.admin.as_ref().map(|admin| admin.as_str());
        self.user.as_ref().is_none_or(|user| record.owner.as_ref() == Some(user))
            && self.seat.is_none_or(|seat| record.seat == Some(seat))
            && self.hold.is_none_or(|hold| record.hold == Some(hold))
            && self.what.is_none_or(|what| record.what == what)
            && self.by_name.as_deref().is_none_or(|name| operator == Some(name))
            && self.trace.as_deref().is_none_or(|trace| record.trace.as_deref() == Some(trace))
            && self.from.is_none_or(|from| record.at >= from)
            && self.to.is_none_or(|to| record.at < to)
    }
}
