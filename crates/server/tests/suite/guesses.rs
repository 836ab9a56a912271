//! Wrong admin tokens: counted and answered late, while operators and everybody else are served.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::http::TestClient;
use testing::raw_tcp;
use testing::server::TestServer;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An address may fail this often before it has to wait.
const FREE: usize = 10;
/// Guesses of one address that wait.
const WAITING: usize = 8;

const LISTED: (&str, &str) = ("GET", "/api/v1/admin/events");
const CONFIRMED: (&str, &str) = ("POST", "/api/v1/holds/x/confirm");

/// Guesses on a connection of its own.
async fn guess(address: SocketAddr, what: (&str, &str)) -> TcpStream {
    guess_with(address, what, "").await
}

async fn guess_with(address: SocketAddr, (method, path): (&str, &str), headers: &str) -> TcpStream {
    let headers = format!("Host: localhost\r\nAuthorization: Bearer x\r\nContent-Length: 0\r\n{headers}");
    raw_tcp::send(address, format!("{method} {path} HTTP/1.1\r\n{headers}\r\n").as_bytes()).await
}

/// The head of the answer.
async fn answered(guess: &mut TcpStream) -> String {
    let mut part = [0; 4_096];
    let read = timeout(Duration::from_secs(20), guess.read(&mut part)).await.expect("an answer").unwrap();
    let answer = String::from_utf8_lossy(&part[..read]).into_owned();
    assert_eq!(raw_tcp::statuses(&answer), [401], "{answer}");
    answer
}

async fn spend_free_ones(stand: &TestServer, what: (&str, &str)) {
    for _ in 0..FREE {
        answered(&mut guess(stand.address, what).await).await;
    }
}

fn metric(stand: &TestServer, name: &str) -> usize {
    let text = stand.app.metrics.text(&stand.app);
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: not within 20 s");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn until_counted(stand: &TestServer, guesses: usize) {
    until("the guesses are counted", || metric(stand, "tickettock_failed_admin_logins_total") == guesses).await;
}

/// Guesses are counted and slowed down; the right token is not.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_admin_tokens_are_counted_and_slowed_down() {
    let stand = TestServer::embedded(&[]).await;
    spend_free_ones(&stand, LISTED).await;
    let began = Instant::now();
    let guesses = futures_util::future::join_all((0..4).map(|_| async {
        answered(&mut guess(stand.address, LISTED).await).await;
    }));
    guesses.await;
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1_000), "four guesses in {took:?}, over four connections");
    let began = Instant::now();
    assert_eq!(stand.admin("GET", "events", &Value::Null).await.status, 200);
    assert!(began.elapsed() < Duration::from_millis(200), "the operator waited {:?}", began.elapsed());
    assert_eq!(metric(&stand, "tickettock_failed_admin_logins_total"), FREE + 4);
}

/// Three times as many guesses as there are connections, each on its own. If all of them waited, an operator would be
/// served half a minute later.
#[tokio::test(flavor = "multi_thread")]
async fn many_guesses_leave_room_for_operators() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = [("ADMIN_LISTEN", free.to_string()), ("MAX_CONNECTIONS", "64".to_owned())];
    let stand = TestServer::embedded(&settings.each_ref().map(|(name, value)| (*name, value.as_str()))).await;
    let token = format!("Bearer {}", stand.app.admin_token);
    for address in [stand.address, free] {
        let mut guesses = Vec::new();
        for _ in 0..200 {
            guesses.push(guess(address, LISTED).await);
        }
        let mut operator = TestClient::new(address);
        let headers = [("Authorization", token.as_str())];
        let asked = operator.send("GET", LISTED.1, &headers, "");
        let told = timeout(Duration::from_secs(10), asked).await.expect("the operator is served");
        assert_eq!(told.status, 200, "{}", told.text());
        let mut closed = 0;
        for guess in &mut guesses {
            let answer = answered(guess).await;
            closed += usize::from(raw_tcp::header(&answer, "connection") == Some("close"));
        }
        assert!(closed > 200 / 2, "only {closed} were answered at once");
    }
}

/// A guess that waits has a connection: whoever hangs up gives it back, and does not wait for a turn.
#[tokio::test(flavor = "multi_thread")]
async fn guess_whose_client_leaves_gives_its_connection_back() {
    let stand = TestServer::embedded(&[]).await;
    spend_free_ones(&stand, LISTED).await;
    let mut guesses = Vec::new();
    for _ in 0..WAITING {
        guesses.push(guess(stand.address, LISTED).await);
    }
    until_counted(&stand, FREE + WAITING).await;
    drop(guesses);
    let began = Instant::now();
    until("the connections are given back", || metric(&stand, "tickettock_connections") == 0).await;
    // Their turns would take 2 s.
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

/// The connections between a gateway and a server are those of many clients.
#[tokio::test(flavor = "multi_thread")]
async fn guess_behind_a_gateway_does_not_close_its_connection() {
    let key = "0123456789abcdef0123456789abcdef";
    let stand = TestServer::embedded(&[("GATEWAY_KEY", key)]).await;
    let headers = format!("X-Gateway-Key: {key}\r\nX-Gateway-Address: 192.0.2.1\r\n");
    let mut guesses = Vec::new();
    for _ in 0..FREE + WAITING {
        guesses.push(guess_with(stand.server, LISTED, &headers).await);
    }
    until_counted(&stand, FREE + WAITING).await;
    let answer = answered(&mut guess_with(stand.server, LISTED, &headers).await).await;
    assert_eq!(raw_tcp::header(&answer, "connection"), None, "{answer}");
    // Nor does one client's guessing delay another one's.
    let began = Instant::now();
    let other = headers.replace("192.0.2.1", "192.0.2.2");
    answered(&mut guess_with(stand.server, LISTED, &other).await).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

/// With `CONFIRM_BY=service` strangers may guess where buyers are counted by the gate: a thousand guesses that wait
/// would make it refuse buyers.
#[tokio::test(flavor = "multi_thread")]
async fn guesses_that_wait_do_not_fill_the_gate() {
    let stand = TestServer::embedded(&[("CONFIRM_BY", "service")]).await;
    spend_free_ones(&stand, CONFIRMED).await;
    let mut guesses = Vec::new();
    for _ in 0..WAITING {
        let mut guess = guess(stand.address, CONFIRMED).await;
        guesses.push(tokio::spawn(async move { answered(&mut guess).await }));
    }
    until_counted(&stand, FREE + WAITING).await;
    until("nothing is in progress", || stand.app.gate.in_progress() == 0).await;
    let waiting = guesses.iter().filter(|guess| !guess.is_finished()).count();
    assert!(waiting > WAITING / 2, "the gate counted them until they were answered: {waiting} still wait");
    for guess in guesses {
        guess.await.unwrap();
    }
}
