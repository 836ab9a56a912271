//! Standard output or standard error that nobody reads: no panic, and the server serves.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::binary;

/// A pipe whose reader is gone.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn commands_survive_a_closed_pipe() {
    let folder = TestFolder::new("server");
    for arguments in [
        &["config"][..],
        &["config", "--markdown"],
        &["openapi"],
        &["openapi", "--json"],
        &["completions", "bash"],
        &["man"],
    ] {
        let output = binary().args(arguments).env("DATA_DIR", folder.path()).stdout(unread()).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), complaint.as_ref()), (Some(0), ""), "{arguments:?}");
    }
    let failed = binary().args(["config", "--app-port", "x"]).stdout(unread()).stderr(unread()).status().unwrap();
    assert_eq!(failed.code(), Some(2));
}

struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_survives_closed_output() {
    let folder = TestFolder::new("server");
    let port = testing::free_port();
    let mut command = binary();
    command.arg("serve").env("DATA_DIR", folder.path()).env("APP_PORT", port.to_string()).env("RUST_LOG", "trace");
    let mut server = Stopped(command.stdout(unread()).stderr(unread()).spawn().unwrap());
    let mut client = TestClient::new(([127, 0, 0, 1], port).into());
    let began = Instant::now();
    while client.try_send("GET", "/livez", &[], "").await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "it does not listen");
        assert!(server.0.try_wait().unwrap().is_none(), "it ended");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for i in 0..20 {
        assert_eq!(client.reserve(1, &format!("u{i}")).await.status, if i < 9 { 200 } else { 409 });
    }
    assert!(server.0.try_wait().unwrap().is_none(), "it ended");
}
