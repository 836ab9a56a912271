//! The messages for endpoints: rows of the history. No message carries a name, a telephone number, an email address
//! or a user id: a receiver that needs more asks the API with the id.

use hmac::Mac;
use rules::event::Event;
use rules::history::Happened;
use rules::ids::ReservationId;
use rules::subject::{HoldId, StayId, SubjectId};
use rules::time::Moment;
use serde_json::{Map, Value, json};
use stores::ledger::records::LedgerRecord;
use stores::ledger::webhooks::WebhookType;

use crate::http::wire::moment;
use crate::http::wire::orders::MetadataBody;
use crate::public_ids::PublicIds;
use crate::secrets::LedgerSecret;

/// One message, and its position in its subject's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookMessage {
    pub id: String,
    pub kind: WebhookType,
    pub n: u64,
    pub body: String,
}

/// The context for the messages of a subject.
pub struct MessageMaker<'a> {
    pub subject: SubjectId,
    /// Of an event.
    pub event: Option<&'a Event>,
    /// The types that the endpoint subscribes to. No others are made.
    pub types: &'a [WebhookType],
    pub secret: &'a LedgerSecret,
    /// From the ledger's time to wall clock time.
    pub shift_ms: i64,
}

/// A step of the history: rows that belong together, their messages, and the cursor after them.
#[derive(Debug)]
pub struct HistoryStep {
    pub messages: Vec<WebhookMessage>,
    pub n: u64,
    /// Seats of an event. Unused for a room type, and left unchanged.
    pub sold: u64,
}

