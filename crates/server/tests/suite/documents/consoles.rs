//! Blocks of the kind `console`: they start a server, or name other machines. Typed as printed, with hosts, folders and
//! secrets of this machine in place of the printed ones.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::postgres::{OwnPostgres, as_postgres, postgres_programs};
use testing::process::{ServerProcess, binary};
use testing::redis::OwnRedis;

use super::guides::pages;
use super::terminal::{blocks, page};
use crate::jwt::{ISSUER, Issuer, TlsIssuer, mine};

/// The pages with such blocks, and how many the tests below type.
const TYPED: [(&str, usize); 3] = [("docs/backups.md", 2), ("docs/operating.md", 1), ("docs/signing-in.md", 3)];

const TOKEN: &str = "a-token-that-is-long-enough-for-a-server";

/// The commands of such blocks, without their prompts.
fn consoles(file: &str) -> Vec<String> {
    let text = page(file);
    let blocks = blocks(&text).into_iter().filter(|block| block.kind == "console");
    blocks.map(|block| block.text.strip_prefix("$ ").expect("a prompt").replace("\n$ ", "\n")).collect()
}

#[test]
fn every_console_block_is_typed() {
    let mut found: Vec<(String, usize)> = pages()
        .iter()
        .map(|path| path.to_str().unwrap().to_owned())
        .map(|path| (path.clone(), consoles(&path).len()))
        .filter(|(_, count)| *count > 0)
        .collect();
    found.sort();
    assert_eq!(found, TYPED.map(|(path, count)| (path.to_owned(), count)));
}

/// The text with these words in place of those; each must stand in it.
fn with(mut text: String, replaced: &[(&str, &str)]) -> String {
    for (printed, typed) in replaced {
        assert!(text.contains(printed), "{printed} is not printed in: {text}");
        text = text.replace(printed, typed);
    }
    text
}

/// A shell that finds `tickettock`, and other programs in this folder.
fn shell(mut command: Command, others: Option<&Path>, text: &str) -> Command {
    let installed = binary();
    let installed = Path::new(installed.get_program()).parent().unwrap();
    let folders = [Some(installed), others].into_iter().flatten().map(|folder| folder.display().to_string());
    let path = folders.chain(std::env::var("PATH")).collect::<Vec<_>>().join(":");
    for setting in server::settings::SETTINGS {
        command.env_remove(setting.name);
    }
    command.args(["-e", "-u", "-o", "pipefail", "-c", text]).env("PATH", path);
    command
}

/// Types a command that starts a server, and waits until it serves.
async fn served(data: &Path, text: &str, authority: Option<&Path>) -> ServerProcess {
    // So that the shell does not stay between the server and the test.
    let text = with(text.to_owned(), &[("tickettock serve", "exec tickettock serve")]);
    let mut shell = shell(Command::new("bash"), None, &text);
    shell.env("DATA_DIR", data).env("APP_PORT", "0").env("RUST_LOG", "warn");
    if let Some(authority) = authority {
        shell.env("SSL_CERT_FILE", authority);
    }
    let process = ServerProcess::attempt(shell, data).unwrap_or_else(|| panic!("it does not start: {text}"));
    until(|| async { process.client().get("/readyz").await.status == 200 }).await;
    process
}

