//! The crowd in a box: a good server passes, and every planted fault makes it fail loudly.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use stores::conformance::broken::{LedgerBug, broken};
use testing::backing::{Backing, TestStores};
use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};
use testing::server::TestServer;

/// How a rush ended, and what it printed.
struct Rush {
    code: Option<i32>,
    out: String,
    complaint: String,
}

impl Rush {
    fn of(output: Output) -> Rush {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Rush { code: output.status.code(), out: text(&output.stdout), complaint: text(&output.stderr) }
    }

    fn figures(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}{}", self.out, self.complaint))
    }
}

fn command(address: std::net::SocketAddr, token: &str, arguments: &[&str]) -> Command {
    let mut command = binary();
    command.args(["rush", &format!("http://{address}"), "--json"]).args(arguments).env("ADMIN_TOKEN", token);
    command
}

async fn run(mut command: Command) -> Rush {
    Rush::of(tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
}

async fn verify(data: &Path) -> Rush {
    let mut command = binary();
    command.arg("verify").env("DATA_DIR", data);
    run(command).await
}

/// 20,000 people, 1,000 seats, double clicks and lost answers; the ledger is looked at all along.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_rush_of_20000_for_1000_seats() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let arguments = ["--buyers", "20000", "--seats", "1000", "--rate", "1200"];
    let rush = tokio::spawn(run(command(process.address, &process.admin_token(), &arguments)));
    let (mut looks, mut in_the_middle) = (0, false);
    while !rush.is_finished() {
        let seen = verify(folder.path()).await;
        assert_eq!(seen.code, Some(0), "while it runs: {}{}", seen.out, seen.complaint);
        looks += 1;
        in_the_middle |= (1..1_000).any(|sold| seen.out.contains(&format!(" events, {sold} reservations")));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let rush = rush.await.unwrap();
    let figures = rush.figures();
    assert_eq!(rush.code, Some(0), "{}{}", rush.out, rush.complaint);
    for (name, expected) in [("sold", 1_000), ("soldTwice", 0), ("lost", 0), ("unexplained", 0), ("orderBroken", 0)] {
        assert_eq!(figures[name], expected, "{name}: {figures}");
    }
    assert_eq!(figures["notInContract"], 0, "{figures}");
    assert_eq!(figures["comparedWithServer"], true);
    assert!(figures["offered"].as_u64().unwrap() > 20_500, "double clicks and lost answers: {figures}");
    assert!(looks > 5 && in_the_middle, "the sale was verified {looks} times, in the middle: {in_the_middle}");
    let settled = verify(folder.path()).await;
    assert!(settled.code == Some(0) && settled.out.contains("1,000 reservations"), "{}", settled.out);
    println!("verified {looks} times while it ran; {}", rush.out.trim());
}

/// The same crowd, at two servers on PostgreSQL and Redis.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_rush_of_20000_at_two_servers() {
    let stores = Arc::new(TestStores::new(Backing::Redis).await);
    let (one, two) = (TestServer::at(stores.clone(), &[]).await, TestServer::at(stores.clone(), &[]).await);
    let event = one.event(1_000, 1).await.to_string();
    let buyers = ["--event", &event, "--buyers", "10000", "--rate", "700"];
    let rush = |stand: &TestServer| run(command(stand.address, &stand.app.admin_token, &buyers));
    let (first, second) = tokio::join!(rush(&one), rush(&two));
    let mut sold = 0;
    for rush in [first, second] {
        assert_eq!(rush.code, Some(0), "{}{}", rush.out, rush.complaint);
        let figures = rush.figures();
        for name in ["soldTwice", "lost", "unexplained", "orderBroken", "notInContract"] {
            assert_eq!(figures[name], 0, "{name}: {figures}");
        }
        sold += figures["sold"].as_u64().unwrap();
    }
    assert_eq!(sold, 1_000);
    // Reading needs no ADMIN_TOKEN.
    let mut looks = binary();
    looks.arg("verify").env("DATABASE_URL", &stores.database().url);
    let settled = run(looks).await;
    assert!(
        settled.code == Some(0) && settled.out.contains("1,000 reservations"),
        "{}{}",
        settled.out,
        settled.complaint
    );
}

