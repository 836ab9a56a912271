//! PostgreSQL with Redis, single and as a Cluster of three nodes.

use rules::arrive::{Arrival, Arrived, Budget};
use rules::event::State;
use rules::ids::{ClientAddress, EventId, RequestName, User};
use stores::door::redis::{RedisConfig, RedisDoor, STEP};
use stores::door::{Door, DoorFault, Opened, Release, Remaining};
use stores::ledger::Ledger;
use testing::database::Database;
use testing::redis::{Cluster, OwnRedis, TestRedis};
use testing::stands::{prepared, redis_door, redis_stand};

use crate::complaints;

#[tokio::test(flavor = "multi_thread")]
async fn passes_every_chapter() {
    let redis = TestRedis::start();
    assert_eq!(complaints(&redis_stand(&redis.url(), false).await).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_every_chapter_on_a_cluster() {
    let cluster = Cluster::take();
    assert_eq!(complaints(&redis_stand(&cluster.url, true).await).await, Vec::<String>::new());
}

const EVENT: EventId = EventId(1);

fn from(user: &str, name: u128) -> Arrival {
    let address = ClientAddress::V4([127, 0, 0, 1]);
    Arrival { name: RequestName(name), user: User::new(user), address, keyed: false }
}

async fn number(door: &RedisDoor, user: &str) -> Option<u64> {
    match door.arrive(EVENT, vec![from(user, 1)]).await.unwrap()[0] {
        Arrived::Number(number) => Some(number.0),
        _ => None,
    }
}

/// Wiped, restarted empty, restarted from an old file, promoted in place of another, or written by
/// another ledger: no number is given until the generation was raised, and none ever goes back.
#[tokio::test(flavor = "multi_thread")]
async fn no_number_repeats_after_redis_loses_data() {
    let mut redis = OwnRedis::start_with(&["--dbfilename", "dump.rdb"]);
    let door = redis_door(&redis.url(), false, "ours", Budget::default());
    assert_eq!(number(&door, "a").await, None, "an empty Redis gives no number");
    door.open(EVENT, 0).await.unwrap();
    assert_eq!(number(&door, "b").await, Some(1));
    redis.ask::<()>(&["SAVE"]);
    assert_eq!(number(&door, "c").await, Some(2));

    redis.kill();
    redis.begin();
    assert_eq!(redis.ask::<i64>(&["GET", "fcfs:seq:{e:1}"]), 1, "the old file was read, with an old counter");
    while door.ready().await.is_err() {}
    assert_eq!(number(&door, "d").await, None, "a counter from an old file is not believed");
    door.open(EVENT, 0).await.unwrap();
    assert_eq!(number(&door, "d").await, None, "a generation that was opened before is not begun again");
    door.open(EVENT, 1).await.unwrap();
    assert_eq!(number(&door, "d").await, Some(1_000_000_001));

    redis.ask::<()>(&["FLUSHALL"]);
    assert_eq!(number(&door, "e").await, None, "a wiped Redis gives no number");
    door.open(EVENT, 3).await.unwrap();
    door.open(EVENT, 2).await.unwrap();
    assert_eq!(number(&door, "e").await, Some(3_000_000_001), "late news of a lower generation is ignored");
}

#[tokio::test(flavor = "multi_thread")]
async fn promoted_replica_gives_no_number() {
    let primary = OwnRedis::start();
    let replica = OwnRedis::start_with(&["--replicaof", "127.0.0.1", &primary.port.to_string()]);
    let before = redis_door(&primary.url(), false, "ours", Budget::default());
    before.open(EVENT, 0).await.unwrap();
    assert_eq!(number(&before, "a").await, Some(1));
    while replica.ask::<Option<String>>(&["GET", "fcfs:seq:{e:1}"]).as_deref() != Some("1") {}
    let after = redis_door(&replica.url(), false, "ours", Budget::default());
    let DoorFault::Unreachable(why) = after.ready().await.unwrap_err() else { panic!() };
    assert!(why.contains("replica"), "{why}");
    assert_eq!(number(&before, "b").await, Some(2));
    drop(primary);
    replica.ask::<()>(&["REPLICAOF", "NO", "ONE"]);
    while after.ready().await.is_err() {}
    assert_eq!(number(&after, "c").await, None, "its counter may be behind what was given");
    after.open(EVENT, 1).await.unwrap();
    assert_eq!(number(&after, "c").await, Some(1_000_000_001));
}

#[tokio::test(flavor = "multi_thread")]
async fn door_of_another_ledger_gives_no_number() {
    let redis = OwnRedis::start();
    let (ours, theirs) = (
        redis_door(&redis.url(), false, "ours", Budget::default()),
        redis_door(&redis.url(), false, "theirs", Budget::default()),
    );
    theirs.open(EVENT, 5).await.unwrap();
    assert_eq!(number(&ours, "a").await, None);
    ours.open(EVENT, 6).await.unwrap();
    assert_eq!(number(&ours, "a").await, Some(6_000_000_001));
    assert_eq!(number(&theirs, "b").await, None, "and theirs is not theirs any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn remaining_never_goes_back_in_time() {
    let redis = OwnRedis::start();
    let door = redis_door(&redis.url(), false, "ours", Budget::default());
    let left = |n, free| Remaining { n, free, held: 0, first_end: None, state: State::Open };
    assert_eq!(door.remaining(EVENT).await.unwrap(), None);
    door.settle(EVENT, Some(left(7, 2)), vec![]).await.unwrap();
    door.settle(EVENT, Some(left(5, 9)), vec![]).await.unwrap();
    assert_eq!(door.remaining(EVENT).await.unwrap(), Some(left(7, 2)), "a server that slept has nothing to say");
    door.move_clock(1_000);
    assert_eq!(door.remaining(EVENT).await.unwrap(), None, "after a second it says nothing");
    let now_ms: (i64, i64) = redis.ask(&["TIME"]);
    let ends = rules::time::Moment(now_ms.0 * 1_000 + 5_000);
    door.settle(EVENT, Some(Remaining { held: 1, first_end: Some(ends), ..left(8, 0) }), vec![]).await.unwrap();
    assert!(door.remaining(EVENT).await.unwrap().is_some());
    door.move_clock(5_500);
    assert_eq!(door.remaining(EVENT).await.unwrap(), None, "nothing is known past the first end");
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_are_told_of_changes() {
    let redis = OwnRedis::start();
    let door = redis_door(&redis.url(), false, "ours", Budget::default());
    let client = redis::Client::open(format!("{}?protocol=resp3", redis.url())).unwrap();
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let config = redis::AsyncConnectionConfig::new().set_push_sender(heard);
    let mut watching = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
    let _: () = redis::cmd("SSUBSCRIBE").arg("live:{e:1}").exec_async(&mut watching).await.unwrap();
    for (n, free) in [(1, 9), (2, 8), (2, 8), (1, 9), (3, 7)] {
        let left = Remaining { n, free, held: 0, first_end: None, state: State::Open };
        door.settle(EVENT, Some(left), vec![]).await.unwrap();
    }
    let mut told = Vec::new();
    while told.len() < 3 {
        let push = tokio::time::timeout(std::time::Duration::from_secs(5), hears.recv()).await.unwrap().unwrap();
        if push.kind == redis::PushKind::SMessage {
            told.push(redis::from_redis_value::<String>(push.data[1].clone()).unwrap());
        }
    }
    assert_eq!(told[2], r#"{"n":3,"free":7,"held":0,"state":"open"}"#);
}

/// 128 requests a call, and more than that in several.
#[tokio::test(flavor = "multi_thread")]
async fn thousand_concurrent_arrivals_get_distinct_numbers() {
    let redis = OwnRedis::start();
    let door = redis_door(&redis.url(), false, "ours", Budget::default());
    door.open(EVENT, 0).await.unwrap();
    let arrivals: Vec<Arrival> = (0..1_000).map(|i| from(&format!("u{i}"), i + 1)).collect();
    let arrived = door.arrive(EVENT, arrivals.clone()).await.unwrap();
    let wanted: Vec<Arrived> = (1..=1_000).map(|n| Arrived::Number(rules::ids::Number(n))).collect();
    assert_eq!(arrived, wanted);
    let ended = arrivals.iter().map(|a| Release { user: a.user.clone().unwrap(), name: a.name }).collect();
    door.release(EVENT, ended).await.unwrap();
    let keys: Vec<String> = redis.ask(&["KEYS", "dup:user:*"]);
    assert!(keys.is_empty(), "{} marks were left behind", keys.len());
}

/// FAULTS C4.
#[tokio::test(flavor = "multi_thread")]
async fn evicting_redis_is_refused_and_full_redis_is_reported() {
    let redis = OwnRedis::start();
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let bad = redis_door(&redis.url(), false, "ours", Budget::default());
    for fault in [bad.ready().await.unwrap_err(), bad.arrive(EVENT, vec![from("a", 1)]).await.unwrap_err()] {
        assert!(matches!(&fault, DoorFault::Unreachable(why) if why.contains("allkeys-lru")), "{fault}");
    }
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    while bad.ready().await.is_err() {}
    bad.open(EVENT, 0).await.unwrap();
    assert_eq!(number(&bad, "a").await, Some(1));
    // Switched while we are connected: the next look notices, and nobody is let in any more.
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    assert!(bad.ready().await.is_err());
    assert!(bad.arrive(EVENT, vec![from("b", 2)]).await.is_err());
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    while bad.ready().await.is_err() {}
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = bad.arrive(EVENT, vec![from("c", 3)]).await.unwrap_err();
    assert!(matches!(&full, DoorFault::Failed(why) if why.contains("OOM")), "{full}");
    let unready = bad.ready().await.unwrap_err();
    assert!(matches!(&unready, DoorFault::Failed(why) if why.contains("full")), "{unready}");
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
    bad.ready().await.unwrap();
    assert!(number(&bad, "d").await.is_some(), "back as soon as there is room");
}

#[tokio::test(flavor = "multi_thread")]
async fn password_is_used() {
    let redis = OwnRedis::start_with(&[]);
    redis.ask::<()>(&["CONFIG", "SET", "requirepass", "secret"]);
    let (without, with) = (redis.url(), format!("redis://:secret@127.0.0.1:{}", redis.port));
    assert!(redis_door(&without, false, "ours", Budget::default()).ready().await.is_err());
    redis_door(&with, false, "ours", Budget::default()).ready().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_ledger_gets_no_number() {
    let redis = OwnRedis::start();
    let place = RedisConfig {
        url: redis.url(),
        cluster: false,
        budget: Budget::default(),
        ledger: Default::default(),
        step: STEP,
    };
    let door = RedisDoor::new(place).unwrap();
    assert_eq!(number(&door, "a").await, None);
    assert!(door.open(EVENT, 0).await.is_err());
}

/// Both found Redis wiped, and both raised the generation.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_opens_keep_the_higher_generation() {
    let redis = OwnRedis::start();
    let database = Database::fresh().await;
    let (one, two) =
        (prepared(&database.url, Default::default()).await, prepared(&database.url, Default::default()).await);
    let new = rules::event::NewEvent {
        by: rules::history::AdminName::default(),
        origin: rules::history::RequestOrigin::default(),
        name: "x".into(),
        hall: rules::seats::Hall::Count(1),
        max_per_user: 1,
        opens_at: None,
        occasion: Default::default(),
        waiting_room: None,
        hold_ttl_ms: None,
        buyer_fields: Default::default(),
        price: None,
        rehearsal: false,
    };
    let event = one.create_event(new).await.unwrap().id;
    let id = one.named().get().unwrap();
    let (first, second) = (
        redis_door(&redis.url(), false, &id, Budget::default()),
        redis_door(&redis.url(), false, &id, Budget::default()),
    );
    let mut last = 0;
    for _ in 0..10 {
        redis.ask::<()>(&["FLUSHALL"]);
        let (a, b) =
            (one.raise_generation(event, None).await.unwrap(), two.raise_generation(event, None).await.unwrap());
        let (x, y) = tokio::join!(first.open(event, a), second.open(event, b));
        assert!(x.unwrap() == Opened::Yes || y.unwrap() == Opened::Yes);
        for door in [&first, &second] {
            let arrived = door.arrive(event, vec![Arrival { user: None, ..from("x", 1) }]).await.unwrap();
            let Arrived::Number(number) = arrived[0] else { panic!("{arrived:?}") };
            assert!(number.0 > last, "{} after {last}", number.0);
            last = number.0;
        }
    }
}