async fn until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(60), "it never holds");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_verify_tokens_start_as_printed() {
    let folder = TestFolder::new("documents");
    let [with_secret, with_provider, behind_proxy] = consoles("docs/signing-in.md").try_into().unwrap();
    let process = served(&folder.path().join("secret"), &with_secret, None).await;
    assert_eq!(process.client().get("/api/v1/reservations").await.status, 401);
    drop(process);

    let good = Issuer::rs256("good");
    let issuer = TlsIssuer::with_keys(&[&good]);
    for (name, printed) in [("provider", with_provider), ("proxy", behind_proxy)] {
        let here = [
            ("https://id.example.com/oauth2/v1/keys", issuer.url.as_str()),
            ("JWT_ISSUER=https://id.example.com", &format!("JWT_ISSUER={ISSUER}")),
        ];
        let process = served(&folder.path().join(name), &with(printed, &here), Some(&issuer.authority())).await;
        let mut client = TestClient::new(process.address);
        assert_eq!(mine(&mut client, &good.token("alice")).await.status, 200, "{name}");
        assert_eq!(mine(&mut client, &Issuer::rs256("good").token("alice")).await.status, 401, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scaled_server_starts_as_printed() {
    let folder = TestFolder::new("documents");
    let (postgres, redis) = (OwnPostgres::start().await, OwnRedis::start());
    let [printed] = consoles("docs/operating.md").try_into().unwrap();
    let here = [
        ("postgres://tickettock:secret@db.internal:5432/tickettock?sslmode=verify-full", postgres.url().as_str()),
        ("rediss://:secret@redis.internal:6379", &redis.url()),
        ("ADMIN_TOKEN=...", &format!("ADMIN_TOKEN={TOKEN}")),
    ]
    .map(|(printed, typed)| (printed, typed.to_owned()));
    let here = here.each_ref().map(|(printed, typed)| (*printed, typed.as_str()));
    let process = served(&folder.path().join("data"), &with(printed, &here), None).await;
    let token = format!("Bearer {TOKEN}");
    let listed = process.client().send("GET", "/api/v1/admin/events", &[("Authorization", &token)], "").await;
    assert_eq!(listed.status, 200, "{}", listed.text());
    assert_eq!(process.client().reserve(1, "alice").await.status, 200);
    assert!(!folder.path().join("data/tickettock.db").exists(), "it sells from PostgreSQL");
}

/// The drill with `pg_basebackup`. That what is sold meanwhile survives it is shown by
/// `base_backup_of_a_rush_is_restored_elsewhere`.
#[tokio::test(flavor = "multi_thread")]
async fn base_backup_is_made_and_restored_as_printed() {
    let (folder, data) = (TestFolder::new("documents"), TestFolder::new("server"));
    let open = Command::new("chmod").arg("777").arg(folder.path()).status().unwrap();
    assert!(open.success());
    let (mut postgres, redis) = (OwnPostgres::start().await, OwnRedis::start());
    let settings = [("DATABASE_URL", postgres.url()), ("REDIS_URL", redis.url()), ("ADMIN_TOKEN", TOKEN.into())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let process = ServerProcess::start(data.path(), &settings).await;
    for user in ["alice", "bob", "carol"] {
        assert_eq!(process.client().reserve(1, user).await.status, 200);
    }
    let [copy, restore] = consoles("docs/backups.md").try_into().unwrap();
    let base = folder.path().join("base").display().to_string();
    let programs = postgres_programs();
    let typed = |text: &str, port: u16| {
        let mut shell = shell(as_postgres(Path::new("bash")), Some(programs), text);
        shell.current_dir(folder.path()).env("PGPORT", port.to_string());
        shell
    };
    let here = [("db.internal", "127.0.0.1"), ("-U replication", "-U postgres"), ("/backups/base", base.as_str())];
    let copied = typed(&with(copy, &here), postgres.port).output().unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    // The first machine is lost.
    process.kill();
    postgres.kill();

    let port = testing::free_port();
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable");
    let here = [("/backups/base", base.as_str()), ("postgres -D", "exec postgres -k '' -D"), ("postgres://...", &url)];
    let restore = with(restore, &here);
    let [signal, start, verify] = restore.trim().lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(typed(signal, port).status().unwrap().success());
    let mut restored = typed(start, port).spawn().unwrap();
    let began = Instant::now();
    // Until the end of recovery it is a standby.
    let (verified, said) = loop {
        let output = typed(verify, port).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() || began.elapsed() > Duration::from_secs(30) {
            break (output.status.success(), said);
        }
    };
    let _ = Command::new("kill").args(["-QUIT", &restored.id().to_string()]).status();
    restored.wait().unwrap();
    assert!(verified && said.contains("3 reservations"), "{said}");
}
