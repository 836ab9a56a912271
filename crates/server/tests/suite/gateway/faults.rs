//! What a gateway survives: FAULTS C10; Redis gone, servers gone, both back; marks of requests that
//! reached nobody.

use std::time::{Duration, Instant};

use testing::backing::TestStores;
use testing::database::Database;
use testing::folder::TestFolder;
use testing::gateway::TestGateway;
use testing::http::{TestClient, TestResponse};
use testing::process::ServerProcess;
use testing::raw_tcp;
use testing::redis::OwnRedis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::edge::{BODY, Edge, FCFS};
use crate::faults::history::{Load, core_ok, numbers_rise, sold, unknown};
use crate::faults::servers::nobody_after_sold_out;

/// C10: twenty reloads under load lose no answer to a completed sale; after a killed worker nobody has two
/// seats.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_reloads_and_killed_workers_lose_no_answer() {
    let edge = Edge::with(2, &[("FCFS_SEATS", "100000")], &[]).await;
    edge.warm().await;
    let addresses: Vec<_> = edge.servers.iter().map(|stand| stand.server).collect();
    let load = Load::start(&[edge.gate.address()], 1, 12, 100_000);
    for round in 0..20 {
        load.after(20, Duration::from_secs(10)).await;
        // Every time other servers, or the same ones in another order.
        match round % 3 {
            0 => edge.gate.turn_to(&addresses[..1]),
            1 => edge.gate.turn_to(&addresses[1..]),
            _ => edge.gate.turn_to(&addresses),
        }
    }
    load.after(50, Duration::from_secs(10)).await;
    let all = load.stop().await;
    let replayed = all.iter().filter(|b| b.replayed).count();
    assert_eq!((replayed, unknown(&all)), (0, 0), "answers were lost");
    let refused = all.iter().flat_map(|b| &b.answers).filter(|(status, ..)| *status >= 500).count();
    assert_eq!(refused, 0, "a reload showed as 5xx");
    assert_eq!(core_ok(&edge.database.url, 1, &all).await, Ok(sold(&all)));

    let event = edge.event(100_000, 1).await;
    let load = Load::start(&[edge.gate.address()], event, 12, 100_000);
    for _ in 0..5 {
        load.after(50, Duration::from_secs(10)).await;
        edge.gate.nginx().kill_a_worker();
    }
    load.after(50, Duration::from_secs(10)).await;
    let all = load.stop().await;
    assert!(all.iter().any(|b| b.broken > 0), "nobody was hit by a kill");
    assert_eq!(unknown(&all), 0);
    assert_eq!(core_ok(&edge.database.url, event, &all).await, Ok(sold(&all)));
    assert!(!edge.gate.nginx().log().contains("lua entry thread aborted"), "{}", edge.gate.nginx().log());
}

/// 5,000 for 500 seats at two servers, through two gateways: each seat once, in the order of numbers.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_two_gateways_sell_each_seat_once() {
    let edge = Edge::with(2, &[], &[]).await;
    let other = edge.another(&[]);
    edge.warm().await;
    let event = edge.event(500, 1).await;
    let all = Load::start(&[edge.gate.address(), other.address()], event, 64, 5_000).finish().await;
    assert_eq!(core_ok(&edge.database.url, event, &all).await, Ok(500));
    assert_eq!((sold(&all), unknown(&all), all.len()), (500, 0, 5_000));
    numbers_rise(&all).unwrap();
    nobody_after_sold_out(&all);
    // Nearly all of them got their number at the edge, and only there.
    assert!(edge.numbers(event) <= 5_000, "{} numbers for 5,000", edge.numbers(event));
}

