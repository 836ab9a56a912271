//! Holds and stays of an event or a room type, for the operator, in every format of a list.

use std::sync::Arc;

use rules::holds::Hold;
use rules::ids::{User, whole};
use rules::outcome::Refusal;
use rules::room_type::Stay;
use rules::subject::{AnyReservation, HoldId, RoomTypeId, SubjectId};
use rules::time::Moment;

use super::list_format::ListRow;
use super::search::{Searched, listed};
use crate::app::App;
use crate::auth::Viewer;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::resources::room_types::id_in_path;
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::Succeeded;
use crate::http::wire::answers::{AdminStaysAnswer, HoldsAnswer};
use crate::http::wire::orders::MetadataBody;
use crate::http::wire::stays::{AdminStayBody, HoldBody, OnBody};
use crate::public_ids::PublicIds;
use crate::refusals::Failure;

pub async fn of_event(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let event = call.request.event()?;
    app.lanes.find(event).await?;
    listed_holds(app, &call.request, HoldsWanted::KeptIn(SubjectId::Event(event))).await
}

pub async fn of_room_type(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let id = id_in_path(&call.request)?;
    app.ledger.room_type(id).await?.ok_or(Refusal::NotFound)?;
    listed_holds(app, &call.request, HoldsWanted::KeptIn(SubjectId::RoomType(id))).await
}

/// Which holds are listed.
pub enum HoldsWanted {
    /// Every hold of an event or room type that is kept, in whatever state.
    KeptIn(SubjectId),
    /// The live ones of a user.
    LiveOf(User),
}

pub async fn listed_holds(app: Arc<App>, request: &Incoming, wanted: HoldsWanted) -> Handled {
    let ids = app.secrets.get().await?.ids.clone();
    listed(ListedHolds { app, wanted, ids }, request, |holds, next| {
        Reply::ok(&HoldsAnswer { success: Succeeded, holds, next })
    })
    .await
}

/// Who stays in a room type, in order of booking.
pub async fn stays(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let id = id_in_path(&request)?;
    app.ledger.room_type(id).await?.ok_or(Refusal::NotFound)?;
    let ids = app.secrets.get().await?.ids.clone();
    let wanted = StaySearch::of(&request, id, &ids)?;
    listed(StandingStays { app, id, ids, wanted }, &request, |reservations, next| {
        Reply::ok(&AdminStaysAnswer { success: Succeeded, reservations, next })
    })
    .await
}

struct ListedHolds {
    app: Arc<App>,
    wanted: HoldsWanted,
    ids: Arc<PublicIds>,
}

impl Searched for ListedHolds {
    /// With the moment of the read: whether a hold is live depends on it.
    type Row = (Hold, Moment);
    type Place = HoldId;
    type Body = HoldBody;

    const ROWS: usize = 1_000;

    async fn read(&self, after: Option<HoldId>, rows: usize) -> Result<Vec<(Hold, Moment)>, Failure> {
        let ledger = &self.app.ledger;
        let read = match &self.wanted {
            HoldsWanted::KeptIn(subject) => ledger.holds_in(*subject, after.map_or(0, |hold| hold.n), rows).await?,
            HoldsWanted::LiveOf(user) => ledger.holds_of(user.clone(), after, rows).await?,
        };
        let at = read.shown(&self.app);
        let now = at.now;
        Ok(at.found.into_iter().map(|hold| (hold, now)).collect())
    }

    fn place((hold, _): &(Hold, Moment)) -> HoldId {
        hold.id
    }

    fn place_read(&self, text: &str) -> Option<HoldId> {
        let id = self.ids.read_hold(text)?;
        let elsewhere = matches!(self.wanted, HoldsWanted::KeptIn(subject) if subject != id.subject);
        (!elsewhere).then_some(id)
    }

    fn place_written(&self, id: HoldId) -> String {
        id.to_string()
    }

    fn body(&self, (hold, now): (Hold, Moment)) -> Option<HoldBody> {
        Some(HoldBody::for_admin(&hold, now, &self.ids))
    }
}

