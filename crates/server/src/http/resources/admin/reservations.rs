//! Who has which seat, for the operator: JSON in pages; CSV and JSON Lines whole, unless a page was asked for.

use std::sync::Arc;

use rules::ids::{EventId, Seat, whole as whole_number};
use rules::outcome::{FieldError, Problem, Refusal};
use rules::seats::{Hall, Sale};
use rules::subject::AnyReservation;
use stores::ledger::Reservation;

use super::list_format::{ListRow, cell};
use super::search::{Searched, listed};
use crate::app::App;
use crate::auth::{Admin, Viewer};
use crate::http::plumbing::body::{AnyBytes, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::resources::details::{self, Sender};
use crate::http::resources::reservations::give_back;
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::answers::AdminReservationsAnswer;
use crate::http::wire::{AdminReservationBody, Succeeded};
use crate::public_ids::PublicIds;
use crate::refusals::Failure;

/// Fewer digits would fit too many people.
const PHONE_DIGITS: usize = 4;

pub async fn list(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let event = request.event()?;
    let hall = app.lanes.find(event).await?.hall();
    let ids = app.secrets.get().await?.ids.clone();
    let wanted = SaleSearch::of(&request, event, &ids)?;
    let sales = EventSales { app, event, hall, ids, wanted };
    listed(sales, &request, |reservations, next| {
        Reply::ok(&AdminReservationsAnswer { success: Succeeded, reservations, next })
    })
    .await
}

/// What a sale must be; none: anything.
struct SaleSearch {
    user: Option<String>,
    /// Part of the buyer's name, in whatever case.
    name: Option<String>,
    /// The end of the telephone number, without what is not a digit.
    phone: Option<String>,
    /// Part of the email address, in whatever case.
    email: Option<String>,
    seat: Option<Seat>,
    /// The number of the sale; an id that cannot be read is of none.
    id: Option<Option<u64>>,
}

impl SaleSearch {
    fn of(request: &Incoming, event: EventId, ids: &PublicIds) -> Result<SaleSearch, Refusal> {
        let not_a_seat = || FieldError::refused("seat", Problem::OutOfRange { least: 1, most: u32::MAX.into() });
        let seat = request
            .query("seat")?
            .map(|text| whole_number(&text).and_then(|seat| u32::try_from(seat).ok()).map(Seat).ok_or_else(not_a_seat));
        let digits = |text: String| text.chars().filter(char::is_ascii_digit).collect::<String>();
        // A number of one's own country begins with a zero that the stored one does not have.
        let phone = request.query("phone")?.map(digits).map(|phone| phone.trim_start_matches('0').to_owned());
        if phone.as_ref().is_some_and(|phone| phone.len() < PHONE_DIGITS) {
            return Err(FieldError::refused("phone", Problem::NotAPhone));
        }
        let lower = |text: String| text.to_lowercase();
        let (name, email) = (request.query("name")?.map(lower), request.query("email")?.map(lower));
        let id = request.query("id")?.map(|text| match ids.read(&text) {
            Some(AnyReservation::Seat(id)) if id.event == event => Some(id.n),
            _ => None,
        });
        Ok(SaleSearch { user: request.query("user")?, name, phone, email, seat: seat.transpose()?, id })
    }

    fn is_everything(&self) -> bool {
        let buyer = self.user.is_none() && self.name.is_none() && self.phone.is_none() && self.email.is_none();
        buyer && self.seat.is_none() && self.id.is_none()
    }

    fn fits(&self, sale: &Sale) -> bool {
        let owner = sale.owner.as_ref().map(|owner| owner.user.as_str());
        let has =
            |text: &Option<Box<str>>, part: &str| text.as_deref().unwrap_or_default().to_lowercase().contains(part);
        let phone = sale.phone.as_deref().unwrap_or_default();
        self.user.as_deref().is_none_or(|user| owner == Some(user))
            && self.seat.is_none_or(|seat| sale.seat == seat)
            && self.id.is_none_or(|n| n == Some(sale.n))
            && self.phone.as_deref().is_none_or(|end| phone.ends_with(end))
            && self.name.as_deref().is_none_or(|part| has(&sale.buyer_name, part))
            && self.email.as_deref().is_none_or(|part| has(&sale.email, part))
    }
}

/// The sales of one event.
struct EventSales {
    app: Arc<App>,
    event: EventId,
    hall: Arc<Hall>,
    ids: Arc<PublicIds>,
    wanted: SaleSearch,
}

impl Searched for EventSales {
    type Row = Reservation;
    type Place = Seat;
    type Body = AdminReservationBody;

    const ROWS: usize = 1_000;

    async fn read(&self, after: Option<Seat>, rows: usize) -> Result<Vec<Reservation>, Failure> {
        Ok(self.app.ledger.reservations_in(self.event, after, rows).await?.shown(&self.app))
    }

    fn place(reservation: &Reservation) -> Seat {
        reservation.sale.seat
    }

    fn place_read(&self, text: &str) -> Option<Seat> {
        whole_number(text).and_then(|seat| u32::try_from(seat).ok()).map(Seat)
    }

    fn place_written(&self, seat: Seat) -> String {
        seat.0.to_string()
    }

    fn everything_fits(&self) -> bool {
        self.wanted.is_everything()
    }

    fn body(&self, reservation: Reservation) -> Option<AdminReservationBody> {
        let fits = self.wanted.fits(&reservation.sale);
        fits.then(|| AdminReservationBody::of(&reservation, &self.hall, &self.ids))
    }
}

impl ListRow for AdminReservationBody {
    const HEADING: &'static str =
        "reservationId,eventId,seatId,seatName,userId,userName,phone,sequence,createdAt,email,metadata,publicId\r\n";

    fn cells(&self) -> Vec<String> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        vec![
            self.reservation.reservation_id.clone(),
            self.reservation.event_id.to_string(),
            self.reservation.seat.id.to_string(),
            self.reservation.seat.name.clone(),
            text(&self.user_id),
            text(&self.user_name),
            text(&self.phone),
            cell(self.sequence),
            self.reservation.created_at.clone(),
            text(&self.email),
            self.reservation.metadata.as_ref().map(|metadata| metadata.text().to_owned()).unwrap_or_default(),
            self.public_id.clone(),
        ]
    }
}

pub async fn cancel(app: Arc<App>, call: Call<Admin, SentBody<AnyBytes>>) -> Handled {
    let details = details::reason(&call.request, &call.sent, Sender::Operator)?;
    give_back(&app, &call.request, call.caller.actor(), None, details).await
}
