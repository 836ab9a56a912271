//! An honest client beside thousands of slow ones: slowhttptest attacks from 127.0.0.1, and somebody else asks.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

/// Attackers have 127.0.0.1; this is somebody else.
const HONEST: [u8; 4] = [127, 0, 0, 2];

/// One request on a connection of its own. Its status; 0 without a response in five seconds.
pub async fn ask(server: SocketAddr) -> u16 {
    let exchange = async {
        let socket = TcpSocket::new_v4()?;
        socket.bind((HONEST, 0).into())?;
        let mut stream = socket.connect(server).await?;
        stream.write_all(b"GET /api/v1/seats/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    match tokio::time::timeout(Duration::from_secs(5), exchange).await {
        Ok(Ok(answer)) => answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0),
        _ => 0,
    }
}

/// Asks every 10 ms for that long. The 99th percentile, and how many were not served.
async fn honest(server: SocketAddr, time: Duration) -> (Duration, usize) {
    let (began, mut took, mut failed) = (Instant::now(), Vec::new(), 0);
    while began.elapsed() < time {
        let asked = Instant::now();
        failed += usize::from(ask(server).await != 200);
        took.push(asked.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    took.sort_unstable();
    (took[took.len() * 99 / 100], failed)
}

/// slowhttptest, which ends with the test.
struct Attack(Child);

impl Attack {
    fn start(server: SocketAddr, path: &str, arguments: &[&str]) -> Attack {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "slowhttptest", "-u", &format!("http://{server}{path}")]);
        command.args(["-r", "1500", "-l", "9", "-p", "3"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Attack(command.spawn().expect("setpriv; scripts/install-services.sh installs slowhttptest"))
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The honest client's 99th percentile with and without the attack, on two cores that do all of it: within 20
/// percent, plus 150 ms for the attack's own share of the machine. Everybody is served.
pub async fn served_beside(server: SocketAddr, path: &str, arguments: &[&str]) {
    let (quiet, failed) = honest(server, Duration::from_secs(2)).await;
    assert_eq!(failed, 0);
    let attack = Attack::start(server, path, arguments);
    let (beside, failed) = honest(server, Duration::from_secs(9)).await;
    drop(attack);
    println!("{arguments:?}: p99 {quiet:?}, beside the attack {beside:?}, {failed} failed");
    assert_eq!(failed, 0, "not served beside {arguments:?}");
    let most = quiet.mul_f64(1.2) + Duration::from_millis(150);
    assert!(beside < most, "p99 {beside:?} beside {arguments:?}, {quiet:?} without");
}
