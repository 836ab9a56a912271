//! Holds that are shown in Redis to onlookers delay nobody: not with long stays, not when Redis is silent.

use std::time::{Duration, Instant};

use rules::arrive::{Arrival, Arrived, Budget};
use rules::holds::{Hold, HoldState, On};
use rules::ids::{ClientAddress, EventId, RequestName, User};
use rules::nights::{Dates, Night};
use rules::subject::{HoldId, RoomTypeId, SubjectId};
use rules::time::Moment;
use stores::door::redis::RedisDoor;
use stores::door::{Door, Opened};
use testing::proxy::{Proxy, WireFault};
use testing::redis::OwnRedis;
use testing::stands::redis_door;

const EVENT: EventId = EventId(1);
const ROOM: SubjectId = SubjectId::RoomType(RoomTypeId(7));

fn hold(n: u64, nights: u32, state: HoldState) -> Hold {
    let check_in = Night(25_000);
    // Redis has the real time.
    let ends_at = Moment(4_000_000_000_000);
    Hold {
        id: HoldId { subject: ROOM, n },
        owner: User::stored("alice"),
        key: format!("key {n}").into(),
        on: On::Nights(Dates { check_in, check_out: check_in.plus(nights) }),
        first_at: Moment(0),
        at: Moment(0),
        ends_at,
        state,
        ended_at: None,
        reserved: Vec::new(),
        metadata: None,
        reason: None,
    }
}

/// The median time of an arrival, while other things happen.
async fn median(door: &RedisDoor, during: Duration) -> Duration {
    let (began, mut times, mut name) = (Instant::now(), Vec::new(), 0);
    while began.elapsed() < during {
        name += 1;
        let address = ClientAddress::V4([10, 0, 0, 1]);
        let arrival = Arrival { name: RequestName(name), user: None, address, keyed: false };
        let asked = Instant::now();
        let arrived = door.arrive(EVENT, vec![arrival]).await.unwrap();
        times.push(asked.elapsed());
        assert!(matches!(arrived[..], [Arrived::Number(_)]), "{arrived:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    times.sort();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn long_stays_do_not_delay_arrivals() {
    let redis = OwnRedis::start();
    let door = std::sync::Arc::new(redis_door(&redis.url(), false, "ours", Budget::default()));
    assert_eq!(door.open(EVENT, 0).await, Ok(Opened::Yes));
    let alone = median(&door, Duration::from_millis(500)).await;
    // 1,500 holds a second of 365 nights each, in batches, as lanes do.
    let shows = door.clone();
    let showing = tokio::spawn(async move {
        for batch in 0..150 {
            let holds = (0..30).map(|i| hold(batch * 30 + i, 365, HoldState::Held)).collect();
            tokio::spawn(shows.show_holds(ROOM, holds));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let beside = median(&door, Duration::from_secs(2)).await;
    println!("an arrival takes {alone:?} alone and {beside:?} beside onlookers");
    assert!(beside < 5 * alone + Duration::from_millis(5), "{beside:?}, alone {alone:?}");
    showing.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_are_shown_once_per_night_and_batch() {
    let redis = OwnRedis::start();
    let door = redis_door(&redis.url(), false, "ours", Budget::default());
    door.show_holds(ROOM, (0..100).map(|n| hold(n, 3, HoldState::Held)).collect()).await.unwrap();
    let night = |ahead| format!("hold-count:{{r:7}}:{}", Night(25_000 + ahead));
    let shown = async |count: i64| {
        let began = Instant::now();
        while redis.ask::<i64>(&["ZCARD", &night(2)]) != count {
            assert!(began.elapsed() < Duration::from_secs(5), "{}", redis.ask::<i64>(&["ZCARD", &night(2)]));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    shown(100).await;
    let stats: String = redis.ask(&["INFO", "commandstats"]);
    assert!(stats.contains("cmdstat_zadd:calls=3,"), "three nights: {stats}");
    let kept: String = redis.ask(&["GET", "hold:{r:7}:hr7-42"]);
    assert!(kept.contains("\"clientHoldKey\":\"key 42\""), "{kept}");
    let ended = [hold(42, 3, HoldState::Cancelled), hold(43, 3, HoldState::Confirmed)];
    door.show_holds(ROOM, ended.to_vec()).await.unwrap();
    shown(98).await;
    assert_eq!(redis.ask::<i64>(&["ZCARD", &night(0)]), 98);
    assert_eq!(redis.ask::<i64>(&["EXISTS", "hold:{r:7}:hr7-42", "hold:{r:7}:hr7-43", "hold:{r:7}:hr7-44"]), 1);
    assert!(redis.ask::<i64>(&["PTTL", &night(0)]) > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_redis_does_not_delay_who_shows_holds() {
    let redis = OwnRedis::start();
    let wire = Proxy::to(redis.port).await;
    let url = format!("redis://127.0.0.1:{}", wire.port());
    let door = redis_door(&url, false, "ours", Budget::default());
    door.show_holds(ROOM, vec![hold(1, 1, HoldState::Held)]).await.unwrap();
    wire.set(WireFault::Silence);
    let began = Instant::now();
    for n in 0..10_000 {
        door.show_holds(ROOM, vec![hold(n, 30, HoldState::Held)]).await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
