//! New keys, in a file and at an address, while people buy: nobody with a valid token is refused.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::ServerProcess;
use testing::server::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{AUDIENCE, ISSUER, Issuer, TlsIssuer, mine, server};

pub fn set(issuers: &[&Issuer]) -> String {
    json!({ "keys": issuers.iter().map(|issuer| issuer.jwk()).collect::<Vec<_>>() }).to_string()
}

/// Whole or not at all, as tools that write secrets do.
fn replace(file: &Path, text: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// Asks again and again with tokens of the current issuer until it is dropped.
struct Buyers {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    issuers: Arc<Mutex<Vec<Arc<Issuer>>>>,
    running: Vec<tokio::task::JoinHandle<Vec<String>>>,
}

impl Buyers {
    fn start(stand: &TestServer, issuer: &Arc<Issuer>) -> Buyers {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let issuers = Arc::new(Mutex::new(vec![issuer.clone()]));
        let buyer = |n: usize| {
            let (stop, asked, issuers) = (stop.clone(), asked.clone(), issuers.clone());
            let mut client = TestClient::new(stand.address);
            tokio::spawn(async move {
                let mut refused = Vec::new();
                while !stop.load(SeqCst) {
                    let issuer = {
                        let issuers = issuers.lock().unwrap();
                        issuers[n % issuers.len()].clone()
                    };
                    let told = mine(&mut client, &issuer.token(&format!("user-{n}"))).await;
                    if told.status != 200 {
                        refused.push(told.text());
                    }
                    asked.fetch_add(1, SeqCst);
                }
                refused
            })
        };
        let running = (0..4).map(buyer).collect();
        Buyers { stop, asked, issuers, running }
    }

    fn turn_to(&self, issuers: &[&Arc<Issuer>]) {
        *self.issuers.lock().unwrap() = issuers.iter().map(|issuer| (*issuer).clone()).collect();
    }

    async fn some_more(&self) {
        let before = self.asked.load(SeqCst);
        until("buyers ask", || async { self.asked.load(SeqCst) > before + 20 }).await;
    }

    async fn none_refused(self) {
        self.stop.store(true, SeqCst);
        for buyer in self.running {
            assert_eq!(buyer.await.unwrap(), Vec::<String>::new(), "a valid token was refused");
        }
    }
}

async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: not within 20 s");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_in_a_file_change_without_a_refusal() {
    let (old, new) = (Arc::new(Issuer::rs256("old")), Arc::new(Issuer::es256("new")));
    let folder = TestFolder::new("keys");
    let file = folder.path().join("jwks.json");
    replace(&file, &set(&[&old]));
    let stand = server("JWT_JWKS_FILE", file.to_str().unwrap()).await;
    let shown = old.token("alice");
    assert_eq!(mine(&mut stand.client(), &shown).await.status, 200);
    let buyers = Buyers::start(&stand, &old);
    buyers.some_more().await;
    // Both are valid, and the first token of the new one comes at once.
    replace(&file, &set(&[&old, &new]));
    buyers.turn_to(&[&old, &new]);
    buyers.some_more().await;
    buyers.turn_to(&[&new]);
    buyers.some_more().await;
    // Broken files leave the keys as they are.
    for broken in ["", "{", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"RSA"}]}"#] {
        std::fs::write(&file, broken).unwrap();
        buyers.some_more().await;
        assert_eq!(mine(&mut stand.client(), &Issuer::rs256("other").token("alice")).await.status, 401);
    }
    std::fs::remove_file(&file).unwrap();
    assert_eq!(mine(&mut stand.client(), &Issuer::rs256("other").token("alice")).await.status, 401);
    buyers.some_more().await;
    // The old key is withdrawn.
    replace(&file, &set(&[&new]));
    until("the old key ends", || async { mine(&mut stand.client(), &old.token("alice")).await.status == 401 }).await;
    assert_eq!(mine(&mut stand.client(), &shown).await.status, 401, "also for a token that was verified before");
    buyers.some_more().await;
    buyers.none_refused().await;
}

