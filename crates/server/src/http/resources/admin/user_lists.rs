//! The holds and the reservations of one user, as lists in every format.

use std::sync::Arc;

use rules::ids::User;
use rules::outcome::{FieldError, Problem, Refusal};

use super::holds::{HoldsWanted, listed_holds};
use super::list_format::{ListRow, cell};
use super::search::{Searched, listed};
use crate::app::App;
use crate::auth::Viewer;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::resources::reservations::{OwnPlace, reservations_of};
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::answers::ReservationsAnswer;
use crate::http::wire::orders::MetadataBody;
use crate::http::wire::stays::AnyReservationBody;
use crate::public_ids::PublicIds;
use crate::refusals::Failure;

/// Live holds of one user.
pub async fn holds(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let user = asked_for(&request)?;
    listed_holds(app, &request, HoldsWanted::LiveOf(user)).await
}

/// Seats and stays of one user.
pub async fn reservations(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let user = asked_for(&request)?;
    let ids = app.secrets.get().await?.ids.clone();
    listed(UserReservations { app, user, ids }, &request, |reservations, next| {
        Reply::ok(&ReservationsAnswer { success: Succeeded, reservations, next })
    })
    .await
}

fn asked_for(request: &Incoming) -> Result<User, Refusal> {
    let text = request.query("user")?.ok_or_else(|| FieldError::refused("user", Problem::Missing))?;
    User::new(&text).ok_or_else(|| FieldError::refused("user", Problem::Unprintable))
}

struct UserReservations {
    app: Arc<App>,
    user: User,
    ids: Arc<PublicIds>,
}

impl Searched for UserReservations {
    type Row = (OwnPlace, AnyReservationBody);
    type Place = OwnPlace;
    type Body = AnyReservationBody;

    const ROWS: usize = 1_000;

    async fn read(&self, after: Option<OwnPlace>, rows: usize) -> Result<Vec<Self::Row>, Failure> {
        reservations_of(&self.app, &self.user, after, rows).await
    }

    fn place((place, _): &Self::Row) -> OwnPlace {
        *place
    }

    fn place_read(&self, text: &str) -> Option<OwnPlace> {
        OwnPlace::read(text, &self.ids)
    }

    fn place_written(&self, place: OwnPlace) -> String {
        place.written(&self.ids)
    }

    fn body(&self, (_, reservation): Self::Row) -> Option<AnyReservationBody> {
        Some(reservation)
    }
}

impl ListRow for AnyReservationBody {
    const HEADING: &'static str =
        "reservationId,eventId,seatId,seatName,roomTypeId,checkIn,checkOut,createdAt,state,metadata,sequence\r\n";

    fn cells(&self) -> Vec<String> {
        let none = String::new;
        let noted =
            |metadata: &Option<MetadataBody>| metadata.as_ref().map(MetadataBody::text).unwrap_or_default().to_owned();
        match self {
            AnyReservationBody::Seat(seat) => vec![
                seat.reservation_id.clone(),
                seat.event_id.to_string(),
                seat.seat.id.to_string(),
                seat.seat.name.clone(),
                none(),
                none(),
                none(),
                seat.created_at.clone(),
                seat.state.to_owned(),
                noted(&seat.metadata),
                cell(seat.sequence),
            ],
            AnyReservationBody::Stay(stay) => vec![
                stay.reservation_id.clone(),
                none(),
                none(),
                none(),
                stay.room_type_id.to_string(),
                stay.check_in.clone(),
                stay.check_out.clone(),
                stay.created_at.clone(),
                stay.state.to_owned(),
                noted(&stay.metadata),
                none(),
            ],
        }
    }
}
