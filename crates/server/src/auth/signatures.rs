//! Signatures of tokens, made and verified by ring, which TLS uses already. A key is used with its own
//! algorithm only: what a token's header says can choose no other.

use std::sync::LazyLock;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents, UnparsedPublicKey,
};

/// jsonwebtoken finds it as the default of the process.
static PROVIDER: CryptoProvider =
    CryptoProvider { signer_factory: signer, verifier_factory: verifier, key_utils: KeyUtils::new_unimplemented() };

/// Needed before any token is read or written; a second call does nothing.
pub fn install() {
    static INSTALLED: LazyLock<()> = LazyLock::new(|| {
        let _ = PROVIDER.install_default();
    });
    LazyLock::force(&INSTALLED);
}

struct Checked {
    algorithm: Algorithm,
    key: DecodingKey,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    fits(*algorithm, key.family())?;
    Ok(Box::new(Checked { algorithm: *algorithm, key: key.clone() }))
}

/// An HMAC is never computed with a public key, nor a signature checked with a secret.
fn fits(algorithm: Algorithm, family: AlgorithmFamily) -> Result<()> {
    let ours = matches!(algorithm, Algorithm::HS256 | Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA);
    if ours && algorithm.family() == family { Ok(()) } else { Err(ErrorKind::InvalidAlgorithm.into()) }
}

impl JwtVerifier for Checked {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Checked {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let good = match (self.algorithm, self.key.kind()) {
            (Algorithm::HS256, DecodingKeyKind::SecretOrDer(secret)) => {
                hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret), message, signature).is_ok()
            }
            (Algorithm::RS256, DecodingKeyKind::SecretOrDer(der)) => {
                UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, der).verify(message, signature).is_ok()
            }
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            (Algorithm::ES256, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            (Algorithm::EdDSA, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok()
            }
            _ => false,
        };
        if good { Ok(()) } else { Err(Error::new()) }
    }
}

struct Signing {
    algorithm: Algorithm,
    key: EncodingKey,
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    fits(*algorithm, key.family())?;
    Ok(Box::new(Signing { algorithm: *algorithm, key: key.clone() }))
}

impl JwtSigner for Signing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Signer<Vec<u8>> for Signing {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        let (key, random) = (self.key.as_bytes(), SystemRandom::new());
        let signed = match self.algorithm {
            Algorithm::HS256 => Some(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref().to_vec()),
            Algorithm::RS256 => rsa_key(key).and_then(|pair| {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).ok()?;
                Some(signature)
            }),
            Algorithm::ES256 => {
                ecdsa_key(key).and_then(|pair| Some(pair.sign(&random, message).ok()?.as_ref().to_vec()))
            }
            Algorithm::EdDSA => ed25519_key(key).map(|pair| pair.sign(message).as_ref().to_vec()),
            _ => None,
        };
        signed.ok_or_else(Error::new)
    }
}

/// A private RSA key in PKCS#8 or PKCS#1.
pub fn rsa_key(der: &[u8]) -> Option<RsaKeyPair> {
    RsaKeyPair::from_pkcs8(der).or_else(|_| RsaKeyPair::from_der(der)).ok()
}

/// A private key on P-256 in PKCS#8.
pub fn ecdsa_key(der: &[u8]) -> Option<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new()).ok()
}

/// A private Ed25519 key in PKCS#8, with its public key or, as OpenSSL writes it, without.
pub fn ed25519_key(der: &[u8]) -> Option<Ed25519KeyPair> {
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok()
}
