//! An outside opinion: Locust's buyers, with the same scenarios as `tickettock rush`.

use std::path::Path;
use std::process::Command;

use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

fn script(arguments: &[&str]) -> (Option<i32>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("scripts/locust.sh")).args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Long enough to sell out, so that refusals are seen too.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_locust_run_passes() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("FCFS_SEATS", "300")]).await;
    let url = format!("http://{}", process.address);
    let (code, said) = tokio::task::spawn_blocking(move || script(&[&url, "5"])).await.unwrap();
    assert_eq!(code, Some(0), "{said}");
    for scenario in ["plain", "double click", "lost answer", "cancel"] {
        assert!(said.lines().any(|line| line.contains(scenario)), "{scenario}: {said}");
    }
    let seats = process.client().get("/api/v1/events/1").await.json();
    assert_eq!(seats["event"]["remainingSeats"], 0, "it was long enough to sell out");
    let verified = binary().arg("verify").env("DATA_DIR", folder.path()).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// The run fails against a server that answers every request with 404.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_locust_notices_answers_outside_the_contract() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let token = format!("Bearer {}", process.admin_token());
    let gone = process.client().send("DELETE", "/api/v1/admin/events/1", &[("Authorization", &token)], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    let url = format!("http://{}", process.address);
    let (code, said) = tokio::task::spawn_blocking(move || script(&[&url, "2"])).await.unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is not in the contract"), "{said}");
}

#[test]
fn locust_refuses_targets_off_loopback() {
    let (code, said) = script(&["http://192.0.2.1:5800", "1"]);
    assert!(code == Some(2) && said.contains("not loopback"), "{said}");
}
