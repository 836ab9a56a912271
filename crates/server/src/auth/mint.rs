//! Makes tokens, to try `AUTH_MODE=jwt` out: `tickettock token mint`.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rules::ids::User;
use rules::time::Moment;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Serialize;

use super::signatures;
use super::token::TokenTerms;

pub struct SigningKey {
    algorithm: Algorithm,
    key: EncodingKey,
}

#[derive(Serialize)]
struct MintedClaims<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    sub: &'a str,
    iat: i64,
    exp: i64,
}

impl SigningKey {
    pub fn of_secret(secret: &str) -> SigningKey {
        signatures::install();
        SigningKey { algorithm: Algorithm::HS256, key: EncodingKey::from_secret(secret.as_bytes()) }
    }

    /// `-----BEGIN PRIVATE KEY-----`: the kind of key decides the algorithm.
    pub fn of_pem(pem: &[u8]) -> Result<SigningKey, String> {
        signatures::install();
        let der = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|_| "expected a private key in PEM (-----BEGIN PRIVATE KEY-----)".to_owned())?;
        let der = der.secret_der();
        let (algorithm, key) = if signatures::ed25519_key(der).is_some() {
            (Algorithm::EdDSA, EncodingKey::from_ed_der(der))
        } else if signatures::ecdsa_key(der).is_some() {
            (Algorithm::ES256, EncodingKey::from_ec_der(der))
        } else if signatures::rsa_key(der).is_some() {
            (Algorithm::RS256, EncodingKey::from_rsa_der(der))
        } else {
            return Err("expected an RSA (2048 bits or more), P-256 or Ed25519 key; \
                        openssl pkcs8 -topk8 -nocrypt converts older forms"
                .into());
        };
        Ok(SigningKey { algorithm, key })
    }

    /// A token for this user, with the first issuer and audience that the terms accept.
    pub fn mint(
        &self,
        user: &User,
        terms: &TokenTerms,
        key_id: Option<&str>,
        now: Moment,
        ttl_s: i64,
    ) -> Result<String, String> {
        let now_s = now.0 / 1_000;
        let claims = MintedClaims {
            iss: terms.issuers.first().map(String::as_str),
            aud: terms.audiences.first().map(String::as_str),
            sub: user.as_str(),
            iat: now_s,
            exp: now_s + ttl_s,
        };
        let header = Header { kid: key_id.map(str::to_owned), ..Header::new(self.algorithm) };
        encode(&header, &claims, &self.key).map_err(|e| format!("the token cannot be signed: {e}"))
    }
}
