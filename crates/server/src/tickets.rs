//! Tickets: a signed place in line. Its holder can prove it after the door lost its data.
//!
//! `<key>.<number>.<user in hex>.<HMAC-SHA256 in hex>` over event, key, number and user. The secrets
//! are in the ledger. The newest key signs. An older key is valid for events that were open when the next
//! key was made.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use hmac::{Hmac, Mac};
use rules::entries::lower_hex;
use rules::event::Event;
use rules::ids::{EventId, Number, USER_CHARS, User, whole};
use rules::outcome::{Forbidden, Refusal};
use sha2::Sha256;
use stores::ledger::{Ledger, TicketKey};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::refusals::Failure;
use crate::secrets::hmac_with;

/// Longer than any ticket that we issue: a user's name may take four bytes per character.
pub const TICKET_CHARS: usize = 2 * 4 * USER_CHARS + 128;

/// Unknown keys are looked up in the ledger at most once per this time. Requests with such a key wait for
/// the next lookup.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The content of a verified ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub user: User,
    pub number: Number,
}

pub struct Tickets {
    ledger: Arc<dyn Ledger>,
    /// Oldest first. The ledger removes none.
    keys: RwLock<Arc<Vec<TicketKey>>>,
    /// When the last lookup began. Held during a lookup: of two at once, the slower one must not replace a
    /// newer list by an older one, and only one may make the first key.
    looked: Mutex<Option<Instant>>,
}

impl Tickets {
    pub fn new(ledger: Arc<dyn Ledger>) -> Tickets {
        Tickets { ledger, keys: RwLock::default(), looked: Mutex::default() }
    }

    pub async fn sign(&self, event: &Event, user: &User, number: Number) -> Result<String, Refusal> {
        let known = |keys: &[TicketKey]| keys.last().filter(|key| key.id >= event.oldest_key).cloned();
        let key = match known(&self.keys()) {
            Some(key) => key,
            None => known(&self.look(Duration::ZERO).await?).ok_or(Refusal::Internal)?,
        };
        Ok(write(&key, event.id, user, number))
    }

    /// A ticket that does not verify is refused without a reason.
    pub async fn verify(&self, event: &Event, text: &str) -> Result<Ticket, Refusal> {
        let refused = Refusal::Forbidden(Forbidden::Ticket);
        let read = Read::of(text).ok_or(refused.clone())?;
        if read.key < event.oldest_key {
            return Err(refused);
        }
        let known = self.keys();
        let find = |keys: &[TicketKey]| keys.iter().find(|key| key.id == read.key).cloned();
        let key = match find(&known) {
            // Another server may have rotated the key, or this one has just started.
            None if known.last().is_none_or(|newest| read.key > newest.id) => find(&self.look(LOOK_AGAIN).await?),
            found => found,
        };
        let good = key.is_some_and(|key| {
            let mac = digest(&key, event.id, &read.ticket.user, read.ticket.number);
            mac.verify_slice(&read.mac).is_ok()
        });
        if good { Ok(read.ticket) } else { Err(refused) }
    }

    /// Makes a new key, which signs from now on.
    pub async fn rotate(&self) -> Result<u32, Refusal> {
        let key = self.make_key().await?;
        self.look(Duration::ZERO).await?;
        Ok(key.id)
    }

    async fn make_key(&self) -> Result<TicketKey, Failure> {
        Ok(self.ledger.rotate_ticket_key(secret()?).await?)
    }

    /// The ledger was restored: its keys may be other ones.
    pub fn forget_all(&self) {
        *self.keys.write().unwrap_or_else(|p| p.into_inner()) = Arc::default();
    }

    fn keys(&self) -> Arc<Vec<TicketKey>> {
        self.keys.read().unwrap_or_else(|p| p.into_inner()).clone()
    }

    /// The keys that the ledger has now. Concurrent callers share one lookup, which begins at least `apart`
    /// after the one before. A lookup that began before the call does not count: it may have missed a new
    /// key.
    async fn look(&self, apart: Duration) -> Result<Arc<Vec<TicketKey>>, Failure> {
        let asked = Instant::now();
        let mut looked = self.looked.lock().await;
        match *looked {
            Some(at) if at >= asked => return Ok(self.keys()),
            Some(at) => sleep_until(at + apart).await,
            None => {}
        }
        self.load(&mut looked).await
    }