/// Asks until the answer is as expected; how long that took.
async fn until(client: &TestGateway, what: &str, mut fits: impl FnMut(&TestResponse) -> bool) -> Duration {
    let began = Instant::now();
    for i in 0..400 {
        let answer = client.client().reserve(1, &format!("{what}{i}")).await;
        assert!(answer.json().is_object(), "{}", answer.text());
        if fits(&answer) {
            return began.elapsed();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}: never");
}

/// Redis stopped, servers stopped, both back: the right answers within a second, and the same nginx.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_gateway_survives_outage_of_redis_and_servers() {
    let (database, mut redis) = (Database::fresh().await, OwnRedis::start());
    let stores = TestStores::at(&database.url, &redis.url());
    let folder = TestFolder::new("server");
    let ports = [testing::free_port().to_string(), testing::free_port().to_string()];
    let start = async |port: &str| {
        let mut settings = stores.settings();
        settings.extend([("FCFS_SEATS", "100000"), ("GATEWAY_KEY", testing::gateway::KEY)]);
        ServerProcess::spawn(folder.path(), &settings, |command| command.env("APP_PORT", port)).await
    };
    let servers = [start(&ports[0]).await, start(&ports[1]).await];
    let settings = [
        ("REDIS_URL", redis.url()),
        ("GATEWAY_TRUST_USER_HEADER", "1".to_owned()),
        ("GATEWAY_ADDRESS_RATE", "0".to_owned()),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    let gate = TestGateway::start(&servers.each_ref().map(|server| server.address), &settings);
    let workers = gate.nginx().workers();
    let second = Duration::from_secs(1);
    assert!(until(&gate, "before", |answer| answer.status == 200).await < second);

    redis.kill();
    let unavailable = |answer: &TestResponse| {
        (answer.status, answer.reason().as_str()) == (503, "service_unavailable")
            && answer.header("retry-after") == Some("1")
    };
    assert!(until(&gate, "no-redis", unavailable).await < second);
    let asked = Instant::now();
    assert!(unavailable(&gate.client().reserve(1, "waits").await) && asked.elapsed() < second);
    assert_eq!(gate.client().get("/api/v1/seats/1").await.status, 200, "reading goes on");
    redis.begin();
    let took = until(&gate, "redis-back", |answer| answer.status == 200).await;
    assert!(took < second, "right again {took:?} after Redis was back");

    let [one, two] = servers;
    one.kill();
    // One of two is gone: no connection is had there, so the other one is asked.
    for i in 0..100 {
        let answer = gate.client().reserve(1, &format!("half{i}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    for _ in 0..20 {
        assert_eq!(gate.client().get("/api/v1/seats/1").await.status, 200, "reading asks the next one");
    }
    two.kill();
    assert!(until(&gate, "no-servers", unavailable).await < second);
    redis.kill();
    assert!(until(&gate, "nothing", unavailable).await < second);
    redis.begin();
    let (one, _two) = (start(&ports[0]).await, start(&ports[1]).await);
    let took = until(&gate, "both-back", |answer| answer.status == 200).await;
    assert!(took < second, "right again {took:?} after both were back");
    assert_eq!(gate.nginx().workers(), workers, "no nginx was restarted");
    assert_eq!(one.client().get("/readyz").await.status, 200);
}

/// C3 at the edge: Redis hangs. Whoever asks is told within a second, also who waits behind others; and when it
/// answers again, so does the gateway.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_hanging_redis_gets_503_within_a_second() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    assert_eq!(edge.client().reserve(1, "first").await.status, 200);
    let second = Duration::from_secs(1);
    let _: () = edge.redis.ask(&["CLIENT", "PAUSE", "2500"]);
    let hangs = Instant::now();
    for round in 0..2 {
        let crowd = (0..50).map(async |i| {
            tokio::time::sleep(Duration::from_millis(10 * i)).await;
            let asked = Instant::now();
            (edge.client().reserve(1, &format!("u{round}-{i}")).await, asked.elapsed())
        });
        for (answer, took) in futures_util::future::join_all(crowd).await {
            assert_eq!((answer.status, answer.reason().as_str()), (503, "service_unavailable"), "{}", answer.text());
            assert!(answer.header("retry-after") == Some("1") && took < second, "{took:?}");
        }
    }
    tokio::time::sleep(Duration::from_millis(2_500).saturating_sub(hangs.elapsed())).await;
    let took = until(&edge.gate, "back", |answer| answer.status == 200).await;
    assert!(took < second, "right again {took:?} after Redis was");
}

/// When no server is reachable the mark is released, so that the buyer may retry at once.
#[tokio::test(flavor = "multi_thread")]
async fn mark_is_released_when_no_server_is_reachable() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    assert_eq!(edge.client().reserve(1, "first").await.sequence(), Some(1));
    edge.servers[0].ask_to_stop();
    edge.servers[0].stopped().await;
    for number in 2..5 {
        let answer = edge.client().reserve(1, "alice").await;
        assert_eq!((answer.status, answer.reason().as_str()), (503, "service_unavailable"), "{}", answer.text());
        assert_eq!((edge.numbers(1), edge.mark(1, "alice")), (number, None), "let in, and let go");
    }
}

/// The mark is also released when the answer came from something other than our server.
#[tokio::test(flavor = "multi_thread")]
async fn mark_is_released_when_no_server_took_it_over() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    assert_eq!(edge.client().reserve(1, "first").await.sequence(), Some(1));
    let source = TcpListener::bind("127.0.0.1:0").await.unwrap();
    edge.gate.turn_to(&[source.local_addr().unwrap()]);
    tokio::spawn(async move {
        let (mut stream, _) = source.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await.unwrap();
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
    });
    assert_eq!((edge.client().reserve(1, "alice").await.status, edge.numbers(1)), (404, 2));
    let began = Instant::now();
    while edge.mark(1, "alice").is_some() {
        assert!(began.elapsed() < Duration::from_secs(1), "the mark stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Script trouble, a Redis that is full or of the wrong kind: 503 with its reason, and no sale.
#[tokio::test(flavor = "multi_thread")]
async fn unusable_redis_gets_503() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    assert_eq!(edge.client().reserve(1, "first").await.status, 200);
    let _: () = edge.redis.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = edge.client().reserve(1, "full").await;
    assert_eq!((full.status, full.reason().as_str()), (503, "redis_error"), "{}", full.text());
    let _: () = edge.redis.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let _: () = edge.redis.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let _: i64 = edge.redis.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    let evicting = edge.client().reserve(1, "evicting").await;
    assert_eq!((evicting.status, evicting.reason().as_str()), (503, "service_unavailable"), "{}", evicting.text());
    let _: () = edge.redis.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(edge.client().reserve(1, "fine").await.status, 200);
    // A malformed reply gives no number.
    let planted = [("scripts/arrive.lua", "return reply\n", "return {9, 9}\n")];
    let edge = Edge::with(1, &[], &planted).await;
    edge.warm().await;
    edge.client().reserve(1, "opens").await;
    let told = edge.client().reserve(1, "alice").await;
    assert_eq!((told.status, told.reason().as_str()), (503, "sequence_unavailable"), "{}", told.text());
}

/// Chunks of a stream are passed on as they come, not when a buffer is full.
#[tokio::test(flavor = "multi_thread")]
async fn streams_are_not_buffered() {
    let edge = Edge::new(&[]).await;
    let source = TcpListener::bind("127.0.0.1:0").await.unwrap();
    edge.gate.turn_to(&[source.local_addr().unwrap()]);
    let (said, mut heard) = tokio::sync::mpsc::channel::<()>(1);
    tokio::spawn(async move {
        let (mut stream, _) = source.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(format!("{head}9\r\ndata: 1\n\n\r\n").as_bytes()).await.unwrap();
        // The next one is not even written before somebody has the first.
        heard.recv().await.unwrap();
        stream.write_all(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n").await.unwrap();
    });
    let asked = b"GET /api/v1/events/1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = raw_tcp::send(edge.gate.address(), asked).await;
    let mut text = String::new();
    let mut part = [0; 4096];
    while !text.contains("data: 2") {
        let read = tokio::time::timeout(Duration::from_secs(3), stream.read(&mut part)).await;
        let read = read.unwrap_or_else(|_| panic!("held back after {text:?}")).unwrap();
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&part[..read]));
        if text.contains("data: 1") {
            let _ = said.try_send(());
        }
    }
}

/// Without a connection nothing was sent: the request goes to the next server, with the same number.
#[tokio::test(flavor = "multi_thread")]
async fn unreachable_server_is_skipped_with_the_same_number() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    assert_eq!(edge.client().reserve(1, "first").await.sequence(), Some(1));
    let nobody = ([127, 0, 0, 1], testing::free_port()).into();
    edge.gate.turn_to(&[nobody, edge.servers[0].server]);
    for number in 2..=8 {
        let answer = edge.client().reserve(1, &format!("u{number}")).await;
        assert_eq!((answer.status, answer.sequence()), (200, Some(number)), "{}", answer.text());
        // Long enough for the dead one to be tried again.
        tokio::time::sleep(Duration::from_millis(130)).await;
    }
    assert_eq!(edge.numbers(1), 8);
    assert!(edge.gate.nginx().log().contains("while connecting to upstream"), "nobody met the dead one");
}

/// A write that a server breaks off is not sent again.
#[tokio::test(flavor = "multi_thread")]
async fn writes_are_never_sent_twice() {
    let edge = Edge::new(&[]).await;
    let source = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let breaks_off = source.local_addr().unwrap();
    edge.gate.turn_to(&[breaks_off, breaks_off]);
    let (count, mut came) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = source.accept().await {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).await.unwrap_or(0);
            let line = String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned();
            let _ = count.send(line);
        }
    });
    let mut client = edge.client();
    for (method, path, body) in [("POST", FCFS, BODY), ("DELETE", "/api/v1/reservations/e1-2", "")] {
        let headers = [("X-User-Id", "alice"), ("Content-Type", "application/json")];
        let answer = client.send(method, path, &headers, body).await;
        assert_eq!((answer.status, answer.reason().as_str()), (503, "service_unavailable"));
        assert_eq!(came.recv().await.unwrap(), format!("{method} {path} HTTP/1.1"));
        assert!(came.try_recv().is_err(), "{method} was sent again");
    }
    assert_eq!(TestClient::new(edge.gate.address()).get("/api/v1/seats").await.status, 503);
    assert!(came.recv().await.is_some() && came.recv().await.is_some(), "reading is tried at the next one");
}
