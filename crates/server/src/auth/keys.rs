//! The keys that tokens are verified with: a secret, a public key in PEM, or a set in JSON (JWKS). Every
//! key is bound to one algorithm when it is read.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use rustls::pki_types::alg_id::{ECDSA_P256, ED25519, RSA_ENCRYPTION};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{AlgorithmIdentifier, SubjectPublicKeyInfoDer};

use super::signatures;

/// A token that names no key is tried with every key of its algorithm.
const KEYS_MOST: usize = 16;
/// As long as the hash, as RFC 7518 demands.
pub const SECRET_BYTES: usize = 32;

#[derive(Clone, Debug)]
pub struct VerifyingKey {
    /// None: it verifies tokens whatever key they name.
    id: Option<String>,
    pub algorithm: Algorithm,
    pub key: DecodingKey,
}

impl VerifyingKey {
    fn bound(algorithm: Algorithm, key: DecodingKey) -> VerifyingKey {
        VerifyingKey { id: None, algorithm, key }
    }

    fn verifies(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let named = match (&self.id, id) {
            (Some(own), Some(named)) => own == named,
            _ => true,
        };
        self.algorithm == algorithm && named
    }
}

#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<VerifyingKey>);

/// Where a JWKS was found. Whoever can read a public one could sign with a secret in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwksPlace {
    File,
    Address,
}

impl KeySet {
    pub fn of_secret(secret: &str) -> KeySet {
        signatures::install();
        KeySet(vec![VerifyingKey::bound(Algorithm::HS256, DecodingKey::from_secret(secret.as_bytes()))])
    }

    /// `-----BEGIN PUBLIC KEY-----`: RSA, P-256 or Ed25519. The kind of key decides the algorithm.
    pub fn of_pem(pem: &[u8]) -> Result<KeySet, String> {
        signatures::install();
        let der = SubjectPublicKeyInfoDer::from_pem_slice(pem)
            .map_err(|_| "expected a public key in PEM (-----BEGIN PUBLIC KEY-----)".to_owned())?;
        let key = public_key(&der).ok_or("expected an RSA (2048 bits or more), P-256 or Ed25519 key")?;
        Ok(KeySet(vec![key]))
    }

    /// The keys of the set that can verify signatures with one of the four algorithms. Others, such as keys for
    /// encryption, are left out.
    pub fn of_jwks(text: &[u8], place: JwksPlace) -> Result<KeySet, String> {
        signatures::install();
        let set: JwkSet = serde_json::from_slice(text).map_err(|_| "expected a JSON Web Key Set".to_owned())?;
        let keys: Vec<VerifyingKey> = set.keys.iter().filter_map(|jwk| set_key(jwk, place)).collect();
        match keys.len() {
            0 => Err("it has no key for HS256, RS256, ES256 or EdDSA".into()),
            1..=KEYS_MOST => Ok(KeySet(keys)),
            more => Err(format!("it has {more} keys: expected at most {KEYS_MOST}")),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has_only_secrets(&self) -> bool {
        !self.is_empty() && self.0.iter().all(|key| key.algorithm == Algorithm::HS256)
    }

    /// The keys that may have signed a token with this header.
    pub fn candidates(&self, algorithm: Algorithm, id: Option<&str>) -> impl Iterator<Item = &VerifyingKey> {
        self.0.iter().filter(move |key| key.verifies(algorithm, id))
    }
}

fn set_key(jwk: &Jwk, place: JwksPlace) -> Option<VerifyingKey> {
    let common = &jwk.common;
    if common.public_key_use.as_ref().is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
        return None;
    }
    if common.key_operations.as_ref().is_some_and(|all| !all.contains(&KeyOperations::Verify)) {
        return None;
    }
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        AlgorithmParameters::OctetKey(_) if place == JwksPlace::File => Algorithm::HS256,
        _ => return None,
    };
    match common.key_algorithm {
        // A secret must say what it is for.
        None if algorithm == Algorithm::HS256 => return None,
        None => {}
        Some(named) if named == KeyAlgorithm::from(algorithm) => {}
        Some(_) => return None,
    }
    let key = DecodingKey::from_jwk(jwk).ok()?;
    long_enough(algorithm, &key).then(|| VerifyingKey { id: common.key_id.clone(), algorithm, key })
}

fn public_key(der: &[u8]) -> Option<VerifyingKey> {
    let (all, rest) = element(der, SEQUENCE)?;
    let (kind, key) = element(all, SEQUENCE)?;
    let (bits, after) = element(key, BIT_STRING)?;
    // No bits of the last byte are unused.
    let bits = bits.strip_prefix(&[0])?;
    if !rest.is_empty() || !after.is_empty() {
        return None;
    }
    let is = |known: AlgorithmIdentifier| kind == known.as_ref();
    let (algorithm, key) = if is(RSA_ENCRYPTION) {
        (Algorithm::RS256, DecodingKey::from_rsa_der(bits))
    } else if is(ECDSA_P256) {
        (Algorithm::ES256, DecodingKey::from_ec_der(bits))
    } else if is(ED25519) {
        (Algorithm::EdDSA, DecodingKey::from_ed_der(bits))
    } else {
        return None;
    };
    long_enough(algorithm, &key).then(|| VerifyingKey::bound(algorithm, key))
}

/// ring would refuse every signature of a key of another length; this says so when the key is read.
fn long_enough(algorithm: Algorithm, key: &DecodingKey) -> bool {
    match (algorithm, key.kind()) {
        (Algorithm::HS256, DecodingKeyKind::SecretOrDer(secret)) => secret.len() >= SECRET_BYTES,
        (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, .. }) => modulus_fits(n),
        (Algorithm::RS256, DecodingKeyKind::SecretOrDer(der)) => {
            let modulus = element(der, SEQUENCE).and_then(|(inside, _)| element(inside, INTEGER));
            modulus.is_some_and(|(n, _)| modulus_fits(n))
        }
        (Algorithm::ES256, DecodingKeyKind::SecretOrDer(point)) => point.len() == 65 && point[0] == 4,
        (Algorithm::EdDSA, DecodingKeyKind::SecretOrDer(point)) => point.len() == 32,
        _ => false,
    }
}

/// 2048 to 8192 bits.
fn modulus_fits(n: &[u8]) -> bool {
    let n = n.strip_prefix(&[0]).unwrap_or(n);
    (256..=1024).contains(&n.len()) && n[0] >= 0x80
}

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

/// The content of the first DER element, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.strip_prefix(&[tag])?.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // Two bytes of length are enough for any key.
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => (usize::from(u16::from_be_bytes([*rest.first()?, *rest.get(1)?])), rest.get(2..)?),
        _ => return None,
    };
    rest.split_at_checked(length)
}
