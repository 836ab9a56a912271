//! The draw: the order of the users who gathered before the opening. Anyone can verify it: the digest of the seed is
//! public from the start, the seed from the opening on, and a place is the beginning of an HMAC under the seed.
//!
//! The draw is computed, not stored: a server that starts, or a door that lost its data, finds the same places.

use std::sync::Arc;

use hmac::Mac;
use rules::event::Event;
use rules::ids::{DRAW_BITS, DRAWN_FROM, EventId, Number, User};
use rules::outcome::Refusal;
use rules::queue::PlaceClaim;
use rules::time::Moment;
use sha2::{Digest, Sha256};

use super::known;
use crate::app::App;
use crate::refusals::Failure;
use crate::secrets::hmac_with;
use crate::tickets::Ticket;
use crate::turner;

/// The number on the ticket of a user who gathers: no place yet. No place has this number.
pub const GATHERED: Number = Number(0);

/// The draw of one event.
pub struct Draw {
    event: EventId,
    seed: [u8; 32],
}

impl Draw {
    pub fn new(event: EventId, seed: [u8; 32]) -> Draw {
        Draw { event, seed }
    }

    pub fn seed(&self) -> String {
        hex::encode(self.seed)
    }

    /// The commitment to the seed. It reveals nothing of the seed, and matches no other.
    pub fn commitment(&self) -> String {
        hex::encode(Sha256::digest(self.seed))
    }

    /// The first 13 hexadecimal digits of HMAC-SHA256(seed, `<event>:<user>`), lowest first.
    pub fn place_of(&self, user: &User) -> Number {
        let mut mac = hmac_with(&self.seed);
        mac.update(format!("{}:{}", self.event, user.as_str()).as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&mac.finalize().into_bytes()[..8]);
        Number::drawn(u64::from_be_bytes(first) >> (64 - DRAW_BITS))
    }
}

pub async fn draw(app: &App, event: &Event) -> Result<Draw, Failure> {
    Ok(app.secrets.get().await?.draw(event))
}

/// Whether the seed may be public. The ledger must have stored that the gathering is over: the wall clock may be set
/// back. If no batch has done so since the opening, one is sent here; other callers do not wait for it.
pub async fn is_over(app: &App, event: &Event) -> bool {
    if !event.draw_ends(app.ledger.wall()) {
        return event.gathered;
    }
    let remembered = app.lines.of(event.id);
    let Ok(_ending) = remembered.ending.try_lock() else { return false };
    let ended = turner::turned::<Event>(app, event.id).await;
    if let Err(fault) = &ended {
        tracing::debug!(event = %event.id, %fault, "the end of a draw was not stored");
    }
    ended.is_ok_and(|committed| committed.after.gathered)
}

/// A place that belongs to a user, whether the door knows it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedPlace {
    pub claim: PlaceClaim,
    /// No entry has used its number, so the ledger need not be asked.
    pub unspent: bool,
}

/// The place of this user besides the one that the door knows: by their ticket, or drawn for them. If they join while
/// users gather, `event` is as the ledger has it now ([`now`]).
pub async fn claim(
    app: &App,
    event: &Event,
    user: &User,
    ticket: Option<&Ticket>,
    joins: bool,
) -> Result<Option<ClaimedPlace>, Failure> {
    let gathers = event.gathers(app.ledger.wall());
    let takes_part = joins && gathers;
    let by_ticket = ticket.is_some();
    let by_arrival = match ticket.map(|ticket| ticket.number) {
        // A drawn place is computed, whatever the ticket says. Without a draw the ticket is void: the draw was
        // removed before anybody gathered, or the ticket is of another event that had this id before a restore.
        Some(number) if number == GATHERED || number.is_drawn() => {
            if !event.is_drawn() {
                return Ok(None);
            }
            None
        }
        Some(number) if !takes_part => Some(number),
        // Users who were in line before the draw was announced stay ahead of all who are drawn.
        Some(number) if number.0 < DRAWN_FROM && !app.ledger.number_spent(event.id, number).await? => Some(number),
        None if !takes_part => return Ok(None),
        _ => None,
    };
    let own = |number, unspent| Some(ClaimedPlace { claim: PlaceClaim { number, by_ticket }, unspent });
    Ok(match by_arrival {
        Some(number) => own(number, takes_part),
        // No user enters before the opening.
        None => own(draw(app, event).await?.place_of(user), gathers),
    })
}

/// This server's copy of an event may be a second old, and the event may have been opened meanwhile, which made the
/// seed public. So the ledger decides whether users still gather, before any user joins them.
pub async fn now(app: &App, event: Arc<Event>) -> Result<Arc<Event>, Failure> {
    if event.gathers(app.ledger.wall()) { known::event_now(app, event.id).await } else { Ok(event) }
}

/// No user may join before the gathering begins.
pub fn may_gather(event: &Event, wall: Moment) -> Result<(), Refusal> {
    let Some(from) = event.gathers_later(wall) else { return Ok(()) };
    Err(Refusal::NotOpen { opens_at: Some(from), retry_after: Some(wall.seconds_until(from).max(1)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `openssl dgst -sha256 -mac HMAC -macopt hexkey:<seed>` and `sha256sum` say.
    #[test]
    fn everybody_can_check_a_draw() {
        let draw = Draw::new(EventId(2), [7; 32]);
        assert_eq!(draw.seed(), "07".repeat(32));
        assert_eq!(draw.commitment(), "4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0");
        let place = |user: &str| draw.place_of(&User::stored(user)).0 - rules::ids::DRAWN_FROM;
        assert_eq!(format!("{:013x}", place("alice")), "525cbf37ab8f9");
        assert_eq!(format!("{:013x}", place("김철수")), "7a152d0b2082e");
        let alice = User::stored("alice");
        assert_ne!(Draw::new(EventId(3), [7; 32]).place_of(&alice), draw.place_of(&alice));
    }
}
