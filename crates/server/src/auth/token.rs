//! `AUTH_MODE=jwt`: a bearer token says who asks. It is verified here and nowhere else; a gateway in front
//! verifies nothing.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode};
use rules::ids::User;
use rules::outcome::TokenProblem;
use rules::time::Moment;

use super::claims::{Claims, TokenHeader};
use super::keys::KeySet;

/// Longer ones are not looked at.
pub const TOKEN_BYTES: usize = 8_192;

/// What a token must say, beside being signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTerms {
    /// One of these; none: any.
    pub issuers: Vec<String>,
    /// One of these; none: the token must name no audience, because it would be somebody else.
    pub audiences: Vec<String>,
    pub leeway_ms: i64,
}

/// Reads tokens with the keys that it is given.
#[derive(Debug)]
pub struct TokenReader {
    terms: TokenTerms,
    validations: HashMap<Algorithm, Validation>,
}

/// How a token was found not to be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// No key verifies it. Keys that are newer than ours might.
    Key,
    Refused(TokenProblem),
}

impl TokenFault {
    pub fn problem(self) -> TokenProblem {
        match self {
            TokenFault::Key => TokenProblem::Signature,
            TokenFault::Refused(problem) => problem,
        }
    }
}

const MALFORMED: TokenFault = TokenFault::Refused(TokenProblem::Malformed);

impl TokenReader {
    pub fn new(terms: TokenTerms) -> TokenReader {
        let algorithms = [Algorithm::HS256, Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
        let validations = algorithms.map(|algorithm| (algorithm, validation(algorithm, &terms))).into();
        TokenReader { terms, validations }
    }

    /// The user that a token names at this moment.
    pub fn user(&self, token: &[u8], keys: &KeySet, now: Moment) -> Result<User, TokenFault> {
        self.accept(&self.claims(token, keys)?, now)
    }

    /// What a token says, if it is signed, whatever the time.
    pub(super) fn claims(&self, token: &[u8], keys: &KeySet) -> Result<Claims, TokenFault> {
        if token.len() > TOKEN_BYTES {
            return Err(MALFORMED);
        }
        let header = read_header(token).ok_or(MALFORMED)?;
        if header.foreign || !header.is_access_token() {
            return Err(MALFORMED);
        }
        let refused = TokenFault::Refused(TokenProblem::Signature);
        let algorithm: Algorithm = header.algorithm.parse().map_err(|_| refused)?;
        let validation = self.validations.get(&algorithm).ok_or(refused)?;
        let mut fault = TokenFault::Key;
        for key in keys.candidates(algorithm, header.key_id.as_deref()) {
            match decode::<Claims>(token, &key.key, validation) {
                Ok(data) => return Ok(data.claims),
                Err(error) => fault = fault_of(error.kind()),
            }
            if fault != TokenFault::Key {
                break;
            }
        }
        Err(fault)
    }

    /// The times, by our own clock: jsonwebtoken would read the system's.
    pub(super) fn accept(&self, claims: &Claims, now: Moment) -> Result<User, TokenFault> {
        if now.0 >= claims.exp_ms + self.terms.leeway_ms {
            return Err(TokenFault::Refused(TokenProblem::Expired));
        }
        if claims.nbf_ms.is_some_and(|nbf_ms| now.0 < nbf_ms - self.terms.leeway_ms) {
            return Err(TokenFault::Refused(TokenProblem::NotYetValid));
        }
        User::new(&claims.sub).ok_or(TokenFault::Refused(TokenProblem::Subject))
    }
}

fn validation(algorithm: Algorithm, terms: &TokenTerms) -> Validation {
    let mut validation = Validation::new(algorithm);
    let mut required = vec!["exp", "sub"];
    (validation.validate_exp, validation.validate_nbf) = (false, false);
    if !terms.issuers.is_empty() {
        validation.set_issuer(&terms.issuers);
        required.push("iss");
    }
    if !terms.audiences.is_empty() {
        validation.set_audience(&terms.audiences);
        required.push("aud");
    }
    validation.set_required_spec_claims(&required);
    validation
}

fn read_header(token: &[u8]) -> Option<TokenHeader> {
    let end = token.iter().position(|b| *b == b'.')?;
    let text = URL_SAFE_NO_PAD.decode(token.get(..end)?).ok()?;
    serde_json::from_slice(&text).ok()
}

fn fault_of(kind: &ErrorKind) -> TokenFault {
    match kind {
        ErrorKind::InvalidSignature => TokenFault::Key,
        ErrorKind::InvalidAlgorithm => TokenFault::Refused(TokenProblem::Signature),
        ErrorKind::InvalidIssuer => TokenFault::Refused(TokenProblem::Issuer),
        ErrorKind::InvalidAudience => TokenFault::Refused(TokenProblem::Audience),
        ErrorKind::MissingRequiredClaim(claim) if claim == "iss" => TokenFault::Refused(TokenProblem::Issuer),
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => TokenFault::Refused(TokenProblem::Audience),
        _ => MALFORMED,
    }
}
