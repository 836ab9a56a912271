//! `tickettock gateway` and `make gateway`: the files it is made of, and everything at once.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::binary;

use super::edge::{BODY, FCFS};

pub fn write(folder: &std::path::Path, settings: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let needed = [
        ("GATEWAY_KEY", testing::gateway::KEY),
        ("GATEWAY_UPSTREAMS", "127.0.0.1:5800"),
        ("REDIS_URL", "redis://127.0.0.1:1"),
    ];
    let mut command = binary();
    command.arg("gateway").arg(folder).envs(needed).envs(settings.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A bad value stops it, names the setting, and writes nothing.
#[test]
fn bad_setting_is_named_and_nothing_written() {
    let folder = TestFolder::new("server");
    let files = folder.path().join("files");
    for (name, value) in [
        ("GATEWAY_PORT", "80a"),
        ("GATEWAY_UPSTREAMS", "no-port"),
        ("GATEWAY_KEY", "short"),
        ("TRUSTED_PROXIES", "10.0.0.0/64"),
        ("GATEWAY_TRUST_USER_HEADER", "maybe"),
        ("REDIS_URL", "http://127.0.0.1:1"),
    ] {
        let (code, _, complaint) = write(&files, &[(name, value)]);
        assert_eq!(code, Some(2), "{name}");
        assert!(complaint.contains(name) && !complaint.contains("short"), "{complaint}");
        assert!(!files.exists(), "{name}: something was written");
    }
}

/// nginx itself says that they are sound, with every setting that changes them.
#[test]
fn nginx_accepts_the_files() {
    let proxies = ("TRUSTED_PROXIES", "10.0.0.0/8,2001:db8::/32,127.0.0.1");
    let six = ("GATEWAY_HOST", "::1");
    for settings in [
        &[][..],
        &[proxies, ("GATEWAY_WRAP", "1"), ("GATEWAY_WORKERS", "3"), ("GATEWAY_ADDRESS_CONNECTIONS", "0")],
        &[("GATEWAY_METRICS_LISTEN", "127.0.0.1:9145")],
        &[six],
    ] {
        let folder = TestFolder::new("server");
        let (code, said, complaint) = write(folder.path(), settings);
        assert_eq!(code, Some(0), "{complaint}");
        assert!(said.contains("nginx -c "), "{said}");
        let output = Command::new("nginx").arg("-t").arg("-c").arg(folder.path().join("nginx.conf")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// `make gateway` starts everything, and stops everything on SIGINT.
#[tokio::test(flavor = "multi_thread")]
async fn make_gateway_starts_and_stops() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let [gateway, one, two, postgres, redis] = [(); 5].map(|()| testing::free_port());
    let mut command = Command::new(root.join("scripts/gateway.sh"));
    for setting in server::settings::SETTINGS {
        command.env_remove(setting.name);
    }
    command.env("BINARY", env!("CARGO_BIN_EXE_tickettock")).env("GATEWAY_PORT", gateway.to_string());
    command.env("SERVER_PORTS", format!("{one} {two}")).env("PG_PORT", postgres.to_string());
    command.env("REDIS_PORT", redis.to_string());
    command.env("CLUSTER_PORT", testing::services::three_free_ports().to_string());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reading = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        for line in lines.map_while(Result::ok) {
            text += &line;
            if line.starts_with("Ctrl-C") {
                break;
            }
        }
        text
    });
    let text = tokio::time::timeout(Duration::from_secs(60), reading).await;
    let pid = child.id().to_string();
    let Ok(Ok(text)) = text else {
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        panic!("it did not start: {text:?}");
    };
    let mut client = TestClient::new(([127, 0, 0, 1], gateway).into());
    let answer = client.post_as("alice", FCFS, BODY).await;
    let wrapped = client.post_as("bob", &format!("{FCFS}?wrap=1"), BODY).await;
    let stopped = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    let ended = child.wait().unwrap();
    assert!(text.contains("rush http://127.0.0.1:") && stopped.success(), "{text}");
    assert_eq!((answer.seat(), answer.sequence()), (Some(1), Some(1)), "{}", answer.text());
    assert_eq!(wrapped.json()["sequence"], json!(2));
    assert_eq!(ended.code(), Some(143));
    for port in [gateway, one, two, redis] {
        let left = std::net::TcpStream::connect(("127.0.0.1", port));
        assert!(left.is_err(), "something still listens on {port}");
    }
}
