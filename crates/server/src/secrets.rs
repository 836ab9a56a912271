//! The ledger's secret, and what is hidden with it: how many reservations there are, and telephone
//! numbers that are identities.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use rules::event::Event;
use rules::ids::User;
use sha2::Sha256;
use stores::ledger::{Ledger, LedgerFault};
use tokio::sync::OnceCell;

use crate::line::Draw;
use crate::live::stream_tickets::StreamTickets;
use crate::public_ids::PublicIds;
use crate::refusals::Failure;
use crate::tickets::random;

/// Read once, before the first sale. It never changes.
pub struct Secrets {
    ledger: Arc<dyn Ledger>,
    known: OnceCell<LedgerSecret>,
}

pub struct LedgerSecret {
    pub ids: Arc<PublicIds>,
    pub streams: StreamTickets,
    phones: Hmac<Sha256>,
    messages: Hmac<Sha256>,
    draws: Hmac<Sha256>,
}

impl Secrets {
    pub fn new(ledger: Arc<dyn Ledger>) -> Secrets {
        Secrets { ledger, known: OnceCell::new() }
    }

    pub async fn get(&self) -> Result<&LedgerSecret, Failure> {
        match self.known.get() {
            Some(known) => Ok(known),
            None => Ok(self.load().await?),
        }
    }

    /// Reads it from the ledger, which makes one the first time.
    pub async fn load(&self) -> Result<&LedgerSecret, LedgerFault> {
        let fresh = || random().map_err(|_| LedgerFault::Broken("the system gives no random numbers".into()));
        let load = async { Ok(LedgerSecret::of(&self.ledger.secret(fresh()?).await?)) };
        self.known.get_or_try_init(|| load).await
    }
}

impl LedgerSecret {
    pub fn of(secret: &[u8; 32]) -> LedgerSecret {
        LedgerSecret {
            ids: Arc::new(PublicIds::new(keyed(secret, b"tickettock reservation ids\0"))),
            streams: StreamTickets::new(keyed(secret, b"tickettock stream tickets\0")),
            phones: keyed(secret, b"tickettock phones\0"),
            messages: keyed(secret, b"tickettock webhook messages\0"),
            draws: keyed(secret, b"tickettock draws\0"),
        }
    }

    /// Makes the ids of webhook messages.
    pub fn messages(&self) -> Hmac<Sha256> {
        self.messages.clone()
    }

    /// How the order of those who gather in front of an event is drawn.
    /// When it was made is part of it, because ids come again after an older backup was restored.
    pub fn draw(&self, event: &Event) -> Draw {
        let mut mac = self.draws.clone();
        mac.update(&event.id.0.to_be_bytes());
        mac.update(&event.created_at.0.to_be_bytes());
        Draw::new(event.id, mac.finalize().into_bytes().into())
    }

    /// Who a telephone number is, where nothing else says who asks. The number itself stands in the seat's
    /// row only, and a cancellation removes it there; this name stays in the history.
    pub fn phone_user(&self, e164: &str) -> User {
        let mut mac = self.phones.clone();
        mac.update(e164.as_bytes());
        User::stored(&format!("tel-{}", hex::encode(&mac.finalize().into_bytes()[..16])))
    }
}

/// A key for one purpose, ready to be used.
fn keyed(secret: &[u8; 32], purpose: &[u8]) -> Hmac<Sha256> {
    let mut derive = hmac_with(secret);
    derive.update(purpose);
    hmac_with(&derive.finalize().into_bytes().into())
}

/// The key is padded with zeros to a block, as HMAC does with a shorter one.
pub fn hmac_with(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    Hmac::<Sha256>::new(&block.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_has_one_name_per_ledger() {
        let (one, other) = (LedgerSecret::of(&[1; 32]), LedgerSecret::of(&[2; 32]));
        let user = one.phone_user("+821012345678");
        assert_eq!(user, one.phone_user("+821012345678"));
        assert!(user.as_str().len() == 36 && !user.as_str().contains("1234"), "{user:?}");
        assert_ne!(user, one.phone_user("+821012345679"));
        assert_ne!(user, other.phone_user("+821012345678"), "who has one ledger's history knows nothing of another's");
    }
}
