//! The guides, each typed as printed in a fresh folder; every path of the API has a `curl` on some page, every reason
//! its advice, and no page with commands is forgotten.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

use super::terminal::{Terminal, blocks, page, reasons};

/// Types pages against a server with these settings, in a fresh folder. Returns everything that was printed.
async fn typed(folder: &TestFolder, process: &ServerProcess, pages: &[&str]) -> String {
    let mut terminal = Terminal::default();
    pages.iter().for_each(|file| terminal.read(&page(file)));
    assert!(terminal.steps > 0, "{pages:?}");
    terminal.run(process, folder.path()).await;
    terminal.compared(folder.path())
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_api_guide_runs_as_printed() {
    let folder = TestFolder::new("documents");
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &[]).await;
    let said = typed(&folder, &process, &["docs/guides/api.md"]).await;
    let mut refused = reasons(&said);
    // What people gave as theirs stands in the history.
    refused.retain(|reason| !["cannot come", "refunded"].contains(reason));
    assert_eq!(refused, ["seat_taken"], "{said}");
    assert!(said.contains("event: snapshot") && !said.contains("null\n"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_guides_run_as_printed() {
    let folder = TestFolder::new("documents");
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &[]).await;
    let pages = ["docs/guides/clients.md", "docs/guides/security.md", "docs/guides/faq.md"];
    let said = typed(&folder, &process, &pages).await;
    assert_eq!(reasons(&said), ["forbidden"], "{said}");
    for wanted in ["304\n", "401\n", "\"what\":\"refused\"", "50 sold, 0 sold twice, 0 lost"] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_hotel_guide_runs_as_printed() {
    let folder = TestFolder::new("documents");
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &[]).await;
    let said = typed(&folder, &process, &["docs/guides/hotel.md"]).await;
    let mut refused = reasons(&said);
    refused.retain(|reason| *reason != "flight was cancelled");
    assert_eq!(refused, ["not_available", "in_use"], "{said}");
    assert!(said.contains("\"leastQuantity\":2") && said.contains("\"userId\":\"lee/2\""), "{said}");
}

/// Waits until there is a file whose name begins so.
async fn until_there(folder: &Path, begins: &str) {
    let began = Instant::now();
    let there = || {
        let mut files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .any(|file| file.file_name().to_str().is_some_and(|name| name.starts_with(begins) && name.ends_with(".db")))
    };
    while !there() {
        assert!(began.elapsed() < Duration::from_secs(60), "no {begins} in {folder:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_backups_run_as_printed() {
    let folder = TestFolder::new("documents");
    let (second, backups) = (folder.path().join("second"), folder.path().join("backups"));
    let settings = [("REPLICATE_TO", second.to_str().unwrap()), ("BACKUP_DIR", backups.to_str().unwrap())];
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &settings).await;
    assert_eq!(process.client().reserve(1, "alice").await.status, 200);
    until_there(&second, "tickettock-replica-").await;
    until_there(&backups, "tickettock-").await;
    let said = typed(&folder, &process, &["docs/backups.md"]).await;
    assert!(said.contains("1 reservations"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_signing_in_runs_as_printed() {
    let folder = TestFolder::new("documents");
    let secret = "0123456789abcdef0123456789abcdef";
    let identity = [("AUTH_MODE", "jwt"), ("JWT_SECRET", secret)];
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &identity).await;
    let mut terminal = Terminal::default();
    terminal.read(&page("docs/signing-in.md"));
    let url = format!("http://{}", process.address);
    terminal.typed(folder.path(), &[("http://127.0.0.1:5800", &url)], &identity).await;
    let said = terminal.compared(folder.path());
    assert!(said.contains("\"success\":true") && reasons(&said).is_empty(), "{said}");
}

/// With the receiver that the page brings, on a port that is free here.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_webhooks_run_as_printed() {
    let folder = TestFolder::new("documents");
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &[("WEBHOOK_PRIVATE", "1")]).await;
    let mut terminal = Terminal::default();
    terminal.read(&page("docs/webhooks.md"));
    let (url, listen) = (format!("http://{}", process.address), testing::free_port().to_string());
    let (target, bound) = (format!("127.0.0.1:{listen}"), format!("(\"127.0.0.1\", {listen})"));
    let replaced = [
        ("http://127.0.0.1:5800", url.as_str()),
        ("127.0.0.1:9000", &target),
        ("(\"127.0.0.1\", 9000)", &bound),
        // It ends with the shell, also if a step fails.
        ("python3 receiver.py", "setpriv --pdeathsig KILL -- python3 receiver.py"),
    ];
    let port = process.address.port().to_string();
    terminal.typed(folder.path(), &replaced, &[("APP_PORT", &port)]).await;
    let said = terminal.compared(folder.path());
    assert!(said.contains("delivered") && reasons(&said).is_empty(), "{said}");
    let received = std::fs::read_to_string(folder.path().join("received.jsonl")).unwrap();
    for kind in ["webhook.test", "reservation.confirmed"] {
        assert!(received.contains(kind), "{kind}: {received}");
    }
}

/// From the README to a scaled sale through the gateway: `make gateway`, and then what the page prints.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_scaled_sale_runs_as_printed() {
    assert!(page("README.md").contains("`make gateway`"));
    let folder = TestFolder::new("documents");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let [gateway, one, two, postgres, redis] = [(); 5].map(|()| testing::free_port().to_string());
    let mut make = Command::new(root.join("scripts/gateway.sh"));
    for setting in server::settings::SETTINGS {
        make.env_remove(setting.name);
    }
    make.env("BINARY", binary().get_program())
        .env("GATEWAY_PORT", &gateway)
        .env("SERVER_PORTS", format!("{one} {two}"));
    make.env("PG_PORT", &postgres).env("REDIS_PORT", &redis);
    make.env("CLUSTER_PORT", testing::services::three_free_ports().to_string());
    let mut running = make.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let started =
        tokio::task::spawn_blocking(move || lines.any(|line| line.is_ok_and(|line| line.starts_with("Ctrl-C"))));
    let started = tokio::time::timeout(Duration::from_secs(120), started).await;

    let mut terminal = Terminal::default();
    terminal.read(&page("docs/guides/scaling.md"));
    let at = |port: &str| format!("http://127.0.0.1:{port}");
    let ours = [at(&gateway), at(&one), at(&two)];
    let printed = [at("8080"), at("5801"), at("5802")];
    let replaced: Vec<(String, String)> = printed.into_iter().zip(ours).collect();
    let place = folder.path().to_owned();
    let typing = async move {
        let replaced: Vec<(&str, &str)> = replaced.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
        terminal.typed(&place, &replaced, &[]).await;
        terminal.compared(&place)
    };
    // A task of its own: a step that fails panics.
    let typed = match started {
        Ok(Ok(true)) => tokio::spawn(typing).await.map_err(|error| error.to_string()),
        _ => Err("make gateway does not start".to_owned()),
    };
    // It ends before the test does, whatever happened.
    let _ = Command::new("kill").args(["-TERM", &running.id().to_string()]).status();
    running.wait().unwrap();
    let said = typed.unwrap_or_else(|why| panic!("{why}"));
    assert!(reasons(&said).is_empty() && said.contains("300 sold, 0 sold twice, 0 lost"), "{said}");
}

/// The pages that have commands, and who types them.
const TYPED: [&str; 14] = [
    "README.md",
    "docs/backups.md",
    "docs/guides/api.md",
    "docs/guides/clients.md",
    "docs/guides/faq.md",
    "docs/guides/first-five-minutes.md",
    "docs/guides/hotel.md",
    "docs/guides/operators.md",
    "docs/guides/scaling.md",
    "docs/guides/security.md",
    "docs/holds.md",
    "docs/signing-in.md",
    "docs/waiting-room.md",
    "docs/webhooks.md",
];

pub fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let (mut open, mut pages) = (vec![root.join("docs")], vec![PathBuf::from("README.md")]);
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    pages
}

#[test]
fn every_page_with_commands_is_typed() {
    let with_commands: BTreeSet<String> = pages()
        .into_iter()
        .map(|path| path.to_str().unwrap().to_owned())
        // The Korean pages are typed by a test of their own.
        .filter(|path| !path.starts_with("docs/ko/"))
        .filter(|path| blocks(&page(path)).iter().any(|block| block.kind == "sh"))
        .collect();
    let forgotten: Vec<&String> = with_commands.iter().filter(|path| !TYPED.contains(&path.as_str())).collect();
    assert!(forgotten.is_empty(), "no test types {forgotten:?}");
}

/// Whether a line of a page asks for this path. Segments in braces are anything.
fn asks(line: &str, method: &str, path: &str) -> bool {
    let line = line.replace("$API", "http://127.0.0.1:5800/api/v1");
    let said =
        line.split([' ', '"', '\'', ')']).find_map(|word| word.split_once("127.0.0.1:5800").map(|(_, path)| path));
    let Some(said) = said else { return false };
    let said: Vec<&str> = said.split('?').next().unwrap().split('/').collect();
    let wanted: Vec<&str> = path.split('/').collect();
    let fits = |(said, wanted): (&&str, &&str)| said == wanted || (wanted.starts_with('{') && !said.is_empty());
    let alike = said.len() == wanted.len() && said.iter().zip(&wanted).all(fits);
    let posts = line.contains(" -d ") || line.contains("-X POST");
    let method_said = ["DELETE", "PATCH", "PUT"].into_iter().find(|m| line.contains(&format!("-X {m}")));
    alike && method_said.unwrap_or(if posts { "POST" } else { "GET" }) == method
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_has_a_curl() {
    let mut lines = Vec::new();
    for file in TYPED {
        for block in blocks(&page(file)).into_iter().filter(|block| block.kind == "sh") {
            lines.extend(block.text.replace("\\\n", " ").lines().map(str::to_owned));
        }
    }
    let folder = TestFolder::new("documents");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let document = process.client().get("/openapi.json").await.json();
    let mut missing = Vec::new();
    let paths = document["paths"].as_object().unwrap();
    for (path, item) in paths.iter().filter(|(path, _)| path.starts_with("/api/v1/")) {
        for method in item.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            if !lines.iter().any(|line| asks(line, &method, path)) {
                missing.push(format!("{method} {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "no page has a curl for: {missing:#?}");
    assert!(!asks("curl -s $API/events", "POST", "/api/v1/events") && !asks("curl -s $API/x", "GET", "/api/v1/events"));
}

#[test]
fn every_reason_has_its_advice() {
    let outcomes = page("docs/outcomes.md");
    let guide = page("docs/guides/api.md");
    let table = guide.split("## What to do for each reason").nth(1).unwrap();
    let reasons: BTreeSet<&str> = outcomes
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|reason| *reason != "success")
        .collect();
    assert!(reasons.len() > 25);
    let missing: Vec<&&str> = reasons.iter().filter(|reason| !table.contains(&format!("`{reason}`"))).collect();
    assert!(missing.is_empty(), "no advice for {missing:?}");
}

/// The manual's own copy of the first five minutes has the commands and answers of the README, which a test types.
#[test]
fn first_five_minutes_are_those_of_the_readme() {
    let readme = page("README.md");
    let five_minutes = readme.split("## The first five minutes").nth(1).unwrap().split("\n## ").next().unwrap();
    let shown = |text: &str| -> Vec<(String, String)> {
        let all = blocks(text).into_iter().filter(|block| !block.text.starts_with("make "));
        all.map(|block| (block.kind, block.text)).collect()
    };
    let ours = shown(&page("docs/guides/first-five-minutes.md"));
    assert!(ours.len() > 8, "{} blocks", ours.len());
    assert_eq!(ours, shown(five_minutes));
}

/// `make book`, and no link in it leads nowhere.
#[test]
fn manual_builds_without_dead_links() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = |command: &mut Command| {
        let output = command.current_dir(&root).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text)
    };
    let (good, text) = run(&mut Command::new("scripts/book.sh"));
    assert!(good && text.contains("target/book/index.html"), "{text}");
    // And it can fail.
    let folder = TestFolder::new("book");
    std::fs::write(folder.path().join("a.html"), r##"<a href="b.html">b</a> <a href="#there">a</a>"##).unwrap();
    let (good, text) = run(Command::new("python3").arg("scripts/book-links.py").arg(folder.path()));
    assert!(!good && text.contains("b.html leads nowhere") && text.contains("#there: no such heading"), "{text}");
}
