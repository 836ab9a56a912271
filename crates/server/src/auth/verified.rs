//! Tokens whose signature was verified, by their digest. People in line ask again and again with the same token,
//! and a public key's signature costs as much as the rest of the request. The tokens live as long as the keys
//! that verified them: new keys begin with none.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::claims::Claims;
use super::keys::KeySet;

/// About 16 MB of them. When it is full, all are verified anew.
const TOKENS_MOST: usize = 65_536;

type TokenDigest = [u8; 32];

/// Keys, and what they verified.
#[derive(Default)]
pub struct Verified {
    pub keys: KeySet,
    tokens: Mutex<HashMap<TokenDigest, Claims>>,
}

impl Verified {
    pub fn with(keys: KeySet) -> Verified {
        Verified { keys, tokens: Mutex::default() }
    }

    /// The claims of a token: remembered, or read by `read`. The times in them are the caller's to check.
    pub fn claims<E>(&self, token: &[u8], read: impl FnOnce() -> Result<Claims, E>) -> Result<Claims, E> {
        // An HMAC costs no more than the digest.
        if self.keys.has_only_secrets() {
            return read();
        }
        let digest: TokenDigest = Sha256::digest(token).into();
        let known = self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned();
        if let Some(claims) = known {
            return Ok(claims);
        }
        let claims = read()?;
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= TOKENS_MOST {
            tokens.clear();
        }
        tokens.insert(digest, claims.clone());
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Result<Claims, &str> = Err("verified again");

    #[test]
    fn verified_once_and_bounded() {
        let verified = Verified::default();
        let claims = |n: usize| Claims { sub: n.to_string(), exp_ms: 1, nbf_ms: None };
        for n in 0..=TOKENS_MOST {
            verified.claims(&n.to_be_bytes(), || Ok::<_, ()>(claims(n))).unwrap();
            assert_eq!(verified.claims(&n.to_be_bytes(), || NONE), Ok(claims(n)));
        }
        assert!(verified.tokens.lock().unwrap().len() <= TOKENS_MOST);
        assert_eq!(verified.claims(b"another", || NONE), NONE, "what was refused is not kept");
        assert_eq!(verified.claims(b"another", || NONE), NONE);
    }

    #[test]
    fn tokens_of_a_secret_are_not_kept() {
        let verified = Verified::with(KeySet::of_secret("0123456789abcdef0123456789abcdef"));
        verified.claims(b"t", || Ok::<_, ()>(Claims::default())).unwrap();
        assert_eq!(verified.claims(b"t", || NONE), NONE);
    }
}
