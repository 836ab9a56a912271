//! Arriving at the edge: mark, budget and number are taken once, by the gateway, and the mark goes
//! whatever becomes of the request.

use std::time::Duration;

use serde_json::Value;
use testing::backing::{Backing, TestStores};
use testing::gateway::TestGateway;
use testing::http::{TestClient, TestResponse};
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::edge::{BODY, Edge, FCFS, JSON};

const BUDGET: [(&str, &str); 2] = [("FCFS_IP_LIMIT", "1000"), ("FCFS_IP_WINDOW", "3600")];

fn spent(edge: &Edge, event: u64) -> u64 {
    let count: Option<u64> = edge.redis.ask(&["HGET", &format!("dup:ip:{{e:{event}}}:127.0.0.1"), "count"]);
    count.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_takes_one_number_and_one_budget_unit() {
    let edge = Edge::with(2, &BUDGET, &[]).await;
    edge.warm().await;
    let event = edge.event(20, 1).await;
    let mut client = edge.client();
    // Nobody has opened this event's door: the first passes on, and a server opens it.
    for number in 1..=10 {
        let answer = client.reserve(event, &format!("u{number}")).await;
        assert_eq!((answer.seat(), answer.sequence()), (Some(number), Some(number)), "{}", answer.text());
        assert_eq!(edge.mark(event, &format!("u{number}")), None, "the mark goes with the answer");
        for inside in ["x-fcfs-outcome", "x-fcfs-ledger", "x-fcfs-freed"] {
            assert_eq!(answer.header(inside), None);
        }
    }
    assert_eq!((edge.numbers(event), spent(&edge, event)), (10, 10), "nothing was taken twice");
    let keyed = client.reserve_with_key(event, "k", "key", BODY).await;
    let again = client.reserve_with_key(event, "k", "key", BODY).await;
    assert_eq!((keyed.sequence(), again.sequence()), (Some(11), Some(11)), "the first answer again");
    assert_eq!(edge.numbers(event), 12);
}

/// Requests that arrive during a Redis call go into the next call; none is refused because of the number.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_arrivals_share_redis_calls() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let event = edge.event(400, 1).await;
    assert_eq!(edge.client().reserve(event, "opens").await.sequence(), Some(1));
    let calls = || {
        let all: String = edge.redis.ask(&["INFO", "commandstats"]);
        let line = all.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")).unwrap().to_owned();
        line.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    let before = calls();
    // Shorter than a step may take.
    let _: () = edge.redis.ask(&["CLIENT", "PAUSE", "200"]);
    let crowd: Vec<_> = (0..300).map(|i| (edge.client(), format!("u{i}"))).collect();
    let crowd = crowd.into_iter().map(async |(mut client, user)| client.reserve(event, &user).await);
    let mut numbers = Vec::new();
    for answer in futures_util::future::join_all(crowd).await {
        assert_eq!(answer.status, 200, "{}", answer.text());
        numbers.extend(answer.sequence());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (2..=301).collect::<Vec<_>>(), "one each");
    let calls = calls() - before;
    assert!(calls < 100, "{calls} calls for 300");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_in_flight_is_a_duplicate_at_the_gateway() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let mut client = edge.client();
    client.reserve(1, "bob").await;
    let _: () = edge.redis.ask(&["SET", "dup:user:{e:1}:alice", "somebody 99999999999999"]);
    let before = edge.reached().await;
    let told = client.reserve(1, "alice").await;
    assert_eq!((told.status, told.reason().as_str(), told.sequence()), (409, "duplicate", None));
    assert_eq!((told.json()["scope"].as_str(), told.header("retry-after")), (Some("user"), Some("1")));
    assert_eq!(edge.reached().await, before, "no server was asked");
    let keyed = client.reserve_with_key(1, "alice", "k", BODY).await;
    assert_eq!(keyed.status, 200, "with a key repeats are welcome: {}", keyed.text());
    let mark = edge.mark(1, "alice");
    assert_eq!(mark.as_deref(), Some("somebody 99999999999999"), "another's mark stays");
}

/// A refusal before the queue releases the mark at once, not after its five seconds.
#[tokio::test(flavor = "multi_thread")]
async fn mark_is_released_with_every_refusal() {
    let edge = Edge::new(&[("DEFAULT_REGION", "US")]).await;
    edge.warm().await;
    let mut client = edge.client();
    assert_eq!(client.reserve(1, "first").await.status, 200);
    // Ten digits, which only the tables of that region know to be none.
    let unlikely = r#"{"userName":"A","phone":"000000000000000"}"#;
    let numbers = edge.numbers(1);
    let answer = client.post_as("alice", FCFS, unlikely).await;
    assert_eq!((answer.status, &answer.json()["field"]), (400, &"phone".into()), "{}", answer.text());
    assert_eq!((edge.numbers(1), edge.mark(1, "alice")), (numbers + 1, None), "it was let in, and let go");

    let gone = edge.event(3, 1).await;
    assert_eq!(client.reserve(gone, "first").await.status, 200);
    let id = client.get_as("first", "/api/v1/reservations").await.json()["reservations"][1]["reservationId"].clone();
    assert_eq!(client.cancel("first", id.as_str().unwrap_or("none")).await.status, 200);
    let deleted = edge.servers[0].admin("DELETE", &format!("events/{gone}"), &Value::Null).await;
    if deleted.status == 200 {
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        assert_eq!(client.reserve(gone, "alice").await.status, 404);
        assert_eq!(edge.mark(gone, "alice"), None);
    }
}

/// Where only the server can tell the user, the server calls the door itself.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_users_are_passed_to_the_server() {
    let edge = Edge::new(&[("FCFS_ANONYMOUS", "1"), ("FCFS_IP_LIMIT", "1000")]).await;
    edge.warm().await;
    let mut client = edge.client();
    let old = ("Api-Version", "2025-08-17");
    let phone = client.send("POST", FCFS, &[old, JSON], r#"{"phone":"010-1234-5678"}"#).await;
    assert_eq!(phone.json()["reserved_by"], "+821012345678");
    let nobody = client.send("POST", FCFS, &[old], "").await;
    assert_eq!((nobody.json()["seat_id"].as_u64(), &nobody.json()["reserved_by"]), (Some(2), &Value::Null));
    assert_eq!((edge.numbers(1), spent(&edge, 1)), (2, 2));
}

/// Redis loses its scripts, then everything: numbers go on, and never back.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_rise_after_redis_loses_scripts_and_keys() {
    let edge = Edge::new(&[("FCFS_SEATS", "100")]).await;
    let mut client = edge.client();
    let mut last = 0;
    let mut rises = |answer: TestResponse| {
        let number = answer.sequence().unwrap_or_else(|| panic!("{}", answer.text()));
        assert!(number > last, "{number} after {last}");
        last = number;
    };
    for round in 0..4 {
        for i in 0..3 {
            rises(client.reserve(1, &format!("u{round}-{i}")).await);
        }
        let word = if round % 2 == 0 { &["SCRIPT", "FLUSH"][..] } else { &["FLUSHALL"][..] };
        let _: () = edge.redis.ask(word);
    }
    rises(client.reserve(1, "last").await);
    assert!(last > 2_000_000_000, "two generations later: {last}");
}

