//! The columns of every list in CSV, by the schema of the same list in JSON, for the OpenAPI document.

use super::list_format::ListRow;
use crate::http::wire::AdminReservationBody;
use crate::http::wire::events::AdminEventBody;
use crate::http::wire::records::HistoryBody;
use crate::http::wire::stays::{AdminStayBody, AnyReservationBody, HoldBody, RoomTypeBody};
use crate::http::wire::tokens::AdminTokenBody;
use crate::http::wire::users::UserRecordBody;
use crate::http::wire::webhooks::{WebhookBody, WebhookDeliveryBody};

/// With the end of the line. None: it is no list of operators.
pub fn columns(list: &str) -> Option<&'static str> {
    Some(match list {
        "AdminEventsAnswer" => AdminEventBody::HEADING,
        "AdminReservationsAnswer" => AdminReservationBody::HEADING,
        "AdminStaysAnswer" => AdminStayBody::HEADING,
        "AdminTokensAnswer" => AdminTokenBody::HEADING,
        "AdminUserAnswer" => UserRecordBody::HEADING,
        "HistoryAnswer" => HistoryBody::HEADING,
        "HoldsAnswer" => HoldBody::HEADING,
        "ReservationsAnswer" => AnyReservationBody::HEADING,
        "RoomTypesAnswer" => RoomTypeBody::HEADING,
        "WebhookDeliveriesAnswer" => WebhookDeliveryBody::HEADING,
        "WebhooksAnswer" => WebhookBody::HEADING,
        _ => return None,
    })
}
