//! Servers that are killed, and servers that share the work.

use std::time::Duration;

use serde_json::json;
use testing::backing::{Backing, TestStores};
use testing::folder::TestFolder;
use testing::http::{BUYER, TestClient};
use testing::process::ServerProcess;
use testing::server::TestServer;

use super::receiver::{Behaviour, Receiver};
use super::{ALLOWED, endpoint, first_of_each, kinds, numbers, on_both_ledgers, reserve};

on_both_ledgers!(killed_server_delivers_after_its_restart);

/// kill -9 between commit and delivery, and again in the middle of the deliveries.
async fn killed_server_delivers_after_its_restart(backing: Backing) {
    let (stores, folder) = (TestStores::new(backing).await, TestFolder::new("server"));
    let data = folder.path().join("data");
    let mut settings = vec![("WEBHOOK_PRIVATE", "1"), ("FCFS_SEATS", "70")];
    settings.extend(stores.settings());
    let token = |process: &ServerProcess| {
        let given = settings.iter().find(|(name, _)| *name == "ADMIN_TOKEN");
        format!("Bearer {}", given.map_or_else(|| process.admin_token(), |(_, token)| (*token).to_owned()))
    };
    let receiver = Receiver::start();
    receiver.go_down();
    let process = ServerProcess::start(&data, &settings).await;
    let headers = [("Authorization", token(&process)), ("Content-Type", "application/json".to_owned())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = json!({ "url": receiver.url(), "types": ["reservation.confirmed", "event.sold_out"] }).to_string();
    let made = process.client().send("POST", "/api/v1/admin/webhooks", &headers, &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let buy = async |client: &mut TestClient, n: u64| {
        let headers = [("X-User-Id", format!("u{n}")), ("Content-Type", "application/json".to_owned())];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let path = "/api/v1/events/1/seats/reservation/fcfs";
        assert_eq!(client.send("POST", path, &headers, BUYER).await.status, 200);
    };
    let mut client = process.client();
    for n in 0..60 {
        buy(&mut client, n).await;
    }
    process.kill();
    receiver.behave(Behaviour(204, String::new(), Duration::from_millis(20)));
    receiver.come_back();
    let process = ServerProcess::start(&data, &settings).await;
    receiver.messages(20).await;
    process.kill();
    let process = ServerProcess::start(&data, &settings).await;
    let mut client = process.client();
    for n in 60..70 {
        buy(&mut client, n).await;
    }
    assert!(receiver.until(|receiver| first_of_each(&receiver.taken()).len() >= 71).await);
    let received = first_of_each(&receiver.taken());
    assert_eq!(numbers(&received[..70]), (2..72).collect::<Vec<u64>>(), "in order, none lost");
    let rest: Vec<String> = kinds(&received[70..]);
    assert_eq!(rest, ["event.sold_out"], "once");
}

/// Two servers share the work: one delivers, and the other goes on when it stops.
#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_delivered_by_one_server_at_a_time() {
    let one = TestServer::on(Backing::Redis, ALLOWED).await;
    let two = TestServer::at(one.stores.clone(), ALLOWED).await;
    let receiver = Receiver::start();
    endpoint(&one, &receiver.url(), &json!(["reservation.confirmed"])).await;
    for n in 0..3 {
        reserve(if n == 1 { &two } else { &one }, 1, &format!("u{n}")).await;
    }
    assert_eq!(numbers(&receiver.messages(3).await), [2, 3, 4], "each once");
    one.ask_to_stop();
    one.stopped().await;
    reserve(&two, 1, "u3").await;
    assert_eq!(numbers(&receiver.messages(4).await), [2, 3, 4, 5]);
}
