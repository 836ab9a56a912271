//! Stream tickets: they authenticate a watcher in the URL of a stream, because an `EventSource` sends no headers.
//!
//! `<end>.<user in hex>.<HMAC-SHA256 in hex>` over event, end and user, with a key derived from the ledger's secret,
//! so that every server accepts it. URLs end up in logs, so a ticket must be used within a minute.

use hmac::{Hmac, Mac};
use rules::ids::{EventId, User};
use rules::time::Moment;
use sha2::Sha256;

pub const STREAM_TICKET_S: u64 = 60;

pub struct StreamTickets(Hmac<Sha256>);

impl StreamTickets {
    pub fn new(key: Hmac<Sha256>) -> StreamTickets {
        StreamTickets(key)
    }

    pub fn sign(&self, event: EventId, user: &User, now: Moment) -> String {
        let end = now.plus_ms(STREAM_TICKET_S as i64 * 1_000);
        let mac = self.mac(event, user.as_str(), end).finalize().into_bytes();
        format!("{}.{}.{}", end.0, hex::encode(user.as_str()), hex::encode(mac))
    }

    /// The user, if the ticket is valid, for this event, and not expired.
    pub fn verify(&self, event: EventId, text: &str, now: Moment) -> Option<User> {
        let mut parts = text.split('.');
        let (Some(end), Some(user), Some(mac), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return None;
        };
        let end = Moment(end.parse().ok()?);
        let user = String::from_utf8(hex::decode(user).ok()?).ok()?;
        self.mac(event, &user, end).verify_slice(&hex::decode(mac).ok()?).ok()?;
        (now < end).then(|| User::stored(&user))
    }

    fn mac(&self, event: EventId, user: &str, end: Moment) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(&event.0.to_be_bytes());
        mac.update(&end.0.to_be_bytes());
        mac.update(user.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use hmac::KeyInit;

    use super::*;

    #[test]
    fn tickets_name_user_and_event_and_end() {
        let tickets = StreamTickets::new(Hmac::new(&[7; 64].into()));
        let others = StreamTickets::new(Hmac::new(&[8; 64].into()));
        let (event, user, now) = (EventId(3), User::stored("앨리스.x"), Moment(1_000_000));
        let ticket = tickets.sign(event, &user, now);
        assert_eq!(tickets.verify(event, &ticket, now), Some(user.clone()));
        assert_eq!(tickets.verify(event, &ticket, now.plus_ms(59_999)), Some(user));
        assert_eq!(tickets.verify(event, &ticket, now.plus_ms(60_000)), None, "it is over");
        assert_eq!(tickets.verify(EventId(4), &ticket, now), None, "another event");
        assert_eq!(others.verify(event, &ticket, now), None, "another ledger");
        let forged = ticket.replacen(&hex::encode("앨리스.x"), &hex::encode("bob"), 1);
        for bad in [forged.as_str(), "", ".", "..", "1.2.3", "x.y.z", &format!("{ticket}.1"), &ticket[1..]] {
            assert_eq!(tickets.verify(event, bad, now), None, "{bad}");
        }
    }
}
