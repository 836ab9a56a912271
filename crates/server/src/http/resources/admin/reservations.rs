//! Who has which seat, for the operator: JSON pages, or CSV. A CSV is whole unless a page was asked for;
//! it is read from the ledger page by page while it is sent, so that its size costs no memory.

use std::sync::Arc;

use futures_util::stream;
use rules::ids::{EventId, Seat, whole};
use rules::seats::Hall;
use salvo::http::header::ACCEPT;
use salvo::http::{HeaderName, HeaderValue};
use salvo::hyper::body::Bytes;
use stores::ledger::Reservation;

use crate::app::App;
use crate::auth::Admin;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::resources::reservations::give_back;
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::answers::AdminReservationsAnswer;
use crate::http::wire::{AdminReservationBody, Succeeded, moment};

const NEXT: HeaderName = HeaderName::from_static("x-next");
const CSV: &str = "text/csv; charset=utf-8";
const HEADING: &str = "reservationId,eventId,seatId,seatName,userId,userName,phone,sequence,createdAt\r\n";
/// Rows of a whole CSV that are read at a time.
const CSV_ROWS: usize = 1_000;

pub async fn list(app: Arc<App>, Call { request, .. }: Call<Admin>) -> Handled {
    let paging = Paging::of(&request)?;
    let event = request.event()?;
    let hall = app.lanes.find(event).await?.hall();
    let csv_asked = wants_csv(&request);
    if csv_asked && !Paging::asked(&request)? {
        return whole_csv(app, event, hall).await;
    }
    let after = paging.after(|text| whole(text).and_then(|seat| u32::try_from(seat).ok()).map(Seat))?;
    let found = app.ledger.reservations_in(event, after, paging.one_more()).await?.shown(&app);
    let (found, next) = paging.cut(found, |r| r.sale.seat.0.to_string());
    if csv_asked {
        let reply = Reply::text(CSV, format!("{HEADING}{}", rows(&found, &hall)));
        return Ok(match next.and_then(|next| HeaderValue::from_str(&next).ok()) {
            Some(next) => reply.with(NEXT, next),
            None => reply,
        });
    }
    let ids = &app.secrets.get().await?.ids;
    let reservations: Vec<_> = found.iter().map(|r| AdminReservationBody::of(r, &hall, ids)).collect();
    Ok(Reply::ok(&AdminReservationsAnswer { success: Succeeded, reservations, next }))
}

fn wants_csv(request: &Incoming) -> bool {
    let accepted = request.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/csv")
}

/// The first page is read before anything is sent, so that a ledger that cannot be read is a refusal.
async fn whole_csv(app: Arc<App>, event: EventId, hall: Arc<Hall>) -> Handled {
    let first = app.ledger.reservations_in(event, None, CSV_ROWS).await?.shown(&app);
    let parts = stream::try_unfold((HEADING, Some(first)), move |(heading, page)| {
        let (app, hall) = (app.clone(), hall.clone());
        async move {
            let Some(page) = page else { return Ok(None) };
            let text = format!("{heading}{}", rows(&page, &hall));
            let next = match page.last() {
                Some(last) if page.len() == CSV_ROWS => Some(next_page(&app, event, last.sale.seat).await?),
                _ => None,
            };
            Ok(Some((Bytes::from(text), ("", next))))
        }
    });
    Ok(Reply::flowing_text(CSV, parts))
}

async fn next_page(app: &App, event: EventId, after: Seat) -> Result<Vec<Reservation>, std::io::Error> {
    let read = app.ledger.reservations_in(event, Some(after), CSV_ROWS).await;
    read.map(|page| page.shown(app)).map_err(|fault| {
        tracing::error!(%fault, %event, "a CSV of reservations broke off");
        std::io::Error::other(fault)
    })
}

fn rows(found: &[Reservation], hall: &Hall) -> String {
    let mut text = String::new();
    for reservation in found {
        let sale = &reservation.sale;
        let cells = [
            reservation.id().to_string(),
            reservation.event.to_string(),
            sale.seat.0.to_string(),
            hall.seat_name(sale.seat),
            sale.owner.as_ref().map(|o| o.user.as_str().to_owned()).unwrap_or_default(),
            sale.buyer_name.as_deref().unwrap_or_default().to_owned(),
            sale.phone.as_deref().unwrap_or_default().to_owned(),
            sale.number.map(|n| n.0.to_string()).unwrap_or_default(),
            moment(sale.at),
        ];
        text.push_str(&cells.map(|cell| quoted(&cell)).join(","));
        text.push_str("\r\n");
    }
    text
}

/// What a spreadsheet may take for the beginning of a formula, also in full width.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];
/// A cell with one of these is quoted. Some spreadsheets separate cells by semicolons or tabs.
const QUOTED: [char; 6] = [',', ';', '\t', '"', '\r', '\n'];

/// A cell of RFC 4180. An apostrophe keeps a spreadsheet from running it as a formula; a telephone
/// number begins with + and needs none.
fn quoted(cell: &str) -> String {
    let digits = cell.strip_prefix('+').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let formula = cell.starts_with(FORMULA) && !digits;
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains(QUOTED) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

pub async fn cancel(app: Arc<App>, call: Call<Admin>) -> Handled {
    give_back(&app, &call.request, call.caller.actor(), None).await
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn formulas_are_escaped() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
        for formula in ["＝1", "＋1", "－1", "＠SUM"] {
            assert_eq!(quoted(formula), format!("'{formula}"));
        }
        assert_eq!((quoted("\t=1").as_str(), quoted("\r=1").as_str()), ("\"'\t=1\"", "\"'\r=1\""));
        assert_eq!((quoted("a;b").as_str(), quoted("a\tb").as_str()), ("\"a;b\"", "\"a\tb\""));
        assert_eq!(quoted("+821012345678"), "+821012345678");
        assert_eq!(quoted("+cmd"), "'+cmd");
    }
}
