//! Tokens that must not let anybody in. Each is answered with 401, and changes nothing.

use serde_json::{Value, json};
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::server::TestServer;

use super::issuer::{b64, claims, hs256, now, sha256};
use super::{ISSUER, Issuer, mine, reserve, server};

/// The same claims with one of them changed; null removes it.
fn but(name: &str, value: Value) -> String {
    let mut all = claims("alice");
    match value {
        Value::Null => drop(all.as_object_mut().unwrap().shift_remove(name)),
        value => all[name] = value,
    }
    all.to_string()
}

/// The same header with one more field.
fn header(issuer: &Issuer, name: &str, value: Value) -> String {
    let mut header = issuer.header();
    header[name] = value;
    header.to_string()
}

/// What is wrong, the token, and what `WWW-Authenticate` says about it.
type Forgery = (&'static str, String, &'static str);

/// Tokens in the name of an issuer whose public key everybody knows.
fn forgeries(good: &Issuer) -> Vec<Forgery> {
    let (plain, all) = (good.header().to_string(), claims("alice").to_string());
    let token = good.token("alice");
    let (message, signature) = token.rsplit_once('.').unwrap();
    let other = Issuer::rs256("good");
    let none = |alg: &str| format!("{}.{}.", b64(json!({ "alg": alg }).to_string()), b64(&all));
    let pem = good.public_pem();
    let with_hmac = |secret: &[u8]| {
        let message = format!("{}.{}", b64(json!({ "alg": "HS256", "kid": "good" }).to_string()), b64(&all));
        format!("{message}.{}", hs256(secret, &message))
    };
    let algorithm = |alg: &str| good.sign(&header(good, "alg", json!(alg)), &all);
    let long = "x".repeat(129);
    let mut list = vec![
        ("another key under the same name", other.token("alice"), "signature"),
        ("a key that is not known", Issuer::rs256("other").token("alice"), "signature"),
        ("no signature", none("none"), "signature"),
        ("no signature, spelled differently", none("nOnE"), "signature"),
        ("no algorithm", good.sign(r#"{"typ":"JWT"}"#, &all), "malformed"),
        ("HMAC with the public key's PEM", with_hmac(pem.as_bytes()), "signature"),
        ("HMAC with the public key's PEM, trimmed", with_hmac(pem.trim().as_bytes()), "signature"),
        ("HMAC with the public key's modulus", with_hmac(good.jwk()["n"].as_str().unwrap().as_bytes()), "signature"),
        ("HMAC without a secret", with_hmac(b""), "signature"),
        ("another algorithm of the same key: PS256", algorithm("PS256"), "signature"),
        ("another algorithm of the same key: RS512", algorithm("RS512"), "signature"),
        ("another algorithm of another family: ES256", algorithm("ES256"), "signature"),
        ("two algorithms", good.sign(r#"{"alg":"none","alg":"RS256"}"#, &all), "malformed"),
        ("a key in the token", other.sign(&header(&other, "jwk", other.jwk()), &all), "malformed"),
        ("the right key in the token", good.sign(&header(good, "jwk", good.jwk()), &all), "malformed"),
        ("an address of keys", good.sign(&header(good, "jku", json!("https://evil.example/jwks")), &all), "malformed"),
        ("a certificate in the token", good.sign(&header(good, "x5c", json!(["MIIB"])), &all), "malformed"),
        (
            "an address of certificates",
            good.sign(&header(good, "x5u", json!("https://evil.example")), &all),
            "malformed",
        ),
        ("a critical extension", good.sign(&header(good, "crit", json!(["b64"])), &all), "malformed"),
        ("a token of another kind", good.sign(&header(good, "typ", json!("logout+jwt")), &all), "malformed"),
        ("expired", good.sign(&plain, &but("exp", json!(now() - 60))), "expired"),
        ("expired long ago", good.sign(&plain, &but("exp", json!(1))), "expired"),
        ("not yet valid", good.sign(&plain, &but("nbf", json!(now() + 3_600))), "not yet valid"),
        ("without an end", good.sign(&plain, &but("exp", Value::Null)), "malformed"),
        ("an end that is a text", good.sign(&plain, &but("exp", json!("9999999999"))), "malformed"),
        ("another audience", good.sign(&plain, &but("aud", json!("others"))), "aud"),
        ("several other audiences", good.sign(&plain, &but("aud", json!(["others", "tickets2"]))), "aud"),
        ("without an audience", good.sign(&plain, &but("aud", Value::Null)), "aud"),
        ("another issuer", good.sign(&plain, &but("iss", json!("https://evil.example"))), "iss"),
        ("several issuers", good.sign(&plain, &but("iss", json!([ISSUER, "https://evil.example"]))), "malformed"),
        ("without an issuer", good.sign(&plain, &but("iss", Value::Null)), "iss"),
        ("without a user", good.sign(&plain, &but("sub", Value::Null)), "malformed"),
        ("an empty user", good.sign(&plain, &but("sub", json!(""))), "malformed"),
        ("a user that is a number", good.sign(&plain, &but("sub", json!(7))), "malformed"),
        ("a user with a line break", good.sign(&plain, &but("sub", json!("alice\nadmin"))), "sub"),
        ("a user with a space at the end", good.sign(&plain, &but("sub", json!("alice "))), "sub"),
        ("a user of 129 characters", good.sign(&plain, &but("sub", json!(long))), "sub"),
        ("two users", good.sign(&plain, &all.replacen('{', r#"{"sub":"admin","#, 1)), "malformed"),
        ("two ends", good.sign(&plain, &all.replacen('{', r#"{"exp":1,"#, 1)), "malformed"),
        ("two of a claim that is not read", good.sign(&plain, &all.replacen('{', r#"{"x":1,"x":2,"#, 1)), "malformed"),
        ("claims with something after them", good.sign(&plain, &format!("{all}{{}}")), "malformed"),
        ("claims that are a list", good.sign(&plain, r#"["alice"]"#), "malformed"),
        ("claims that are no JSON", good.sign(&plain, "alice"), "malformed"),
        ("larger than any token", good.sign(&plain, &but("x", json!("x".repeat(9_000)))), "malformed"),
        ("one character short", token[..token.len() - 1].to_owned(), "signature"),
        ("without its signature", message.to_owned(), "malformed"),
        ("with an empty signature", format!("{message}."), "signature"),
        ("a digest for a signature", format!("{message}.{}", sha256(message)), "signature"),
        ("with a fourth part", format!("{token}.x"), "malformed"),
        ("with padding", format!("{token}=="), "malformed"),
        ("in two halves", token.replace('.', " "), "malformed"),
        (
            "another's claims under a good signature",
            format!("{}.{}.{signature}", b64(&plain), b64(claims("bob").to_string())),
            "signature",
        ),
        ("no token at all", "x".into(), "malformed"),
    ];
    list.extend([("a quoted token", format!("\"{token}\""), "malformed")]);
    list
}

async fn all_refused(stand: &TestServer, forgeries: &[Forgery]) {
    let mut client = TestClient::new(stand.address);
    let before = stand.admin("GET", "events/1", &Value::Null).await.json();
    for (what, token, problem) in forgeries {
        for told in [reserve(&mut client, token).await, mine(&mut client, token).await] {
            assert_eq!((told.status, told.reason().as_str()), (401, "unauthorized"), "{what}: {}", told.text());
            let challenge = told.header("www-authenticate").unwrap_or_default().to_owned();
            let expected = format!("Bearer error=\"invalid_token\", error_description=\"{problem}\"");
            // Not every fault of a signature's form can be told from a wrong signature.
            let told_apart = challenge == expected || (*problem == "signature" && challenge.contains("malformed"));
            assert!(told_apart, "{what}: {challenge}");
            assert!(!told.text().contains(token.as_str()), "{what}: the answer repeats the token");
        }
    }
    let after = stand.admin("GET", "events/1", &Value::Null).await.json();
    assert_eq!(before, after, "a forged token changed something");
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_tokens_are_refused_and_change_nothing() {
    let good = Issuer::rs256("good");
    let forgeries = forgeries(&good);
    assert!(forgeries.len() >= 50);
    let folder = TestFolder::new("keys");
    let (jwks, pem) = (folder.path().join("jwks.json"), folder.path().join("key.pem"));
    std::fs::write(&jwks, json!({ "keys": [good.jwk()] }).to_string()).unwrap();
    std::fs::write(&pem, good.public_pem()).unwrap();
    for (setting, file) in [("JWT_JWKS_FILE", &jwks), ("JWT_PUBLIC_KEY_FILE", &pem)] {
        let stand = server(setting, file.to_str().unwrap()).await;
        all_refused(&stand, &forgeries).await;
        // The token that they were made from is good.
        assert_eq!(reserve(&mut stand.client(), &good.token("alice")).await.status, 200);
    }
}

/// The signature of all zeros, which broken verifiers of ECDSA accept.
#[tokio::test(flavor = "multi_thread")]
async fn blank_signatures_are_refused() {
    let folder = TestFolder::new("keys");
    for issuer in [Issuer::es256("e"), Issuer::eddsa("d")] {
        let file = folder.path().join("key.pem");
        std::fs::write(&file, issuer.public_pem()).unwrap();
        let stand = server("JWT_PUBLIC_KEY_FILE", file.to_str().unwrap()).await;
        let token = issuer.token("alice");
        let message = token.rsplit_once('.').unwrap().0;
        let blank = |byte: u8| format!("{message}.{}", b64([byte; 64]));
        let forgeries =
            [("zeros", blank(0), "signature"), ("ones", blank(1), "signature"), ("all", blank(255), "signature")];
        all_refused(&stand, &forgeries).await;
        assert_eq!(reserve(&mut stand.client(), &token).await.status, 200);
    }
}

/// Secrets and private parts in a set of keys that others can read.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_other_purposes_verify_nothing() {
    let (good, other) = (Issuer::rs256("good"), Issuer::rs256("other"));
    let hs = Issuer::hs256("short");
    let mut encryption = other.jwk();
    encryption["use"] = json!("enc");
    let mut pss = other.jwk();
    pss["alg"] = json!("PS256");
    let mut unnamed = hs.jwk();
    unnamed.as_object_mut().unwrap().shift_remove("alg");
    let short = json!({ "kty": "oct", "k": b64("short"), "alg": "HS256", "kid": "short" });
    let folder = TestFolder::new("keys");
    let file = folder.path().join("jwks.json");
    let unknown = json!({ "kty": "new", "kid": "new" });
    std::fs::write(&file, json!({ "keys": [good.jwk(), encryption, pss, unnamed, short, unknown] }).to_string())
        .unwrap();
    let stand = server("JWT_JWKS_FILE", file.to_str().unwrap()).await;
    let message = format!("{}.{}", b64(r#"{"alg":"HS256","kid":"short"}"#), b64(claims("alice").to_string()));
    let weak = format!("{message}.{}", hs256(b"short", &message));
    let tokens = [other.token("alice"), hs.token("alice"), weak].map(|token| ("no key for it", token, "signature"));
    all_refused(&stand, &tokens).await;
    assert_eq!(reserve(&mut stand.client(), &good.token("alice")).await.status, 200);
}