    /// Reads the keys from the ledger, and makes the first one if there is none.
    async fn load(&self, looked: &mut Option<Instant>) -> Result<Arc<Vec<TicketKey>>, Failure> {
        let now = Instant::now();
        let mut keys = self.ledger.ticket_keys().await?;
        if keys.is_empty() {
            // Two servers may do this at once: then there are two keys, and both are valid.
            let made = self.make_key().await;
            keys = self.ledger.ticket_keys().await?;
            if keys.is_empty() {
                return Err(made.err().unwrap_or(Refusal::Internal.into()));
            }
        }
        let keys = Arc::new(keys);
        *self.keys.write().unwrap_or_else(|p| p.into_inner()) = keys.clone();
        *looked = Some(now);
        Ok(keys)
    }
}

/// Random bytes from the system.
pub fn random<const N: usize>() -> Result<[u8; N], Refusal> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system gives no random numbers");
        Refusal::Internal
    })?;
    Ok(bytes)
}

fn secret() -> Result<[u8; 32], Refusal> {
    random()
}

fn digest(key: &TicketKey, event: EventId, user: &User, number: Number) -> Hmac<Sha256> {
    let mut mac = hmac_with(&key.secret);
    mac.update(b"tickettock ticket\0");
    mac.update(&event.0.to_be_bytes());
    mac.update(&key.id.to_be_bytes());
    mac.update(&number.0.to_be_bytes());
    mac.update(user.as_str().as_bytes());
    mac
}

fn write(key: &TicketKey, event: EventId, user: &User, number: Number) -> String {
    let mac = digest(key, event, user, number).finalize().into_bytes();
    format!("{}.{}.{}.{}", key.id, number.0, hex::encode(user.as_str()), hex::encode(mac))
}

/// A parsed ticket that is not verified yet.
struct Read {
    key: u32,
    ticket: Ticket,
    mac: Vec<u8>,
}

impl Read {
    /// Accepts exactly the spelling that `write` produces.
    fn of(text: &str) -> Option<Read> {
        if text.len() > TICKET_CHARS {
            return None;
        }
        let mut parts = text.split('.');
        let (key, number, user, mac) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || mac.len() != 64 {
            return None;
        }
        let user = String::from_utf8(lower_hex(user)?).ok().and_then(|user| User::new(&user))?;
        let number = whole(number).filter(|number| i64::try_from(*number).is_ok()).map(Number)?;
        let key = whole(key).and_then(|key| u32::try_from(key).ok())?;
        Some(Read { key, ticket: Ticket { user, number }, mac: lower_hex(mac)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: u32) -> TicketKey {
        TicketKey { id, secret: [id as u8; 32] }
    }

    fn good(text: &str, event: i64, key: &TicketKey) -> bool {
        Read::of(text).is_some_and(|read| {
            read.key == key.id
                && digest(key, EventId(event), &read.ticket.user, read.ticket.number).verify_slice(&read.mac).is_ok()
        })
    }

    /// FAULTS G5.
    #[test]
    fn changing_any_bit_invalidates_a_ticket() {
        let user = User::new("김철수").unwrap();
        let text = write(&key(3), EventId(7), &user, Number(1_234));
        assert!(good(&text, 7, &key(3)));
        assert_eq!(Read::of(&text).unwrap().ticket, Ticket { user, number: Number(1_234) });
        for at in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            let flipped = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!good(&flipped, 7, &key(3)), "{flipped}");
        }
        for end in 0..text.len() {
            assert!(!good(&text[..end], 7, &key(3)), "cut at {end}");
        }
        for longer in
            [format!("{text}0"), format!("{text}.0"), format!("0{text}"), format!(" {text}"), text.to_uppercase()]
        {
            assert!(!good(&longer, 7, &key(3)), "{longer}");
        }
        assert!(!good(&text, 8, &key(3)), "another event");
        assert!(!good(&text, 7, &TicketKey { id: 3, secret: [4; 32] }), "another secret");
    }

    #[test]
    fn guessed_tickets_do_not_verify() {
        let mut dice = 1u64;
        for _ in 0..20_000 {
            let mut mac = String::new();
            for _ in 0..4 {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                mac.push_str(&format!("{dice:016x}"));
            }
            assert!(!good(&format!("3.1234.{}.{mac}", hex::encode(b"alice")), 7, &key(3)));
        }
    }
}
