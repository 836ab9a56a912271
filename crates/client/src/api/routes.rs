//! Every route that this client calls, once.

use std::fmt::{Display, Write as _};

#[derive(Debug)]
pub struct ApiRoute {
    pub method: &'static str,
    /// As the OpenAPI document writes it.
    pub path: &'static str,
    /// It keeps its answer for an `Idempotency-Key`.
    pub keyed: bool,
}

impl ApiRoute {
    /// The path with these ids in the place of its parameters, in order.
    pub fn at(&self, ids: &[&dyn Display]) -> String {
        let mut path = String::with_capacity(self.path.len() + 16);
        let mut ids = ids.iter();
        for part in self.path.split_inclusive('}') {
            let (fixed, parameter) = part.split_once('{').map_or((part, false), |(fixed, _)| (fixed, true));
            path.push_str(fixed);
            if let Some(id) = ids.next().filter(|_| parameter) {
                escape(&id.to_string(), &mut path);
            }
        }
        path
    }

    /// Sent twice it does the same as once.
    pub fn repeats(&self) -> bool {
        self.method == "GET" || self.path.contains("/queue")
    }
}

/// An id never ends its segment of the path.
fn escape(text: &str, path: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => path.push(byte.into()),
            _ => {
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
}

const fn read(path: &'static str) -> ApiRoute {
    ApiRoute { method: "GET", path, keyed: false }
}

const fn send(method: &'static str, path: &'static str) -> ApiRoute {
    ApiRoute { method, path, keyed: false }
}

const fn keyed(method: &'static str, path: &'static str) -> ApiRoute {
    ApiRoute { method, path, keyed: true }
}

pub static EVENTS: ApiRoute = read("/api/v1/events");
pub static EVENT: ApiRoute = read("/api/v1/events/{eventId}");
pub static LAYOUT: ApiRoute = read("/api/v1/events/{eventId}/layout");
pub static RESERVE: ApiRoute = keyed("POST", "/api/v1/events/{eventId}/seats/reservation/fcfs");
pub static RESERVE_SEAT: ApiRoute = keyed("POST", "/api/v1/events/{eventId}/seats/{seatId}/reservation");
pub static JOIN: ApiRoute = send("POST", "/api/v1/events/{eventId}/queue");
pub static POLL: ApiRoute = read("/api/v1/events/{eventId}/queue");
pub static LEAVE: ApiRoute = send("DELETE", "/api/v1/events/{eventId}/queue");
pub static ENTER: ApiRoute = send("POST", "/api/v1/events/{eventId}/queue/enter");
pub static RESERVATIONS: ApiRoute = read("/api/v1/reservations");
pub static RESERVATION: ApiRoute = read("/api/v1/reservations/{reservationId}");
pub static CANCEL: ApiRoute = keyed("DELETE", "/api/v1/reservations/{reservationId}");
pub static ROOM_TYPES: ApiRoute = read("/api/v1/room-types");
pub static ROOM_TYPE: ApiRoute = read("/api/v1/room-types/{roomTypeId}");
pub static AVAILABILITY: ApiRoute = read("/api/v1/room-types/{roomTypeId}/availability");
pub static CALENDAR: ApiRoute = read("/api/v1/room-types/{roomTypeId}/calendar");
pub static HOLDS: ApiRoute = read("/api/v1/holds");
pub static HOLD: ApiRoute = keyed("POST", "/api/v1/holds");
pub static ONE_HOLD: ApiRoute = read("/api/v1/holds/{holdId}");
pub static CONFIRM: ApiRoute = keyed("POST", "/api/v1/holds/{holdId}/confirm");
pub static EXTEND: ApiRoute = keyed("POST", "/api/v1/holds/{holdId}/extend");
pub static GIVE_BACK: ApiRoute = keyed("DELETE", "/api/v1/holds/{holdId}");

pub static ADMIN_EVENTS: ApiRoute = read("/api/v1/admin/events");
pub static CREATE_EVENT: ApiRoute = send("POST", "/api/v1/admin/events");
pub static AMEND_EVENT: ApiRoute = send("PATCH", "/api/v1/admin/events/{eventId}");
pub static DELETE_EVENT: ApiRoute = send("DELETE", "/api/v1/admin/events/{eventId}");
pub static OPEN_EVENT: ApiRoute = send("POST", "/api/v1/admin/events/{eventId}/open");
pub static PAUSE_EVENT: ApiRoute = send("POST", "/api/v1/admin/events/{eventId}/pause");
pub static RESUME_EVENT: ApiRoute = send("POST", "/api/v1/admin/events/{eventId}/resume");
pub static CLOSE_EVENT: ApiRoute = send("POST", "/api/v1/admin/events/{eventId}/close");
pub static ARCHIVE_EVENT: ApiRoute = send("POST", "/api/v1/admin/events/{eventId}/archive");
pub static UNARCHIVE_EVENT: ApiRoute = send("POST", "/api/v1/admin/events/{eventId}/unarchive");
pub static ADMIN_RESERVATIONS: ApiRoute = read("/api/v1/admin/events/{eventId}/reservations");
pub static ADMIN_CANCEL: ApiRoute = send("DELETE", "/api/v1/admin/reservations/{reservationId}");
pub static CREATE_ROOM_TYPE: ApiRoute = send("POST", "/api/v1/admin/room-types");
pub static AMEND_ROOM_TYPE: ApiRoute = send("PATCH", "/api/v1/admin/room-types/{roomTypeId}");
pub static AUDIT: ApiRoute = read("/api/v1/admin/audit");
pub static TOKENS: ApiRoute = read("/api/v1/admin/tokens");
pub static CREATE_TOKEN: ApiRoute = send("POST", "/api/v1/admin/tokens");
pub static ROTATE_TOKEN: ApiRoute = send("POST", "/api/v1/admin/tokens/{tokenName}/rotate");
pub static END_REPLACED_TOKEN: ApiRoute = send("DELETE", "/api/v1/admin/tokens/{tokenName}/replaced");
pub static REVOKE_TOKEN: ApiRoute = send("DELETE", "/api/v1/admin/tokens/{tokenName}");
pub static WEBHOOKS: ApiRoute = read("/api/v1/admin/webhooks");
pub static CREATE_WEBHOOK: ApiRoute = send("POST", "/api/v1/admin/webhooks");
pub static WEBHOOK: ApiRoute = read("/api/v1/admin/webhooks/{webhookId}");
pub static AMEND_WEBHOOK: ApiRoute = send("PATCH", "/api/v1/admin/webhooks/{webhookId}");
pub static DELETE_WEBHOOK: ApiRoute = send("DELETE", "/api/v1/admin/webhooks/{webhookId}");
pub static WEBHOOK_DELIVERIES: ApiRoute = read("/api/v1/admin/webhooks/{webhookId}/deliveries");
pub static ROTATE_WEBHOOK: ApiRoute = send("POST", "/api/v1/admin/webhooks/{webhookId}/rotate");
pub static TEST_WEBHOOK: ApiRoute = send("POST", "/api/v1/admin/webhooks/{webhookId}/test");
pub static REPLAY_WEBHOOK: ApiRoute = send("POST", "/api/v1/admin/webhooks/{webhookId}/replay");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_where_the_parameters_were() {
        assert_eq!(RESERVE_SEAT.at(&[&7, &12]), "/api/v1/events/7/seats/12/reservation");
        assert_eq!(EVENTS.at(&[]), "/api/v1/events");
        assert_eq!(CANCEL.at(&[&"e1-7Q/2?"]), "/api/v1/reservations/e1-7Q%2F2%3F");
    }
}