/// Seats come back in the middle of it, and the ledger stays whole.
#[tokio::test(flavor = "multi_thread")]
async fn rush_with_cancellations_holds() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let arguments = ["--buyers", "600", "--seats", "100", "--rate", "300", "--cancel", "40"];
    let rush = run(command(process.address, &process.admin_token(), &arguments)).await;
    assert_eq!(rush.code, Some(0), "{}{}", rush.out, rush.complaint);
    let figures = rush.figures();
    assert!(figures["outcomes"]["cancelled"].as_u64().unwrap() > 20, "{figures}");
    assert!(figures["outcomes"]["reserved"].as_u64().unwrap() > 120, "{figures}");
    let settled = verify(folder.path()).await;
    assert_eq!(settled.code, Some(0), "{}", settled.out);
}

/// Arrivals do not wait for answers: a server that stands still for a second shows it, where a
/// generator that waits would have asked less in the meantime.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_suspended_second_shows_in_p99() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let token = process.admin_token();
    let arguments = ["--buyers", "2400", "--seats", "3000", "--rate", "400", "--ramp", "0"];
    let p99 = |rush: &Rush| rush.figures()["latencyMs"]["p99"].as_f64().unwrap();
    let calm = run(command(process.address, &token, &arguments)).await;
    let rush = tokio::spawn(run(command(process.address, &token, &arguments)));
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    process.signal("STOP");
    let stopped = Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    process.signal("CONT");
    let stood_ms = stopped.elapsed().as_secs_f64() * 1000.0;
    let frozen = rush.await.unwrap();
    assert_eq!((calm.code, frozen.code), (Some(0), Some(0)), "{}{}", frozen.out, frozen.complaint);
    let (calm, frozen) = (p99(&calm), p99(&frozen));
    println!("p99 {calm:.1} ms, with a pause of {stood_ms:.0} ms {frozen:.1} ms");
    assert!(calm < 300.0, "p99 of a calm server: {calm} ms");
    assert!(frozen > 800.0 && frozen > calm + 500.0, "p99 of a frozen one: {frozen} ms");
}

async fn against(bug: LedgerBug, arguments: &[&str]) -> Rush {
    let stand = TestServer::bent(&[], |good| broken(bug, good)).await;
    let rush = run(command(stand.address, &stand.app.admin_token, arguments)).await;
    assert_eq!(rush.code, Some(3), "{bug:?} went unnoticed: {}{}", rush.out, rush.complaint);
    assert!(rush.complaint.contains("what people were told is not what happened"), "{}", rush.complaint);
    assert_eq!(rush.figures()["holds"], false);
    rush
}

#[tokio::test(flavor = "multi_thread")]
async fn double_sale_is_noticed() {
    let rush = against(LedgerBug::SellsTwice, &["--buyers", "120", "--seats", "50", "--rate", "400"]).await;
    assert!(rush.figures()["soldTwice"].as_u64().unwrap() > 0, "{}", rush.out);
}

