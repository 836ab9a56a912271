//! Somebody who signs tokens: any header and any claims, also ones that no sound issuer would write.

use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use ring::{digest, hmac};
use serde_json::{Value, json};
use server::clock::{Hands, SystemHands};

use super::{AUDIENCE, ISSUER};

enum Key {
    Hs256(String),
    Rs256(Box<RsaKeyPair>),
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

pub struct Issuer {
    key: Key,
    kid: String,
    private_pem: String,
}

pub fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub fn hs256(secret: &[u8], message: &str) -> String {
    b64(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes()))
}

fn openssl(arguments: &str, input: &str) -> Vec<u8> {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("openssl");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn generated(arguments: &str) -> (String, Vec<u8>) {
    let pem = String::from_utf8(openssl(&format!("genpkey {arguments}"), "")).unwrap();
    let der = openssl("pkcs8 -topk8 -nocrypt -outform DER", &pem);
    (pem, der)
}

impl Issuer {
    pub fn hs256(kid: &str) -> Issuer {
        let secret = format!("the-secret-of-{kid}-in-the-tests-0123456789");
        Issuer { key: Key::Hs256(secret), kid: kid.into(), private_pem: String::new() }
    }

    pub fn rs256(kid: &str) -> Issuer {
        let (private_pem, der) = generated("-algorithm RSA -pkeyopt rsa_keygen_bits:2048");
        Issuer { key: Key::Rs256(Box::new(RsaKeyPair::from_pkcs8(&der).unwrap())), kid: kid.into(), private_pem }
    }

    pub fn es256(kid: &str) -> Issuer {
        let (private_pem, der) = generated("-algorithm EC -pkeyopt ec_paramgen_curve:P-256");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &SystemRandom::new()).unwrap();
        Issuer { key: Key::Es256(pair), kid: kid.into(), private_pem }
    }

    pub fn eddsa(kid: &str) -> Issuer {
        let (private_pem, der) = generated("-algorithm ED25519");
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).unwrap();
        Issuer { key: Key::EdDsa(pair), kid: kid.into(), private_pem }
    }

    pub fn algorithm(&self) -> &'static str {
        match &self.key {
            Key::Hs256(_) => "HS256",
            Key::Rs256(_) => "RS256",
            Key::Es256(_) => "ES256",
            Key::EdDsa(_) => "EdDSA",
        }
    }

    pub fn secret(&self) -> &str {
        match &self.key {
            Key::Hs256(secret) => secret,
            _ => panic!("not a secret"),
        }
    }

    pub fn private_pem(&self) -> &str {
        &self.private_pem
    }

    pub fn public_pem(&self) -> String {
        String::from_utf8(openssl("pkey -pubout", &self.private_pem)).unwrap()
    }

    pub fn jwk(&self) -> Value {
        let mut jwk = match &self.key {
            Key::Hs256(secret) => json!({ "kty": "oct", "k": b64(secret) }),
            Key::Rs256(pair) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
                json!({ "kty": "RSA", "n": b64(n), "e": b64(e), "use": "sig" })
            }
            Key::Es256(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": b64(&point[1..33]), "y": b64(&point[33..]) })
            }
            Key::EdDsa(pair) => json!({ "kty": "OKP", "crv": "Ed25519", "x": b64(pair.public_key()) }),
        };
        jwk["alg"] = self.algorithm().into();
        jwk["kid"] = self.kid.as_str().into();
        jwk
    }

    pub fn header(&self) -> Value {
        json!({ "alg": self.algorithm(), "typ": "JWT", "kid": self.kid })
    }

    /// A token that a server should accept.
    pub fn token(&self, user: &str) -> String {
        self.sign(&self.header().to_string(), &claims(user).to_string())
    }

    pub fn without_kid(&self, user: &str) -> String {
        self.sign(&json!({ "alg": self.algorithm() }).to_string(), &claims(user).to_string())
    }

    /// Signs whatever it is given.
    pub fn sign(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", b64(header), b64(claims));
        let signature = match &self.key {
            Key::Hs256(secret) => hs256(secret.as_bytes(), &message),
            Key::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature).unwrap();
                b64(signature)
            }
            Key::Es256(pair) => b64(pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap()),
            Key::EdDsa(pair) => b64(pair.sign(message.as_bytes())),
        };
        format!("{message}.{signature}")
    }
}

/// In seconds.
pub fn now() -> i64 {
    SystemHands.wall().0 / 1_000
}

/// What a server should accept.
pub fn claims(user: &str) -> Value {
    json!({ "sub": user, "iss": ISSUER, "aud": AUDIENCE, "exp": now() + 3_600, "nbf": now() - 60 })
}

/// A digest that could be mistaken for a signature.
pub fn sha256(text: &str) -> String {
    b64(digest::digest(&digest::SHA256, text.as_bytes()))
}
