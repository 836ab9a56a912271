//! The gateway under overload: at no server wait more requests than it was given room for, those beyond wait
//! briefly at the gateway, and servers that say they are full are not asked for a moment.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use stores::ensure;
use testing::gateway::{GatewayBug, TestGateway};
use testing::redis::OwnRedis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// `GATEWAY_SERVER_REQUESTS` of these tests.
const ROOM: usize = 4;

/// Stands where a server would, and answers each request when the test lets it.
struct SlowUpstream {
    address: SocketAddr,
    /// One permit for each answer.
    pass: Arc<Semaphore>,
    /// Requests so far, now, and at most at once.
    reached: Arc<AtomicUsize>,
    waiting: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    /// Says that it is full.
    full: Arc<AtomicBool>,
}

impl SlowUpstream {
    async fn start(passes: usize) -> SlowUpstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = SlowUpstream {
            address: listener.local_addr().unwrap(),
            pass: Arc::new(Semaphore::new(passes)),
            reached: Arc::default(),
            waiting: Arc::default(),
            most: Arc::default(),
            full: Arc::default(),
        };
        let SlowUpstream { pass, reached, waiting, most, full, .. } = &upstream;
        let parts = (pass.clone(), reached.clone(), waiting.clone(), most.clone(), full.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (pass, reached, waiting, most, full) = parts.clone();
                tokio::spawn(async move {
                    let mut part = [0; 8192];
                    // The gateway sends a request as a whole.
                    while let Ok(1..) = stream.read(&mut part).await {
                        reached.fetch_add(1, SeqCst);
                        most.fetch_max(waiting.fetch_add(1, SeqCst) + 1, SeqCst);
                        pass.acquire().await.unwrap().forget();
                        waiting.fetch_sub(1, SeqCst);
                        let (status, more) = if full.load(SeqCst) {
                            ("503 Full", "X-Fcfs-Full: 8\r\nRetry-After: 8\r\n")
                        } else {
                            ("200 OK", "")
                        };
                        let head = format!("HTTP/1.1 {status}\r\n{more}Content-Length: 2\r\n\r\n{{}}");
                        stream.write_all(head.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        upstream
    }

    fn waiting(&self) -> usize {
        self.waiting.load(SeqCst)
    }
}

fn gateway(upstreams: &[&SlowUpstream], redis: &OwnRedis, planted: &[GatewayBug<'_>]) -> Arc<TestGateway> {
    let room = ROOM.to_string();
    let settings = [
        ("GATEWAY_SERVER_REQUESTS", room.as_str()),
        ("GATEWAY_WORKERS", "1"),
        ("GATEWAY_TRUST_USER_HEADER", "1"),
        ("GATEWAY_USER_RATE", "0"),
        ("GATEWAY_ADDRESS_RATE", "0"),
        ("REDIS_URL", &redis.url()),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let addresses: Vec<SocketAddr> = upstreams.iter().map(|upstream| upstream.address).collect();
    Arc::new(TestGateway::planted(&addresses, &settings, planted))
}

/// Status, `Retry-After` and time of each of `count` requests that are sent at once.
async fn at_once(gate: &Arc<TestGateway>, count: usize) -> Vec<(u16, Option<u64>, Duration)> {
    let ask = |i| {
        let gate = gate.clone();
        tokio::spawn(async move {
            let began = Instant::now();
            let answer = gate.client().reserve(1, &format!("u{i}")).await;
            let retry = answer.header("retry-after").map(|seconds| seconds.parse().unwrap());
            (answer.status, retry, began.elapsed())
        })
    };
    let mut all = Vec::new();
    for one in (0..count).map(ask).collect::<Vec<_>>() {
        all.push(one.await.unwrap());
    }
    all
}

/// One of two servers hangs. It gets its share and no more; the other one serves; nobody waits for long.
async fn one_server_hangs(planted: &[GatewayBug<'_>]) -> Result<(), String> {
    let (redis, hangs, serves) =
        (OwnRedis::start(), SlowUpstream::start(0).await, SlowUpstream::start(1_000_000).await);
    let gate = gateway(&[&hangs, &serves], &redis, planted);
    let mut fared = Vec::new();
    let asking = async {
        for _ in 0..5 {
            fared.extend(at_once(&gate, 8 * ROOM).await);
        }
    };
    // Those at the server that hangs get their answers in the end.
    let release = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        hangs.pass.add_permits(1_000_000);
    };
    tokio::join!(asking, release);
    let most = hangs.most.load(SeqCst);
    let (good, bad): (Vec<_>, Vec<_>) = fared.into_iter().partition(|one| one.0 == 200);
    let slow = bad.iter().map(|one| one.2).max().unwrap_or_default();
    println!("{most} waited at the server that hung; {} served, {} refused within {slow:?}", good.len(), bad.len());
    ensure!(most <= ROOM, "{most} waited at a server with room for {ROOM}");
    ensure!(most == ROOM, "only {most} waited at the server that hung: the test shows nothing");
    ensure!(good.len() >= 5 * ROOM, "{} were served by the other server", good.len());
    for (status, retry, _) in bad {
        ensure!(status == 503 && retry.is_some_and(|s| (1..=3).contains(&s)), "{status}, Retry-After {retry:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_wait_at_a_server_than_it_has_room_for() {
    one_server_hangs(&[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_gateway_without_slots_is_caught() {
    let slots_off = [
        ("lua/slots.lua", "function M.take()\n", "function M.take()\n    do return true end\n"),
        ("lua/servers.lua", "server.busy + 1 <= server.room", "true"),
    ];
    let words = one_server_hangs(&slots_off).await.expect_err("the test sees nothing");
    assert!(words.contains("with room for"), "{words}");
}

/// All slots are shared by all servers, so that one of them can take all.
#[tokio::test(flavor = "multi_thread")]
async fn planted_slots_of_all_servers_together_are_caught() {
    let shared = [("lua/servers.lua", "server.busy + 1 <= server.room", "true")];
    let words = one_server_hangs(&shared).await.expect_err("the test sees nothing");
    assert!(words.contains("with room for"), "{words}");
}

/// Those beyond the room of the server wait at the gateway: some until there is room, the others for a quarter of
/// a second. And further ones not at all.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_at_the_gateway_is_short() {
    let (redis, upstream) = (OwnRedis::start(), SlowUpstream::start(0).await);
    let gate = gateway(&[&upstream], &redis, &[]);
    let first = tokio::spawn({
        let gate = gate.clone();
        async move { at_once(&gate, ROOM).await }
    });
    while upstream.waiting() < ROOM {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    let beyond = at_once(&gate, 3 * ROOM).await;
    assert!(beyond.iter().all(|one| one.0 == 503), "{beyond:?}");
    let waited = beyond.iter().filter(|one| one.2 >= Duration::from_millis(240)).count();
    assert_eq!(waited, ROOM, "as many wait as are at the server: {beyond:?}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(upstream.reached.load(SeqCst), ROOM, "nobody else reached the server");

    let second = tokio::spawn({
        let gate = gate.clone();
        async move { at_once(&gate, ROOM).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    upstream.pass.add_permits(1_000);
    for fared in [first.await.unwrap(), second.await.unwrap()] {
        assert!(fared.iter().all(|one| one.0 == 200), "{fared:?}");
    }
    assert_eq!(at_once(&gate, ROOM).await.iter().filter(|one| one.0 == 200).count(), ROOM, "every slot came back");
}

async fn servers_say_they_are_full(planted: &[GatewayBug<'_>]) -> Result<(), String> {
    let (redis, upstream) = (OwnRedis::start(), SlowUpstream::start(1_000_000).await);
    let gate = gateway(&[&upstream], &redis, planted);
    upstream.full.store(true, SeqCst);
    let (mut client, began, mut waits) = (gate.client(), Instant::now(), Vec::new());
    for i in 0..500 {
        let told = client.reserve(1, &format!("u{i}")).await;
        ensure!(told.status == 503, "{}", told.text());
        waits.push(told.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok()).unwrap_or(0));
    }
    let (reached, took) = (upstream.reached.load(SeqCst), began.elapsed());
    println!("{reached} of 500 reached the server in {took:?}");
    // One every tenth of a second asks anew.
    ensure!(reached as u128 <= 2 + took.as_millis() / 90, "{reached} of 500 reached the full server in {took:?}");
    ensure!(waits.iter().all(|wait| (6..=10).contains(wait)), "8 s and a quarter to either side: {waits:?}");
    upstream.full.store(false, SeqCst);
    let began = Instant::now();
    while client.reserve(1, "later").await.status != 200 {
        ensure!(began.elapsed() < Duration::from_secs(2), "not asked again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn full_servers_are_spared() {
    servers_say_they_are_full(&[]).await.unwrap();
}

/// Servers that say that they are full get fewer requests, and more again with every answer.
async fn room_follows_the_server(planted: &[GatewayBug<'_>]) -> Result<(), String> {
    let (redis, upstream) = (OwnRedis::start(), SlowUpstream::start(0).await);
    let gate = gateway(&[&upstream], &redis, planted);
    upstream.full.store(true, SeqCst);
    let first = tokio::spawn({
        let gate = gate.clone();
        async move { at_once(&gate, ROOM).await }
    });
    while upstream.waiting() < ROOM {
        tokio::task::yield_now().await;
    }
    upstream.pass.add_permits(ROOM);
    ensure!(first.await.unwrap().iter().all(|one| one.0 == 503), "a full server refuses");
    upstream.full.store(false, SeqCst);
    // It counts as full for a moment.
    tokio::time::sleep(Duration::from_millis(150)).await;
    upstream.most.store(0, SeqCst);
    let second = tokio::spawn({
        let gate = gate.clone();
        async move { at_once(&gate, 2 * ROOM).await }
    });
    while upstream.waiting() < ROOM - 1 {
        ensure!(!second.is_finished(), "nobody waits at the server");
        tokio::task::yield_now().await;
    }
    // All that may come have come when the first of the others were refused, or have waited in vain.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let most = upstream.most.load(SeqCst);
    upstream.pass.add_permits(1_000_000);
    second.await.unwrap();
    ensure!(most < ROOM, "{most} were sent to a server that was full with {ROOM}");
    let mut client = gate.client();
    for i in 0..200 {
        ensure!(client.reserve(1, &format!("more{i}")).await.status == 200, "the server has room");
    }
    upstream.most.store(0, SeqCst);
    at_once(&gate, 2 * ROOM).await;
    let most = upstream.most.load(SeqCst);
    ensure!(most <= ROOM, "{most} were sent to a server with room for {ROOM}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn full_server_gets_fewer_requests() {
    room_follows_the_server(&[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_constant_room_is_caught() {
    let constant =
        [("lua/servers.lua", "server.room = max(server.busy * LESS, LEAST)", "server.room = settings.server_requests")];
    let words = room_follows_the_server(&constant).await.expect_err("the test sees nothing");
    assert!(words.contains("that was full with"), "{words}");
}

/// `Retry-After` grows with the number of those who were told to come again.
#[tokio::test(flavor = "multi_thread")]
async fn refused_are_spread_over_the_time_that_serving_them_takes() {
    let (redis, upstream) = (OwnRedis::start(), SlowUpstream::start(0).await);
    let gate = gateway(&[&upstream], &redis, &[]);
    let first = tokio::spawn({
        let gate = gate.clone();
        async move { at_once(&gate, 2 * ROOM).await }
    });
    while upstream.waiting() < ROOM {
        tokio::task::yield_now().await;
    }
    // At 200 a second, which is assumed while less is measured, 2,000 take ten seconds.
    let mut told: Vec<u64> = Vec::new();
    for _ in 0..20 {
        let refused = at_once(&gate, 100).await;
        assert!(refused.iter().all(|one| one.0 == 503), "{refused:?}");
        told.extend(refused.iter().map(|one| one.1.unwrap()));
    }
    upstream.pass.add_permits(1_000_000);
    first.await.unwrap();
    let (early, late) = (&told[..100], &told[1_900..]);
    let most = |waits: &[u64]| waits.iter().copied().max().unwrap();
    assert!(most(early) <= 3, "{early:?}");
    assert!(most(late) > most(early) && most(late) <= 30, "{early:?}, then {late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_deafness_to_full_servers_is_caught() {
    let deaf = [("lua/gateway.lua", "servers.heard_full(full)", "")];
    let words = servers_say_they_are_full(&deaf).await.expect_err("the test sees nothing");
    assert!(words.contains("reached the full server"), "{words}");
}
