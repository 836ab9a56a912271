//! Who is believed: with a key only who shows it; without one only programs on this machine.

use testing::folder::TestFolder;
use testing::http::BUYER;
use testing::process::binary;
use testing::server::TestServer;

const KEY: &str = "0123456789abcdef0123456789abcdef";
const FCFS: &str = "/api/v1/seats/reservation/fcfs";
const JSON: (&str, &str) = ("Content-Type", "application/json");
const ALICE: (&str, &str) = ("X-User-Id", "alice");

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_everybody_must_show_it() {
    let stand = TestServer::embedded(&[("GATEWAY_KEY", KEY)]).await;
    let mut client = stand.client();
    for (method, path, body) in
        [("POST", FCFS, BUYER), ("GET", "/api/v1/reservations", ""), ("DELETE", "/api/v1/reservations/e1-2", "")]
    {
        for shown in [None, Some("x"), Some("0123456789abcdef0123456789abcdeX")] {
            let headers: Vec<_> = [JSON, ALICE].into_iter().chain(shown.map(|key| ("X-Gateway-Key", key))).collect();
            let told = client.send(method, path, &headers, body).await;
            assert_eq!((told.status, told.reason().as_str()), (401, "unauthorized"), "{path}: {}", told.text());
            assert_eq!(told.header("x-fcfs-auth"), None, "only a gateway learns the mode");
        }
    }
    let told = client.send("POST", FCFS, &[JSON, ALICE, ("X-Gateway-Key", KEY)], BUYER).await;
    assert_eq!((told.status, told.header("x-fcfs-auth")), (200, Some("header")), "{}", told.text());
    for path in ["/livez", "/api/v1/seats", "/no/such/path", "/api/v1/admin/events"] {
        let told = client.send("GET", path, &[("X-Gateway-Key", KEY)], "").await;
        assert_eq!(told.header("x-fcfs-auth"), Some("header"), "{path}: every answer says it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_on_the_same_machine_is_noticed() {
    let stand = TestServer::embedded(&[]).await;
    let mut client = stand.client();
    for proxied in [
        ("Via", "1.1 proxy"),
        ("X-Real-IP", "10.0.0.1"),
        ("X-Forwarded-For", "10.0.0.1"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "shop.example"),
        ("Forwarded", "for=10.0.0.1"),
        ("CF-Connecting-IP", "10.0.0.1"),
        // nginx's `proxy_pass` adds nothing, but passes on the name of the upstream or of the site.
        ("Host", "shop.example"),
        ("Host", "backend"),
        ("Host", "192.168.0.2:5800"),
        ("Host", "localhost.evil.example"),
    ] {
        for (method, path, body) in [("POST", FCFS, BUYER), ("GET", "/v1/holds", "")] {
            let told = client.send(method, path, &[JSON, ALICE, proxied], body).await;
            assert_eq!((told.status, told.reason().to_lowercase().as_str()), (403, "forbidden"), "{proxied:?} {path}");
        }
        // What is public stays public.
        assert_eq!(client.send("GET", "/api/v1/seats", &[proxied], "").await.status, 200);
    }
    for (i, host) in ["localhost", "localhost:1", "127.0.0.1", "[::1]:5800", "tickettock.localhost"].iter().enumerate()
    {
        let user = format!("u{i}");
        let headers = [JSON, ("X-User-Id", user.as_str()), ("Host", host)];
        assert_eq!(client.send("POST", FCFS, &headers, BUYER).await.status, 200, "{host}");
    }
    let behind = TestServer::embedded(&[("ALLOW_TRUSTED_HEADER", "1")]).await;
    let headers = [JSON, ALICE, ("Host", "shop.example")];
    assert_eq!(behind.client().send("POST", FCFS, &headers, BUYER).await.status, 200, "an explicit choice");
}

/// A token that somebody wrote into the data folder is held to the same as `ADMIN_TOKEN`.
#[test]
fn token_in_the_data_folder_must_be_strong_where_strangers_can_reach_it() {
    let folder = TestFolder::new("weak-token");
    let file = folder.path().join("admin-token");
    let serve = |token: &str| {
        std::fs::write(&file, token).unwrap();
        let mut command = binary();
        command.args(["serve", "--port", "0"]).env("DATA_DIR", folder.path()).env("GATEWAY_KEY", KEY);
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for weak in ["letmein\n", "abababababababababababababababababababab\n", "change-me-0123456789abcdefghijklmnop\n"] {
        let (started, said) = serve(weak);
        assert!(!started && said.contains("admin-token can be guessed"), "{weak}: {said}");
        assert!(!said.contains(weak.trim()), "{said}");
    }
}