/// One at a time, because this fault strikes batches of one.
#[tokio::test(flavor = "multi_thread")]
async fn lost_acknowledgement_is_noticed() {
    let calm = ["--double-click", "0", "--lost-answers", "0"];
    let arguments = [&["--buyers", "200", "--seats", "500", "--rate", "200"][..], &calm].concat();
    let rush = against(LedgerBug::AcknowledgesTooEarly, &arguments).await;
    assert!(rush.figures()["lost"].as_u64().unwrap() > 0, "{}", rush.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_cancellation_and_reversed_order_are_noticed() {
    let arguments = ["--buyers", "200", "--seats", "500", "--rate", "400", "--cancel", "50"];
    let rush = against(LedgerBug::KeepsCancelledSeats, &arguments).await;
    assert!(rush.figures()["unexplained"].as_u64().unwrap() > 0, "{}", rush.out);
    let arguments = ["--buyers", "200", "--seats", "500", "--rate", "400"];
    let rush = against(LedgerBug::ServesTheLastFirst, &arguments).await;
    assert!(rush.figures()["orderBroken"].as_u64().unwrap() > 0, "{}", rush.out);
}

/// A number of a generation that the ledger does not know, in an event beside: only the audit sees it.
#[tokio::test(flavor = "multi_thread")]
async fn broken_invariant_of_the_ledger_is_noticed() {
    let stand = TestServer::on(Backing::Embedded, &[]).await;
    assert_eq!(stand.client().reserve(1, "alice").await.status, 200);
    let arguments = ["--buyers", "20", "--seats", "50", "--rate", "200"];
    let good = run(command(stand.address, &stand.app.admin_token, &arguments)).await;
    assert_eq!((good.code, &good.figures()["invariantsBroken"]), (Some(0), &Value::from(0)), "{}", good.out);
    let file = stores::ledger::sqlite::database_in(stand.stores.folder());
    let tampered = "DROP TRIGGER history_no_update;
        UPDATE history SET number = number + 3000000000 WHERE event = 1 AND number IS NOT NULL";
    rusqlite::Connection::open(file).unwrap().execute_batch(tampered).unwrap();
    let rush = run(command(stand.address, &stand.app.admin_token, &arguments)).await;
    // The number itself, and the hash of the row that was altered.
    assert_eq!((rush.code, &rush.figures()["invariantsBroken"]), (Some(3), &Value::from(2)), "{}", rush.out);
}

#[test]
fn rush_refuses_targets_off_loopback() {
    for url in ["http://192.0.2.1:5800", "http://10.0.0.1", "http://[2001:db8::1]:5800", "http://0.0.0.0:5800"] {
        let began = Instant::now();
        let rush = Rush::of(binary().args(["rush", url]).output().unwrap());
        assert_eq!(rush.code, Some(2), "{url}: {}", rush.out);
        assert!(rush.complaint.contains("--i-own-this-host"), "{}", rush.complaint);
        assert!(began.elapsed() < Duration::from_secs(2), "refused before anything was sent");
    }
}

#[test]
fn bad_arguments_are_refused() {
    let refused = [
        (&["--rate", "0"][..], "--rate"),
        (&["--cancel", "101"], "--cancel"),
        (&["--double-click=-1"], "--double-click"),
        (&["--seats", "5", "--event", "1"], "--event"),
        (&["--buyers", "0"], "--buyers"),
    ];
    for (arguments, named) in refused {
        let rush = Rush::of(binary().arg("rush").args(arguments).output().unwrap());
        assert_eq!(rush.code, Some(2), "{arguments:?}");
        assert!(rush.complaint.contains(named), "{arguments:?}: {}", rush.complaint);
    }
    let rush = Rush::of(binary().args(["rush", "http://127.0.0.1:1", "--event", "1"]).output().unwrap());
    assert!(rush.code == Some(2) && rush.complaint.contains("cannot be reached"), "{}", rush.complaint);
    for command in ["rush", "verify"] {
        let help = Rush::of(binary().args([command, "--help"]).output().unwrap());
        assert!(help.code == Some(0) && help.out.contains("Usage: tickettock"), "{}", help.out);
    }
    let help = Rush::of(binary().args(["rush", "--help"]).output().unwrap()).out;
    for option in ["--buyers", "--seats", "--event", "--rate", "--ramp", "--duration", "--double-click"] {
        assert!(help.contains(option), "{option}: {help}");
    }
    for option in ["--lost-answers", "--cancel", "--json", "--html", "--i-own-this-host", "Examples:"] {
        assert!(help.contains(option), "{option}: {help}");
    }
}

/// A soak by time on an event that is there, with the table for people and the page to be mailed.
#[tokio::test(flavor = "multi_thread")]
async fn soak_prints_a_table_and_writes_a_page() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("FCFS_SEATS", "30")]).await;
    let page = folder.path().join("rush.html");
    let mut command = binary();
    command.args(["rush", &format!("http://{}", process.address), "--event", "1", "--duration", "2"]);
    command.args(["--rate", "100", "--html"]).arg(&page).env("DATA_DIR", folder.path());
    let rush = run(command).await;
    assert_eq!(rush.code, Some(0), "{}{}", rush.out, rush.complaint);
    for word in ["offered", "answered", "p50", "p99.9", "sold twice", "30 sold, 0 sold twice, 0 lost"] {
        assert!(rush.out.contains(word), "{word}: {}", rush.out);
    }
    let page = std::fs::read_to_string(page).unwrap();
    // How it looks, and that it loads nothing, is seen in a browser (`web/tests/report.test.mjs`).
    assert!(page.contains("<p>30 sold, 0 sold twice, 0 lost"), "for a reader without JavaScript");
    let (_, data) = page.split_once("id=\"rush\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(data["timeline"]["sold"].as_array().and_then(|sold| sold.last()), Some(&Value::from(30)));
    for (outcome, total) in data["report"]["outcomes"].as_object().unwrap() {
        let slices = data["timeline"]["outcomes"][outcome].as_array().unwrap();
        assert_eq!(slices.iter().filter_map(Value::as_u64).sum::<u64>(), total.as_u64().unwrap(), "{outcome}");
    }
}

