//! The TypeScript client against a running server: generated types that are up to date, strict compilation, its
//! own tests, and the packed package in an empty project.

use std::path::Path;
use std::process::Command;

use testing::folder::TestFolder;
use testing::process::ServerProcess;

#[tokio::test(flavor = "multi_thread")]
async fn typescript_client_works_against_a_server() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("RUST_LOG", "error")]).await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/sdk.sh");
    let mut tries = Command::new(script);
    tries.args([format!("http://{}", process.address), process.admin_token()]);
    let output = tokio::task::spawn_blocking(move || tries.output().unwrap()).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("pass 12") && said.contains("fail 0") && said.contains("seat A1, reservation"), "{said}");
}