impl ListRow for HoldBody {
    const HEADING: &'static str = "holdId,publicId,eventId,seatIds,roomTypeId,checkIn,checkOut,userId,clientHoldKey,createdAt,expiresAt,state,secondsRemaining,metadata,reason\r\n";

    fn cells(&self) -> Vec<String> {
        let [event, seats, room_type, check_in, check_out] = on_cells(&self.on);
        vec![
            self.hold_id.clone(),
            self.public_id.clone().unwrap_or_default(),
            event,
            seats,
            room_type,
            check_in,
            check_out,
            self.user_id.clone(),
            self.client_hold_key.clone(),
            self.created_at.clone(),
            self.expires_at.clone(),
            self.state.to_owned(),
            self.seconds_remaining.to_string(),
            self.metadata.as_ref().map(MetadataBody::text).unwrap_or_default().to_owned(),
            self.reason.clone().unwrap_or_default(),
        ]
    }
}

/// Event, seats, room type, check-in and check-out of a hold; empty where it has none.
pub fn on_cells(on: &OnBody) -> [String; 5] {
    let none = String::new;
    match on {
        OnBody::Seats { event_id, seat_ids } => {
            let seats: Vec<String> = seat_ids.iter().map(u32::to_string).collect();
            [event_id.to_string(), seats.join(" "), none(), none(), none()]
        }
        OnBody::Nights { room_type_id, check_in, check_out } => {
            [none(), none(), room_type_id.to_string(), check_in.clone(), check_out.clone()]
        }
    }
}

/// What a stay must be; none: anything.
struct StaySearch {
    user: Option<String>,
    /// The number of the stay; an id that cannot be read is of none.
    n: Option<Option<u64>>,
}

impl StaySearch {
    fn of(request: &Incoming, of: RoomTypeId, ids: &PublicIds) -> Result<StaySearch, Refusal> {
        let n = request.query("id")?.map(|text| match ids.read(&text) {
            Some(AnyReservation::Stay(id)) if id.room_type == of => Some(id.n),
            _ => None,
        });
        Ok(StaySearch { user: request.query("user")?, n })
    }

    fn fits(&self, stay: &Stay) -> bool {
        self.user.as_deref().is_none_or(|user| stay.owner.as_str() == user)
            && self.n.is_none_or(|n| n == Some(stay.id.n))
    }
}

struct StandingStays {
    app: Arc<App>,
    id: RoomTypeId,
    ids: Arc<PublicIds>,
    wanted: StaySearch,
}

impl Searched for StandingStays {
    type Row = Stay;
    type Place = u64;
    type Body = AdminStayBody;

    const ROWS: usize = 1_000;

    async fn read(&self, after: Option<u64>, rows: usize) -> Result<Vec<Stay>, Failure> {
        Ok(self.app.ledger.stays_in(self.id, after.unwrap_or_default(), rows).await?.shown(&self.app))
    }

    fn place(stay: &Stay) -> u64 {
        stay.id.n
    }

    fn place_read(&self, text: &str) -> Option<u64> {
        whole(text)
    }

    fn place_written(&self, n: u64) -> String {
        n.to_string()
    }

    fn everything_fits(&self) -> bool {
        self.wanted.user.is_none() && self.wanted.n.is_none()
    }

    fn body(&self, stay: Stay) -> Option<AdminStayBody> {
        self.wanted.fits(&stay).then(|| AdminStayBody::of(&stay, &self.ids))
    }
}

impl ListRow for AdminStayBody {
    const HEADING: &'static str =
        "reservationId,publicId,roomTypeId,checkIn,checkOut,userId,holdId,createdAt,metadata\r\n";

    fn cells(&self) -> Vec<String> {
        vec![
            self.stay.reservation_id.clone(),
            self.public_id.clone(),
            self.stay.room_type_id.to_string(),
            self.stay.check_in.clone(),
            self.stay.check_out.clone(),
            self.user_id.clone(),
            self.hold_id.clone(),
            self.stay.created_at.clone(),
            self.stay.metadata.as_ref().map(MetadataBody::text).unwrap_or_default().to_owned(),
        ]
    }
}
