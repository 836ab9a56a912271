//! More people than the gateway can serve: it lets in as many as it serves soon, and the kernel drops the others.
//! Whoever is dropped stays dropped, so few of those who are served had to wait for a repeated attempt, or for long.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stores::ensure;
use testing::gateway::{GatewayBug, TestGateway};
use testing::http::TestClient;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request takes a worker 2 ms, so that it serves less than 500 a second; and a backlog of its own size.
const SLOW: [GatewayBug<'static>; 2] = [
    (
        "lua/gateway.lua",
        "function M.handle()\n",
        "function M.handle()\n    local t = os.clock() + 0.002\n    while os.clock() < t do end\n",
    ),
    ("nginx.conf", "backlog=4096", "backlog=512"),
];
const BACKLOG: u32 = 512;
/// People who come in a second.
const COMING: u64 = 2_500;
const CROWD: Duration = Duration::from_secs(5);
/// Who needs so long to connect came in with a repeated attempt.
const LATE: Duration = Duration::from_millis(900);

struct Sifted {
    gate: Arc<TestGateway>,
    metrics: SocketAddr,
}

impl Sifted {
    fn start(planted: &[GatewayBug<'_>]) -> Sifted {
        let metrics = SocketAddr::from(([127, 0, 0, 1], testing::free_port()));
        let settings = [
            ("GATEWAY_WORKERS", "1"),
            ("GATEWAY_ADDRESS_RATE", "0"),
            ("GATEWAY_ADDRESS_CONNECTIONS", "0"),
            ("GATEWAY_METRICS_LISTEN", &metrics.to_string()),
            // Nobody gets so far.
            ("REDIS_URL", "redis://127.0.0.1:1"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let bugs: Vec<GatewayBug<'_>> = SLOW.iter().chain(planted).copied().collect();
        Sifted { gate: Arc::new(TestGateway::planted(&[([127, 0, 0, 1], 1).into()], &settings, &bugs)), metrics }
    }

    /// The share of new connections that are let in.
    async fn share(&self) -> f64 {
        let text = TestClient::new(self.metrics).get("/metrics").await.text();
        let line = text.lines().find_map(|line| line.strip_prefix("tickettock_gateway_let_in_ratio "));
        line.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
    }

    /// How those fared who were answered.
    async fn crowd(&self) -> Vec<Answered> {
        let (address, began) = (self.gate.address(), Instant::now());
        let (mut asking, mut came) = (Vec::new(), 0);
        while began.elapsed() < CROWD {
            while came < began.elapsed().as_millis() as u64 * COMING / 1_000 {
                came += 1;
                asking.push(tokio::spawn(async move {
                    tokio::time::timeout(CROWD - began.elapsed().min(CROWD), ask(address)).await.ok().flatten()
                }));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut fared = Vec::new();
        for one in asking {
            fared.extend(one.await.unwrap());
        }
        fared
    }
}

struct Answered {
    came: Instant,
    /// How long it took.
    connecting: Duration,
    /// After that, until the answer was there.
    waiting: Duration,
}

/// A connection of one's own, and an answer that needs no server.
async fn ask(address: SocketAddr) -> Option<Answered> {
    let came = Instant::now();
    let mut stream = TcpStream::connect(address).await.ok()?;
    let connecting = came.elapsed();
    let request = "POST /fcfs/join HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    answer.starts_with(b"HTTP/1.1 415").then(|| Answered { came, connecting, waiting: came.elapsed() - connecting })
}

async fn crowd_is_sifted(planted: &[GatewayBug<'_>]) -> Result<(), String> {
    let sifted = Sifted::start(planted);
    ensure!(sifted.share().await == 1.0, "everybody is let in at first");
    let began = Instant::now();
    let (fared, share) = tokio::join!(sifted.crowd(), async {
        tokio::time::sleep(CROWD - Duration::from_secs(1)).await;
        // Whoever asks at this port is not dropped.
        for _ in 0..5 {
            let began = Instant::now();
            TestClient::new(sifted.metrics).get("/livez").await;
            ensure!(began.elapsed() < LATE, "a probe took {:?}", began.elapsed());
        }
        Ok(sifted.share().await)
    });
    let share = share?;
    let late = fared.iter().filter(|one| one.connecting >= LATE).count();
    let known = fared.iter().filter(|one| one.came - began >= CROWD / 2);
    let mut waiting: Vec<Duration> = known.map(|one| one.waiting).collect();
    waiting.sort();
    let usual = waiting.get(waiting.len() / 2).copied().unwrap_or_default();
    println!("{} of {} answered, {late} late, after {usual:?}; {share} let in", fared.len(), CROWD.as_secs() * COMING);
    ensure!(fared.len() >= 300, "{} were answered", fared.len());
    ensure!(late * 10 <= fared.len(), "{late} of {} needed another attempt to connect", fared.len());
    // Beside other work a worker serves fewer, and everything takes longer.
    let full = CROWD * BACKLOG / fared.len() as u32;
    ensure!(
        usual < full.mul_f64(0.9),
        "people waited {usual:?} when the share was known, a full backlog takes {full:?}"
    );
    ensure!(share < 0.6, "{share} are let in of a crowd of five times what is served");
    // Those who still try to connect have left.
    let calm = Instant::now();
    while sifted.share().await < 1.0 {
        ensure!(calm.elapsed() < Duration::from_secs(10), "not everybody is let in after the crowd");
        let _ = tokio::time::timeout(LATE, ask(sifted.gate.address())).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_crowd_is_sifted() {
    crowd_is_sifted(&[]).await.unwrap();
}

/// The share is known, and everybody is sent to the listener.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_planted_crowd_without_a_wall_is_caught() {
    let open = [("lua/listener.lua", "{ RETURN, 0, 0, WALL }", "{ RETURN, 0, 0, LISTENER }")];
    let words = crowd_is_sifted(&open).await.expect_err("the test sees nothing");
    assert!(words.contains("people waited"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_planted_share_that_never_grows_is_caught() {
    let stuck = [
        ("lua/sieve.lua", "return huge end", "return nil end"),
        ("lua/sieve.lua", "sieve.share * more", "sieve.share * 0"),
        ("lua/sieve.lua", "1.03", "1"),
    ];
    let words = crowd_is_sifted(&stuck).await.expect_err("the test sees nothing");
    assert!(words.contains("after the crowd"), "{words}");
}

/// The kernel's program is late: the wall has none until the test says so.
const LATE_PROGRAM: GatewayBug<'static> = (
    "lua/listener.lua",
    "or C.listen(wall, WALL_BACKLOG) ~= 0 or not",
    "or C.listen(wall, WALL_BACKLOG) ~= 0 or ngx.wait_here() or not",
);
const WAIT_HERE: GatewayBug<'static> = (
    "lua/listener.lua",
    "local M = { ALL = 65536 }\n",
    "local M = { ALL = 65536 }\nfunction ngx.wait_here()
    local folder = settings.scripts .. \"/../\"
    io.open(folder .. \"no-program\", \"w\"):close()
    local go
    repeat go = io.open(folder .. \"program\") until go
    go:close()
end\n",
);

/// Everybody who comes while the wall goes up is answered.
async fn nobody_is_lost_at_the_start(planted: &[GatewayBug<'_>]) -> Result<(), String> {
    let bugs: Vec<GatewayBug<'_>> = [LATE_PROGRAM, WAIT_HERE].iter().chain(planted).copied().collect();
    let sifted = Sifted::start(&bugs);
    let (address, folder) = (sifted.gate.address(), sifted.gate.nginx().path());
    let began = Instant::now();
    while !folder.join("no-program").exists() {
        ensure!(began.elapsed() < Duration::from_secs(20), "no wall goes up: {}", sifted.gate.nginx().log());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The first attempts of all of them meet a wall without a program.
    let coming: Vec<_> = (0..20).map(|_| tokio::spawn(ask(address))).collect();
    tokio::time::sleep(LATE / 3).await;
    std::fs::write(folder.join("program"), "").unwrap();
    let mut waited = 0;
    for one in coming {
        let answered = one.await.unwrap();
        ensure!(answered.is_some(), "somebody got no answer");
        waited += usize::from(answered.is_some_and(|one| one.connecting >= LATE));
    }
    ensure!(waited > 0, "nobody came while the wall had no program: this tries nothing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_lost_while_the_wall_goes_up() {
    nobody_is_lost_at_the_start(&[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_wall_that_takes_people_is_caught() {
    let hears = [("lua/listener.lua", "hear_from(HOPS_MOST)", "hear_from(0)")];
    let words = nobody_is_lost_at_the_start(&hears).await.expect_err("the test sees nothing");
    assert!(words.contains("got no answer"), "{words}");
}

/// A reload puts another wall up before the old one is down. Nobody is sent to either.
#[tokio::test(flavor = "multi_thread")]
async fn everybody_gets_in_after_reloads() {
    let sifted = Sifted::start(&[]);
    for _ in 0..3 {
        sifted.gate.nginx().reload();
        for _ in 0..40 {
            let Answered { connecting, .. } = ask(sifted.gate.address()).await.expect("an answer");
            assert!(connecting < LATE, "{connecting:?}");
        }
    }
    assert!(!sifted.gate.nginx().log().contains("cannot be dropped"), "{}", sifted.gate.nginx().log());
}

/// The port is the gateway's, although two listeners have it.
#[tokio::test]
async fn port_is_taken_for_others() {
    let sifted = Sifted::start(&[]);
    let other = std::net::TcpListener::bind(sifted.gate.address());
    assert_eq!(other.map_err(|error| error.kind()).err(), Some(std::io::ErrorKind::AddrInUse));
}