/// Without the admin's token answers are compared with answers only, and it says so.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_admin_token_only_answers_are_compared() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let mut command = binary();
    command.args(["rush", &format!("http://{}", process.address), "--event", "1", "--buyers", "20", "--rate", "200"]);
    command.current_dir(folder.path());
    let rush = run(command).await;
    assert_eq!(rush.code, Some(0), "{}{}", rush.out, rush.complaint);
    assert!(rush.out.contains("9 sold, 0 sold twice, 0 lost"), "{}", rush.out);
    assert!(rush.out.contains("without ADMIN_TOKEN only the answers were compared"), "{}", rush.out);
}

/// In an event with a waiting room the buyers wait in line: never more live entries than allowed, and the
/// line answers the rest.
#[tokio::test(flavor = "multi_thread")]
async fn rush_waits_in_line() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let arguments = ["--buyers", "500", "--seats", "200", "--rate", "500", "--waiting-room", "20"];
    let rush = run(command(process.address, &process.admin_token(), &arguments)).await;
    let figures = rush.figures();
    assert_eq!(rush.code, Some(0), "{figures}{}", rush.complaint);
    assert_eq!((&figures["sold"], &figures["notInContract"]), (&200.into(), &0.into()), "{figures}");
    let told = figures["outcomes"]["sold_out"].as_u64().unwrap();
    assert!(told >= 300, "{figures}");
    let verified = verify(folder.path()).await;
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.complaint);
    assert!(verified.out.contains("ok      never more inside than allowed"), "{}", verified.out);
}

/// Ctrl-C ends the arrivals; those who asked get their answer, and the figures and the proof are printed.
#[tokio::test(flavor = "multi_thread")]
async fn interrupted_rush_keeps_its_figures() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let mut started = command(process.address, &process.admin_token(), &["--duration", "600", "--rate", "200"]);
    let rush = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut client = process.client();
    let began = Instant::now();
    let none = "{outcome=\"reserved\",operation=\"reserve\"} 0";
    while client.get("/metrics").await.text().contains(none) {
        assert!(began.elapsed() < Duration::from_secs(30), "nobody buys");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let interrupted = Command::new("kill").args(["-INT", &rush.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let ended = tokio::task::spawn_blocking(move || rush.wait_with_output().unwrap());
    let ended = Rush::of(tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap().unwrap());
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.complaint);
    let figures = ended.figures();
    assert!(figures["sold"].as_u64().unwrap() > 0 && figures["comparedWithServer"] == true, "{figures}");
}
