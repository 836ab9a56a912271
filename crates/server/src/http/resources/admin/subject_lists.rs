//! What is for sale, as lists in every format: events and room types in order of id.

use std::sync::Arc;

use rules::event::Event;
use rules::ids::{EventId, whole_id};
use rules::room_type::RoomType;
use rules::subject::RoomTypeId;

use super::list_format::{ListRow, cell};
use super::search::Searched;
use crate::app::App;
use crate::http::wire::events::AdminEventBody;
use crate::http::wire::stays::RoomTypeBody;
use crate::refusals::Failure;

/// The archived events, or the others.
pub struct ListedEvents {
    pub app: Arc<App>,
    pub archived: bool,
}

impl Searched for ListedEvents {
    type Row = Event;
    type Place = EventId;
    type Body = AdminEventBody;

    const ROWS: usize = 500;

    async fn read(&self, after: Option<EventId>, rows: usize) -> Result<Vec<Event>, Failure> {
        Ok(self.app.ledger.events(self.archived, after, rows).await?)
    }

    fn place(event: &Event) -> EventId {
        event.id
    }

    fn place_read(&self, text: &str) -> Option<EventId> {
        whole_id(text).map(EventId)
    }

    fn place_written(&self, id: EventId) -> String {
        id.to_string()
    }

    fn body(&self, event: Event) -> Option<AdminEventBody> {
        Some(AdminEventBody::of(&event, self.app.ledger.wall()))
    }
}

impl ListRow for AdminEventBody {
    const HEADING: &'static str = "eventId,name,state,opensAt,seatCount,remainingSeats,maxPerUser,holdTtl,amount,currency,maxConcurrent,tokenTtl,tokenMaxAge,idleTimeout,queueMost,userName,phone,email,rehearsal,archivedAt,gatherFrom,admitPerMinute,startsAt,timeZone,place\r\n";

    fn cells(&self) -> Vec<String> {
        let (room, price) = (self.waiting_room.as_ref(), self.price.as_ref());
        vec![
            self.id.to_string(),
            self.name.clone(),
            self.state.to_owned(),
            cell(self.opens_at.as_ref()),
            self.seat_count.to_string(),
            self.remaining_seats.to_string(),
            self.max_per_user.to_string(),
            cell(self.hold_ttl),
            cell(price.map(|price| &price.amount)),
            cell(price.map(|price| &price.currency)),
            cell(room.map(|room| room.max_concurrent)),
            cell(room.map(|room| room.token_ttl)),
            cell(room.map(|room| room.token_max_age)),
            cell(room.map(|room| room.idle_timeout)),
            cell(room.map(|room| room.queue_most)),
            self.buyer_fields.user_name.to_owned(),
            self.buyer_fields.phone.to_owned(),
            self.buyer_fields.email.to_owned(),
            self.rehearsal.to_string(),
            cell(self.archived_at.as_ref()),
            cell(room.and_then(|room| room.gather_from.as_ref())),
            cell(room.and_then(|room| room.admit_per_minute)),
            cell(self.starts_at.as_ref()),
            cell(self.time_zone.as_ref()),
            cell(self.place.as_ref()),
        ]
    }
}

pub struct ListedRoomTypes {
    pub app: Arc<App>,
}

impl Searched for ListedRoomTypes {
    type Row = RoomType;
    type Place = RoomTypeId;
    type Body = RoomTypeBody;

    const ROWS: usize = 500;

    async fn read(&self, after: Option<RoomTypeId>, rows: usize) -> Result<Vec<RoomType>, Failure> {
        Ok(self.app.ledger.room_types(after, rows).await?)
    }

    fn place(room_type: &RoomType) -> RoomTypeId {
        room_type.id
    }

    fn place_read(&self, text: &str) -> Option<RoomTypeId> {
        whole_id(text).map(RoomTypeId)
    }

    fn place_written(&self, id: RoomTypeId) -> String {
        id.to_string()
    }

    fn body(&self, room_type: RoomType) -> Option<RoomTypeBody> {
        Some(RoomTypeBody::of(&room_type))
    }
}

impl ListRow for RoomTypeBody {
    const HEADING: &'static str = "roomTypeId,name,totalQuantity,timeZone,description,price,currency\r\n";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.name.clone(),
            self.total_quantity.to_string(),
            self.time_zone.clone(),
            cell(self.description.as_ref()),
            cell(self.price.as_ref()),
            cell(self.currency.as_ref()),
        ]
    }
}
