//! The tokens of operators: that of `ADMIN_TOKEN`, and those in the ledger, which every server on the same ledger
//! accepts. Each has a name, which the history records, and a role.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rules::history::{AdminName, RequestOrigin};
use rules::outcome::{Forbidden, Refusal};
use rules::time::Moment;
use sha2::{Digest, Sha256};
use stores::ledger::Ledger;
use stores::ledger::admin_tokens::{AdminDigest, AdminRole, AdminToken, EndedTokens, NewAdminToken};
use subtle::ConstantTimeEq;
use tokio::sync::Mutex;

use crate::refusals::Failure;
use crate::tickets::random;

/// A token that another server revoked is refused here within this time.
const FRESH: Duration = Duration::from_secs(1);

/// Who showed a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub name: AdminName,
    pub role: AdminRole,
}

impl Operator {
    /// The admin may do everything.
    pub fn may(self, role: AdminRole) -> Result<AdminName, Refusal> {
        if self.role == AdminRole::Admin || self.role == role {
            return Ok(self.name);
        }
        tracing::warn!(token = self.name.as_str(), role = self.role.as_str(), "refused: the role does not allow it");
        Err(Refusal::Forbidden(Forbidden::Role))
    }
}

pub struct OperatorTokens {
    ledger: Arc<dyn Ledger>,
    /// Of `ADMIN_TOKEN`, or the token in the data folder.
    configured: AdminDigest,
    known: RwLock<Arc<Known>>,
    reading: Mutex<()>,
}

#[derive(Default)]
struct Known {
    tokens: Vec<AdminToken>,
    /// When the ledger was asked; none: never.
    asked: Option<Instant>,
}

fn digest(token: &[u8]) -> AdminDigest {
    Sha256::digest(token).into()
}

impl OperatorTokens {
    pub fn new(ledger: Arc<dyn Ledger>, configured: &str) -> OperatorTokens {
        OperatorTokens {
            ledger,
            configured: digest(configured.as_bytes()),
            known: RwLock::default(),
            reading: Mutex::default(),
        }
    }

    /// Whose token it is, if it is one.
    pub async fn find(&self, shown: &[u8]) -> Option<Operator> {
        let (shown, arrived) = (digest(shown), Instant::now());
        let known = self.known();
        let fresh = known.asked.is_some_and(|asked| arrived.duration_since(asked) < FRESH);
        match self.among(&known, &shown) {
            found @ Some(_) if fresh => found,
            // Another server may have made it, or ended it, a moment ago.
            _ => self.among(&*self.read_since(arrived).await, &shown),
        }
    }

    fn among(&self, known: &Known, shown: &AdminDigest) -> Option<Operator> {
        let is = |digest: &AdminDigest| bool::from(digest.ct_eq(shown));
        match known.tokens.iter().find(|token| is(&token.digest)) {
            Some(token) if token.is_live(self.ledger.now()) => {
                Some(Operator { name: token.name.clone(), role: token.role })
            }
            // Replaced: also where it is still configured.
            Some(_) => None,
            None => is(&self.configured).then(|| Operator { name: AdminName::default(), role: AdminRole::Admin }),
        }
    }

    /// The tokens as the ledger has them now, or at least after this moment. Many who wait share one read. While the
    /// ledger cannot be reached, what is known counts.
    async fn read_since(&self, moment: Instant) -> Arc<Known> {
        let _reading = self.reading.lock().await;
        let known = self.known();
        if known.asked.is_some_and(|asked| asked >= moment) {
            return known;
        }
        let asked = Some(Instant::now());
        let tokens = match self.ledger.admin_tokens().await {
            Ok(tokens) => tokens,
            Err(_) => known.tokens.clone(),
        };
        let known = Arc::new(Known { tokens, asked });
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known.clone();
        known
    }

    fn known(&self) -> Arc<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every token, oldest first; the configured one first of all, if it was never replaced.
    pub async fn list(&self) -> Result<Vec<ListedToken>, Failure> {
        let tokens = self.ledger.admin_tokens().await?;
        let configured =
            (!tokens.iter().any(|token| token.digest == self.configured)).then_some(ListedToken::Configured);
        Ok(configured.into_iter().chain(tokens.into_iter().map(ListedToken::Stored)).collect())
    }

    /// Makes a token. None: the name is in use.
    pub async fn make(&self, name: AdminName, role: AdminRole, by: Doer) -> Result<Option<MadeToken>, Failure> {
        if name == AdminName::default() {
            return Ok(None);
        }
        let (secret, new) = self.fresh(name, role, by)?;
        let made = self.ledger.make_admin_token(new.clone()).await?;
        self.forget();
        Ok(made.then(|| MadeToken::of(secret, &new)))
    }

    /// Makes a token in place of those of the name, which end after `grace_ms`. None: there is none of the name.
    pub async fn rotate(&self, name: AdminName, by: Doer, grace_ms: i64) -> Result<Option<MadeToken>, Failure> {
        let now = self.ledger.now();
        let tokens = self.ledger.admin_tokens().await?;
        let newest = tokens.iter().rev().find(|token| token.name == name && token.is_live(now));
        let configured = name == AdminName::default();
        let Some(role) = newest.map(|token| token.role).or(configured.then_some(AdminRole::Admin)) else {
            return Ok(None);
        };
        let retired = if configured { vec![self.configured] } else { Vec::new() };
        let (secret, new) = self.fresh(name, role, by)?;
        self.ledger.replace_admin_token(new.clone(), now.plus_ms(grace_ms), retired).await?;
        self.forget();
        Ok(Some(MadeToken::of(secret, &new)))
    }

    /// Ends tokens now. False: none of them lived.
    pub async fn end(&self, name: AdminName, by: Doer, only_replaced: bool) -> Result<bool, Failure> {
        let Doer { name: by, origin } = by;
        let ending = EndedTokens { name, ends_at: self.ledger.now(), by, only_replaced, origin };
        let ended = self.ledger.end_admin_tokens(ending).await?;
        self.forget();
        Ok(ended > 0)
    }

    fn fresh(&self, name: AdminName, role: AdminRole, by: Doer) -> Result<(String, NewAdminToken), Refusal> {
        let secret = hex::encode(random::<32>()?);
        let (digest, at, Doer { name: by, origin }) = (digest(secret.as_bytes()), self.ledger.now(), by);
        let new = NewAdminToken { digest, name, role, at, by, origin };
        Ok((secret, new))
    }

    /// The next request asks the ledger.
    fn forget(&self) {
        let tokens = self.known().tokens.clone();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Known { tokens, asked: None });
    }
}

/// An operator who changes tokens, and from where.
pub struct Doer {
    pub name: AdminName,
    pub origin: RequestOrigin,
}

/// A token as operators see it.
pub enum ListedToken {
    Configured,
    Stored(AdminToken),
}

/// A new token. Its text is shown once and kept nowhere.
pub struct MadeToken {
    pub secret: String,
    pub token: AdminToken,
}

impl MadeToken {
    fn of(secret: String, new: &NewAdminToken) -> MadeToken {
        let NewAdminToken { digest, name, role, at, by, .. } = new.clone();
        let (made_at, made_by): (Moment, AdminName) = (at, by);
        MadeToken { secret, token: AdminToken { digest, name, role, made_at, made_by, ends_at: None, ended_by: None } }
    }
}