/// An issuer's address of keys.
struct JwksAddress {
    url: String,
    /// The whole answer.
    answer: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

impl JwksAddress {
    async fn serving(answer: String) -> JwksAddress {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let (answer, asked) = (Arc::new(Mutex::new(answer)), Arc::new(AtomicUsize::new(0)));
        let (text, count) = (answer.clone(), asked.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (text, count) = (text.clone(), count.clone());
                tokio::spawn(async move {
                    let mut head = [0; 4096];
                    let _ = stream.read(&mut head).await;
                    count.fetch_add(1, SeqCst);
                    let text = text.lock().unwrap().clone();
                    let _ = stream.write_all(text.as_bytes()).await;
                });
            }
        });
        JwksAddress { url, answer, asked }
    }

    fn answer(&self, text: String) {
        *self.answer.lock().unwrap() = text;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_at_an_address_change_without_a_refusal() {
    let (old, new) = (Arc::new(Issuer::eddsa("old")), Arc::new(Issuer::rs256("new")));
    let address = JwksAddress::serving(ok(&set(&[&old]))).await;
    let stand = server("JWT_JWKS_URL", &address.url).await;
    until("ready", || async { stand.client().get("/readyz").await.status == 200 }).await;
    let buyers = Buyers::start(&stand, &old);
    buyers.some_more().await;
    // The first token of the new key makes the server ask.
    address.answer(ok(&set(&[&old, &new])));
    buyers.turn_to(&[&old, &new]);
    buyers.some_more().await;
    assert_eq!(address.asked.load(SeqCst), 2, "at the start, and for the new key");
    buyers.turn_to(&[&new]);
    buyers.some_more().await;
    // Made-up keys do not make it ask for each.
    for n in 0..20 {
        let told = mine(&mut stand.client(), &Issuer::hs256(&format!("made-up-{n}")).token("alice")).await;
        assert_eq!(told.status, 401);
    }
    assert!(address.asked.load(SeqCst) <= 3, "asked {} times", address.asked.load(SeqCst));
    buyers.none_refused().await;
}

/// An address that fails leaves the keys as they are; one that never answered is told apart from a bad token.
#[tokio::test(flavor = "multi_thread")]
async fn unreachable_address_keeps_the_keys() {
    let good = Issuer::es256("good");
    let failing = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_owned();
    let address = JwksAddress::serving(failing.clone()).await;
    let stand = server("JWT_JWKS_URL", &address.url).await;
    let told = mine(&mut stand.client(), &good.token("alice")).await;
    assert_eq!((told.status, told.reason().as_str()), (503, "service_unavailable"), "{}", told.text());
    assert!(told.header("retry-after").is_some());
    let ready = stand.client().get("/readyz").await;
    assert!(ready.status == 503 && ready.text().contains("JWT_JWKS_URL"), "{}", ready.text());
    // It comes back, and is asked again without anybody's doing.
    address.answer(ok(&set(&[&good])));
    until("ready", || async { stand.client().get("/readyz").await.status == 200 }).await;
    assert_eq!(mine(&mut stand.client(), &good.token("alice")).await.status, 200);

    let stranger = Issuer::es256("stranger");
    let elsewhere = JwksAddress::serving(ok(&set(&[&stranger]))).await;
    let secret = Issuer::hs256("secret");
    for answer in [
        failing,
        ok("no keys"),
        ok(&" ".repeat(300_000)),
        ok(&json!({ "keys": [secret.jwk()] }).to_string()),
        format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", elsewhere.url),
    ] {
        let (asked, began) = (address.asked.load(SeqCst), Instant::now());
        address.answer(answer);
        // Within the pause for made-up keys nothing is asked.
        while address.asked.load(SeqCst) == asked {
            for unknown in [&stranger, &secret] {
                assert_eq!(mine(&mut stand.client(), &unknown.token("alice")).await.status, 401);
            }
            assert!(began.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(mine(&mut stand.client(), &good.token("alice")).await.status, 200);
    }
    assert_eq!(elsewhere.asked.load(SeqCst), 0, "a redirect was followed");
}

/// Over TLS, verified with the authorities of the machine.
#[tokio::test(flavor = "multi_thread")]
async fn address_with_tls_is_verified() {
    let good = Issuer::rs256("good");
    let issuer = TlsIssuer::with_keys(&[&good]);
    let url = issuer.url.as_str();
    let settings = [("AUTH_MODE", "jwt"), ("JWT_ISSUER", ISSUER), ("JWT_AUDIENCE", AUDIENCE), ("JWT_JWKS_URL", url)];
    let token = good.token("alice");
    let data = TestFolder::new("server");
    let trusting = |ca: PathBuf, name: &str| {
        ServerProcess::begin(&data.path().join(name), &settings, move |command| command.env("SSL_CERT_FILE", ca))
    };
    let server = trusting(issuer.authority(), "one");
    until("its keys are fetched", || async { mine(&mut server.client(), &token).await.status == 200 }).await;
    let deceived = trusting(issuer.other_authority(), "two");
    for _ in 0..3 {
        let told = mine(&mut deceived.client(), &token).await;
        assert_eq!(told.status, 503, "{}", told.text());
    }
    let ready: Value = deceived.client().get("/readyz").await.json();
    assert!(ready["missing"].to_string().contains("JWT_JWKS_URL"), "{ready}");
}