impl MessageMaker<'_> {
    /// Groups rows into steps, in order. The rows of a hold on several seats are one step. `more`: rows follow, so
    /// the last step may be incomplete, and is left out.
    pub fn steps(&self, rows: &[LedgerRecord], mut sold: u64, more: bool) -> Vec<HistoryStep> {
        let together = |a: &LedgerRecord, b: &LedgerRecord| {
            let about_a_hold = matches!(a.what, Happened::Held | Happened::Expired);
            about_a_hold && a.what == b.what && a.hold.is_some() && a.hold == b.hold
        };
        let mut groups: Vec<&[LedgerRecord]> = rows.chunk_by(together).collect();
        if more && groups.len() > 1 {
            groups.pop();
        }
        let step = |group: &&[LedgerRecord]| {
            let (first, last) = (group.first()?, group.last()?);
            let before = sold;
            match (self.subject, first.what) {
                (SubjectId::Event(_), Happened::Reserved) => sold += 1,
                (SubjectId::Event(_), Happened::Cancelled) => sold = sold.saturating_sub(1),
                _ => {}
            }
            let mut messages: Vec<WebhookMessage> = self.message(group).into_iter().collect();
            if let Some(event) = self.event
                && sold > before
                && sold == u64::from(event.seat_count())
                && self.types.contains(&WebhookType::EventSoldOut)
            {
                messages.push(self.made(WebhookType::EventSoldOut, first.n, first.at, self.about()));
            }
            Some(HistoryStep { messages, n: last.n, sold })
        };
        groups.iter().filter_map(step).collect()
    }

    /// The event opened by the clock, or was created open: no row records it.
    pub fn opened(&self, n: u64, opening: Moment, at: Moment) -> WebhookMessage {
        let mut message = self.made(WebhookType::EventOpened, n, at, self.about());
        message.id = self.id(WebhookType::EventOpened, 0, opening);
        message
    }

    fn message(&self, group: &[LedgerRecord]) -> Option<WebhookMessage> {
        let first = group.first()?;
        let kind = match first.what {
            Happened::Reserved => WebhookType::ReservationConfirmed,
            Happened::Cancelled => WebhookType::ReservationCancelled,
            Happened::Held => WebhookType::HoldCreated,
            Happened::Expired if first.hold.is_some() => WebhookType::HoldExpired,
            Happened::Opened => WebhookType::EventOpened,
            _ => return None,
        };
        if !self.types.contains(&kind) {
            return None;
        }
        let mut data = self.about();
        let ids = &self.secret.ids;
        let reservation = match kind {
            WebhookType::ReservationConfirmed => Some(first.n),
            WebhookType::ReservationCancelled => first.details.as_ref().and_then(|details| details.reservation),
            _ => None,
        };
        if matches!(kind, WebhookType::ReservationConfirmed | WebhookType::ReservationCancelled) {
            data.insert("reservationId".into(), reservation.and_then(|n| self.reservation(ids, n)).into());
        }
        if let Some(n) = first.hold {
            data.insert("holdId".into(), ids.of_hold(HoldId { subject: self.subject, n }).into());
        }
        let seats: Vec<Value> = group.iter().filter_map(|row| self.seat(row)).collect();
        match kind {
            WebhookType::HoldCreated | WebhookType::HoldExpired if !seats.is_empty() => {
                data.insert("seats".into(), seats.into());
            }
            _ => data.extend(seats.into_iter().next().map(|seat| ("seat".to_owned(), seat))),
        }
        if let Some(dates) = first.dates {
            data.insert("checkIn".into(), dates.check_in.to_string().into());
            data.insert("checkOut".into(), dates.check_out.to_string().into());
        }
        let metadata = MetadataBody::of(first.details.as_ref().and_then(|details| details.metadata.as_ref()));
        if let Some(metadata) = metadata.and_then(|metadata| serde_json::to_value(metadata).ok()) {
            data.insert("metadata".into(), metadata);
        }
        let reason = first.details.as_ref().and_then(|details| details.reason.as_deref());
        if let Some(reason) = reason.filter(|_| kind == WebhookType::ReservationCancelled) {
            data.insert("reason".into(), reason.into());
        }
        Some(self.made(kind, first.n, first.at, data))
    }

    fn about(&self) -> Map<String, Value> {
        match self.subject {
            SubjectId::Event(event) => {
                let mut about = Map::from_iter([("eventId".to_owned(), event.0.into())]);
                if self.event.is_some_and(|event| event.rehearsal) {
                    about.insert("rehearsal".into(), true.into());
                }
                about
            }
            SubjectId::RoomType(room_type) => Map::from_iter([("roomTypeId".to_owned(), room_type.0.into())]),
            // Endpoints get no messages about the ledger itself.
            SubjectId::Ledger => Map::new(),
        }
    }

    fn reservation(&self, ids: &PublicIds, n: u64) -> Option<String> {
        match self.subject {
            SubjectId::Event(event) => Some(ids.of_seat(ReservationId { event, n })),
            SubjectId::RoomType(room_type) => Some(ids.of_stay(StayId { room_type, n })),
            SubjectId::Ledger => None,
        }
    }

    fn seat(&self, row: &LedgerRecord) -> Option<Value> {
        let (seat, event) = (row.seat?, self.event?);
        Some(json!({ "id": seat.0, "name": event.hall.seat_name(seat) }))
    }

    fn made(&self, kind: WebhookType, n: u64, at: Moment, data: Map<String, Value>) -> WebhookMessage {
        let body = json!({
            "type": kind.as_str(),
            "timestamp": moment(at.plus_ms(self.shift_ms)),
            "subject": self.subject.to_string(),
            "number": n,
            "data": data,
        });
        WebhookMessage { id: self.id(kind, n, at), kind, n, body: body.to_string() }
    }

    /// The same for every attempt, replay and endpoint. It covers the time, so that a restored ledger that continues
    /// differently does not reuse an id.
    fn id(&self, kind: WebhookType, n: u64, at: Moment) -> String {
        let mut mac = self.secret.messages();
        mac.update(kind.as_str().as_bytes());
        for number in [self.subject.row(), n as i64, at.0] {
            mac.update(&number.to_be_bytes());
        }
        format!("msg_{}", hex::encode(&mac.finalize().into_bytes()[..16]))
    }
}