/// Another ledger's door gives no numbers, whatever its counter says.
#[tokio::test(flavor = "multi_thread")]
async fn door_of_another_ledger_gives_no_number() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let mut client = edge.client();
    assert_eq!(client.reserve(1, "a").await.sequence(), Some(1));
    let _: () = edge.redis.ask(&["HSET", "door:{e:1}", "ledger", "another"]);
    assert_eq!(client.reserve(1, "b").await.sequence(), Some(1_000_000_001), "a server opened it anew");
}

/// MOVED is followed, and remembered: events of every node.
#[tokio::test(flavor = "multi_thread")]
async fn cluster_redirects_are_followed() {
    let stores = std::sync::Arc::new(TestStores::new(Backing::Cluster).await);
    let key = [("GATEWAY_KEY", testing::gateway::KEY), ("FCFS_IP_LIMIT", "1000")];
    let stand = TestServer::at(stores.clone(), &key).await;
    let mut settings: Vec<(String, String)> =
        stores.settings().iter().chain(&key).map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    settings.push(("GATEWAY_TRUST_USER_HEADER".into(), "1".into()));
    let gate = TestGateway::start(&[stand.server], &settings);
    let mut client = gate.client();
    for _ in 0..8 {
        let event = stand.event(5, 1).await;
        for number in 1..=4 {
            let answer = client.reserve(event, &format!("u{number}")).await;
            assert_eq!((answer.seat(), answer.sequence()), (Some(number), Some(number)), "{}", answer.text());
        }
    }
    let text = TestClient::new(stand.server).get("/metrics").await.text();
    let reserved = |line: &&str| line.contains("outcome=\"reserved\"") && line.ends_with(" 32");
    assert_eq!(text.lines().filter(reserved).count(), 1, "{text}");
}

