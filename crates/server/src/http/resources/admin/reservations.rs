//! Who has which seat, for the operator: JSON in pages; CSV and JSON Lines whole, unless a page was asked for.

use std::sync::Arc;

use rules::ids::{EventId, Seat, whole as whole_number};
use rules::seats::Hall;
use salvo::http::{HeaderName, HeaderValue};
use stores::ledger::{LedgerFault, Reservation};

use super::whole::{ListFormat, ListRow, Page, whole, written};
use crate::app::App;
use crate::auth::Admin;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::resources::reservations::give_back;
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::answers::AdminReservationsAnswer;
use crate::http::wire::{AdminReservationBody, Succeeded};
use crate::public_ids::PublicIds;

const NEXT: HeaderName = HeaderName::from_static("x-next");
/// Rows of a whole list that are read at a time.
const ROWS: usize = 1_000;

pub async fn list(app: Arc<App>, Call { request, .. }: Call<Admin>) -> Handled {
    let paging = Paging::of(&request)?;
    let event = request.event()?;
    let hall = app.lanes.find(event).await?.hall();
    let ids = app.secrets.get().await?.ids.clone();
    let format = ListFormat::asked(&request);
    if format != ListFormat::Json && !Paging::asked(&request)? {
        let seller = Seller { app, event, hall, ids };
        let first = seller.page(None).await?;
        return Ok(whole(format, first, move |after| seller.clone().next(after)));
    }
    let after = paging.after(|text| whole_number(text).and_then(|seat| u32::try_from(seat).ok()).map(Seat))?;
    let found = app.ledger.reservations_in(event, after, paging.one_more()).await?.shown(&app);
    let (found, next) = paging.cut(found, |r| r.sale.seat.0.to_string());
    let reservations = bodies(&found, &hall, &ids);
    if format == ListFormat::Json {
        return Ok(Reply::ok(&AdminReservationsAnswer { success: Succeeded, reservations, next }));
    }
    let heading = if format == ListFormat::Csv { AdminReservationBody::HEADING } else { "" };
    let reply = Reply::text(format.kind(), format!("{heading}{}", written(format, &reservations)));
    Ok(match next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        Some(next) => reply.with(NEXT, next),
        None => reply,
    })
}

fn bodies(found: &[Reservation], hall: &Hall, ids: &PublicIds) -> Vec<AdminReservationBody> {
    found.iter().map(|reservation| AdminReservationBody::of(reservation, hall, ids)).collect()
}

/// What is needed to read page after page.
#[derive(Clone)]
struct Seller {
    app: Arc<App>,
    event: EventId,
    hall: Arc<Hall>,
    ids: Arc<PublicIds>,
}

impl Seller {
    async fn page(&self, after: Option<Seat>) -> Result<Page<AdminReservationBody, Seat>, LedgerFault> {
        let found = self.app.ledger.reservations_in(self.event, after, ROWS).await?.shown(&self.app);
        let next = found.last().filter(|_| found.len() == ROWS).map(|last| last.sale.seat);
        Ok((bodies(&found, &self.hall, &self.ids), next))
    }

    async fn next(self, after: Seat) -> Result<Page<AdminReservationBody, Seat>, LedgerFault> {
        self.page(Some(after)).await
    }
}

impl ListRow for AdminReservationBody {
    const HEADING: &'static str = "reservationId,eventId,seatId,seatName,userId,userName,phone,sequence,createdAt\r\n";

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
            self.sequence.map(|n| n.to_string()).unwrap_or_default(),
            self.reservation.created_at.clone(),
        ]
    }
}

pub async fn cancel(app: Arc<App>, call: Call<Admin>) -> Handled {
    give_back(&app, &call.request, call.caller.actor(), None).await
}
