//! Which targets are allowed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::server::TestServer;

use super::receiver::Receiver;
use super::{endpoint, on_both_ledgers, reserve, shown};

on_both_ledgers!(private_targets_are_refused);

async fn private_targets_are_refused(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let receiver = Receiver::start();
    let port = receiver.address.port();
    for url in
        [receiver.url(), format!("https://127.0.0.1:{port}/"), format!("https://[::1]:{port}/"), "ftp://a/".into()]
    {
        let told = stand.admin("POST", "webhooks", &json!({ "url": url })).await;
        assert_eq!(told.status, 400, "{url}: {}", told.text());
    }
    // A name is looked up when it is used, and the address that was found is what counts.
    let (id, _) = endpoint(&stand, &format!("https://localhost:{port}/"), &Value::Null).await;
    let tested = stand.admin("POST", &format!("webhooks/{id}/test"), &Value::Null).await.json();
    assert_eq!(tested["delivery"]["delivered"], false);
    assert!(tested["delivery"]["error"].as_str().unwrap().contains("private"), "{tested}");
    reserve(&stand, 1, "alice").await;
    let began = Instant::now();
    while shown(&stand, id).await["deliveries"].as_array().unwrap().len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(receiver.connections(), 0);
}