/// A cluster with missing slots answers CLUSTERDOWN, and the gateway 503.
#[tokio::test(flavor = "multi_thread")]
async fn cluster_down_gets_503() {
    let edge = Edge::new(&[]).await;
    let down = OwnRedis::start_with(&["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]);
    let url = down.url();
    let gate = edge.another(&[("REDIS_URL", &url), ("REDIS_CLUSTER", "1")]);
    assert_eq!(gate.client().reserve(1, "first").await.status, 200, "passed on: whose door it is was not known");
    for _ in 0..3 {
        let told = gate.client().reserve(1, "second").await;
        assert_eq!((told.status, told.reason().as_str()), (503, "service_unavailable"), "{}", told.text());
        assert_eq!(told.header("retry-after"), Some("1"));
    }
    assert!(gate.nginx().log().contains("CLUSTERDOWN"), "{}", gate.nginx().log());
    // It is whole again: no restart is needed.
    let _: () = down.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let began = std::time::Instant::now();
    let mut i = 0;
    while gate.client().reserve(1, &format!("u{i}")).await.status != 200 {
        assert!(began.elapsed() < Duration::from_secs(5), "still down");
        tokio::time::sleep(Duration::from_millis(50)).await;
        i += 1;
    }
}

/// Numbers from the gateway are places in the queue: lower ones are served first.
#[tokio::test(flavor = "multi_thread")]
async fn server_trusts_numbers_only_with_the_gateway_key() {
    let edge = Edge::new(&[]).await;
    let mut direct = edge.direct();
    let name = "0123456789abcdef0123456789abcdef";
    let (key, seq, request) =
        (("X-Gateway-Key", testing::gateway::KEY), ("X-Fcfs-Seq", "77"), ("X-Gateway-Request", name));
    let mut user = 0;
    let mut ask = async |more: &[(&str, &str)]| {
        user += 1;
        let user = format!("u{user}");
        let headers: Vec<_> = [("X-User-Id", user.as_str()), JSON].into_iter().chain(more.iter().copied()).collect();
        direct.send("POST", FCFS, &headers, BODY).await
    };
    assert_eq!(ask(&[seq, request]).await.sequence(), Some(1), "without the key a number is nothing");
    let wrong = ("X-Gateway-Key", "the-key-of-the-gateway-in-the-testz");
    let refused = ask(&[wrong, seq, request]).await;
    assert_eq!(refused.sequence(), Some(2), "nor with another key");
    assert_eq!(refused.header("x-fcfs-outcome"), None);
    let believed = ask(&[key, seq, request]).await;
    assert_eq!((believed.sequence(), believed.header("x-fcfs-outcome")), (Some(77), Some("reserved")));
    assert!(believed.header("x-fcfs-ledger").is_some());
    assert_eq!(edge.numbers(1), 2, "the door was not asked");
    for (bad, field) in [
        (&[key, ("X-Fcfs-Seq", "0"), request][..], "X-Fcfs-Seq"),
        (&[key, ("X-Fcfs-Seq", "1 "), ("X-Fcfs-Seq", "2"), request][..], "X-Fcfs-Seq"),
        (&[key, ("X-Fcfs-Seq", "-5"), request][..], "X-Fcfs-Seq"),
        (&[key, ("X-Fcfs-Seq", "9223372036854775808"), request][..], "X-Fcfs-Seq"),
        (&[key, seq][..], "X-Gateway-Request"),
        (&[key, seq, ("X-Gateway-Request", "short")][..], "X-Gateway-Request"),
        (&[key, ("X-Gateway-Address", "here")][..], "X-Gateway-Address"),
    ] {
        let answer = ask(bad).await;
        assert_eq!((answer.status, answer.json()["field"].as_str()), (400, Some(field)), "{bad:?}");
    }
}
