//! Servers are restarted one after another behind a gateway, while people buy, look and cancel: no request fails.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use testing::backing::TestStores;
use testing::database::Database;
use testing::folder::TestFolder;
use testing::gateway::{GatewayBug, KEY, TestGateway};
use testing::http::{BUYER, TestClient};
use testing::process::ServerProcess;
use testing::redis::OwnRedis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const CLIENTS: usize = 6;
/// Answers between two steps of the restart.
const ANSWERS: usize = 60;
const PATIENCE: Duration = Duration::from_secs(60);

fn gateway(servers: &[SocketAddr], redis: &OwnRedis, planted: &[GatewayBug<'_>]) -> TestGateway {
    let settings = [
        ("REDIS_URL", redis.url()),
        ("GATEWAY_TRUST_USER_HEADER", "1".to_owned()),
        ("GATEWAY_ADDRESS_RATE", "0".to_owned()),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    TestGateway::planted(servers, &settings, planted)
}

/// Buys, looks and cancels until told to stop. Returns every answer that is no success, and how many seats were kept.
async fn customer(gate: SocketAddr, name: usize, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) -> (Vec<String>, u64) {
    let (mut client, mut failed, mut kept) = (TestClient::new(gate), Vec::new(), 0);
    for round in 0.. {
        if stop.load(SeqCst) {
            break;
        }
        let user = format!("u{name}-{round}");
        let headers = [("X-User-Id", user.as_str()), ("Content-Type", "application/json")];
        let mut reservation = String::new();
        for step in ["buy", "look", "seat", "cancel"] {
            let (method, path, body) = match step {
                "buy" => ("POST", "/api/v1/seats/reservation/fcfs".to_owned(), BUYER),
                "look" => ("GET", "/api/v1/reservations".to_owned(), ""),
                "seat" => ("GET", "/api/v1/seats/1".to_owned(), ""),
                // Every other one keeps the seat.
                _ if round % 2 == 0 => continue,
                _ => ("DELETE", format!("/api/v1/reservations/{reservation}"), ""),
            };
            match client.try_send(method, &path, &headers, body).await {
                Ok(answer) if answer.status == 200 => {
                    if step == "buy" {
                        reservation = answer.json()["reservationId"].as_str().unwrap().to_owned();
                        kept += 1;
                    }
                    kept -= u64::from(step == "cancel");
                    if step == "look" && !answer.text().contains(&reservation) {
                        failed.push(format!("{user} looks, {reservation} is not there: {}", answer.text()));
                    }
                }
                Ok(answer) => failed.push(format!("{user} {step}: {} {}", answer.status, answer.text())),
                Err(error) => failed.push(format!("{user} {step}: {error}")),
            }
            done.fetch_add(1, SeqCst);
        }
    }
    (failed, kept)
}

async fn more(done: &AtomicUsize) {
    let from = done.load(SeqCst);
    let wait = async {
        while done.load(SeqCst) < from + ANSWERS {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("people are answered all the time");
}

/// Asks the server itself, as the gateway does, until it has said that it stops or is gone.
async fn says_that_it_stops(server: SocketAddr) -> bool {
    loop {
        let answer = TestClient::new(server).try_send("GET", "/api/v1/seats/1", &[("X-Gateway-Key", KEY)], "").await;
        match answer {
            Ok(answer) if answer.header("x-fcfs-stops").is_some() => return true,
            Ok(_) => tokio::task::yield_now().await,
            Err(_) => return false,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_rolling_restart_fails_no_request() {
    let (database, redis, folder) = (Database::fresh().await, OwnRedis::start(), TestFolder::new("server"));
    let stores = TestStores::at(&database.url, &redis.url());
    let ports = [testing::free_port().to_string(), testing::free_port().to_string()];
    let start = async |port: &str| {
        let mut settings = stores.settings();
        settings.extend([("FCFS_SEATS", "100000"), ("GATEWAY_KEY", KEY)]);
        ServerProcess::spawn(folder.path(), &settings, |command| command.env("APP_PORT", port)).await
    };
    let mut servers = [start(&ports[0]).await, start(&ports[1]).await];
    let gate = gateway(&servers.each_ref().map(|server| server.address), &redis, &[]);
    assert_eq!(gate.client().reserve(1, "first").await.status, 200, "the gateway knows whose door it is");

    let (stop, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let customers: Vec<_> =
        (0..CLIENTS).map(|name| tokio::spawn(customer(gate.address(), name, stop.clone(), done.clone()))).collect();
    let mut announced = 0;
    for round in 0..4 {
        let which = round % 2;
        more(&done).await;
        servers[which].signal("TERM");
        announced += usize::from(says_that_it_stops(servers[which].address).await);
        assert_eq!(servers[which].ended_within(Duration::from_secs(15)).await, Some(0), "it does not end");
        // One of two is away, and then new.
        more(&done).await;
        servers[which] = start(&ports[which]).await;
    }
    more(&done).await;
    stop.store(true, SeqCst);
    let (mut failed, mut kept) = (Vec::new(), 1);
    for customer in customers {
        let (more, seats) = customer.await.unwrap();
        failed.extend(more);
        kept += seats;
    }
    assert!(failed.is_empty(), "{} of {} failed: {failed:#?}", failed.len(), done.load(SeqCst));
    assert!(announced > 0, "no server said that it stops");
    let event = gate.client().get("/api/v1/events/1").await.json();
    assert_eq!(event["event"]["remainingSeats"], 100_000 - kept, "{event}");
}

/// A server of one's own making: answers every request with these headers, and counts them.
async fn upstream(headers: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counted = counted.clone();
            tokio::spawn(async move {
                let mut part = [0; 8192];
                // The gateway sends a request as a whole.
                while let Ok(1..) = stream.read(&mut part).await {
                    counted.fetch_add(1, SeqCst);
                    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 2\r\n\r\n{{}}");
                    stream.write_all(head.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (address, count)
}

/// How many of 20 requests reach the server that stops.
async fn reach_the_stopping_server(planted: &[GatewayBug<'_>]) -> usize {
    let redis = OwnRedis::start();
    let (stops, asked) = upstream("X-Fcfs-Auth: header\r\nX-Fcfs-Stops: 1\r\n").await;
    let (serves, _) = upstream("X-Fcfs-Auth: header\r\n").await;
    let gate = gateway(&[stops, serves], &redis, planted);
    let began = std::time::Instant::now();
    for _ in 0..20 {
        let answer = gate.client().get("/api/v1/seats/1").await;
        assert_eq!((answer.status, answer.header("x-fcfs-stops")), (200, None));
    }
    // One request tries it again every two seconds.
    asked.load(SeqCst) - began.elapsed().as_secs() as usize / 2
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_stops_gets_no_more_requests() {
    assert_eq!(reach_the_stopping_server(&[]).await, 1);
    let deaf = [("lua/servers.lua", "if stops then", "if false then")];
    assert!(reach_the_stopping_server(&deaf).await > 5, "the test sees a gateway that does not listen");
}

/// How many of 8 cancellations fail while one of two servers is away for longer than it is doubted.
async fn cancellations_lost(planted: &[GatewayBug<'_>]) -> usize {
    let redis = OwnRedis::start();
    let away = SocketAddr::from(([127, 0, 0, 1], testing::free_port()));
    let (serves, _) = upstream("X-Fcfs-Auth: header\r\n").await;
    let gate = gateway(&[away, serves], &redis, planted);
    // Reads find out that it is away; each is answered by the other one.
    for _ in 0..4 {
        assert_eq!(gate.client().get("/api/v1/seats/1").await.status, 200);
    }
    // nginx's own clock decides for how long it is doubted.
    tokio::time::sleep(Duration::from_millis(1_700)).await;
    let mut lost = 0;
    for i in 0..8 {
        lost += usize::from(gate.client().cancel("alice", &format!("e1-{i}")).await.status != 200);
    }
    lost
}

#[tokio::test(flavor = "multi_thread")]
async fn cancellations_avoid_a_server_that_has_not_answered_again() {
    assert_eq!(cancellations_lost(&[]).await, 0);
    let silence = "if not again and state:get(server.silent) then return false end";
    assert!(cancellations_lost(&[("lua/servers.lua", silence, "")]).await > 0, "the test sees a lost cancellation");
}
