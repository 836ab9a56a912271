//! `tickettock webhook ...` against a running server.

use std::process::Output;

use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

use super::receiver::Receiver;

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_managed_from_the_terminal() {
    let folder = TestFolder::new("server");
    let data = folder.path().join("data");
    let process = ServerProcess::start(&data, &[("WEBHOOK_PRIVATE", "1")]).await;
    let receiver = Receiver::start();
    let server = format!("http://{}", process.address);
    let run = |words: &[&str]| -> Output {
        let mut command = binary();
        command.arg("webhook").args(words).args(["--url", &server]).env("DATA_DIR", &data);
        command.output().unwrap()
    };
    let said = |words: &[&str]| {
        let output = run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let made = said(&["create", "--to", &receiver.url(), "--type", "hold.expired", "--type", "event.opened"]);
    assert!(made.starts_with("webhook 1\nwhsec_"), "{made}");
    let secret = made.lines().nth(1).unwrap().to_owned();
    assert!(said(&["test", "1"]).contains("delivered"));
    assert_eq!(receiver.taken().last().unwrap().signed_by(&secret), 1);
    let list = said(&["list"]);
    assert!(list.contains("enabled") && list.contains(&receiver.url()) && !list.contains("whsec_"), "{list}");
    let shown = said(&["show", "1"]);
    assert!(shown.contains("hold.expired, event.opened") && shown.contains("webhook.test"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&said(&["show", "1", "--json"])).unwrap();
    assert_eq!(json["webhook"]["id"], 1);
    let rotated = said(&["rotate", "1", "--overlap", "0s"]);
    assert!(rotated.contains("whsec_") && !rotated.contains(&secret), "{rotated}");
    assert!(said(&["disable", "1"]).contains("disabled"));
    assert!(said(&["enable", "1"]).contains("enabled"));
    said(&["replay", "1", "--event", "1", "--from", "1"]);
    receiver.messages(2).await;
    assert_eq!(receiver.taken()[1].kind(), "event.opened");
    said(&["delete", "1"]);
    let gone = run(&["show", "1"]);
    assert!(!gone.status.success());
    assert!(String::from_utf8_lossy(&gone.stderr).contains("webhook 1 does not exist"));
    let private = ServerProcess::start(&folder.path().join("other"), &[]).await;
    let server = format!("http://{}", private.address);
    let refused = binary()
        .args(["webhook", "create", "--to", &receiver.url(), "--url", &server])
        .env("DATA_DIR", folder.path().join("other"))
        .output()
        .unwrap();
    assert!(!refused.status.success(), "a private target");
}
