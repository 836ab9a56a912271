//! What a door remembers across restores, quiet weeks and lost keys: no number is given twice, and
//! nobody loses a place by waiting.

use rules::arrive::{Arrival, Arrived, Budget};
use rules::entries::WaitingRoom;
use rules::event::State;
use rules::ids::{ClientAddress, EventId, RequestName, User};
use rules::queue::{Asking, QueueReply, What};
use rules::time::Moment;
use stores::door::redis::RedisDoor;
use stores::door::{Door, Heard, Opened, Remaining};
use stores::ledger::LineBegun;
use testing::redis::OwnRedis;

use testing::stands::redis_door as door;

const EVENT: EventId = EventId(1);
const WEEK_MS: i64 = 604_800_000;

fn remaining(n: u64, free: u32) -> Remaining {
    Remaining { n, free, held: 0, first_end: None, state: State::Open }
}

async fn arrives(door: &RedisDoor) -> Option<u64> {
    let arrival =
        Arrival { name: RequestName(1), user: None, address: ClientAddress::V4([127, 0, 0, 1]), keyed: false };
    match door.arrive(EVENT, vec![arrival]).await.unwrap()[0] {
        Arrived::Number(number) => Some(number.0),
        _ => None,
    }
}

async fn ask(door: &RedisDoor, user: &str, what: What) -> Heard<QueueReply> {
    let asking = Asking { user: User::stored(user), what, claim: None };
    door.ask(EVENT, WaitingRoom::default(), asking).await.unwrap()
}

async fn begin(door: &RedisDoor, used: bool) {
    let begun = LineBegun { used, n: 1, at: Moment(0), inside: Vec::new() };
    door.begin_line(EVENT, WaitingRoom::default(), begun).await.unwrap();
}

fn number(heard: &Heard<QueueReply>) -> u64 {
    match heard {
        Heard::Said(QueueReply::Place(place)) => place.number.0,
        other => panic!("{other:?}"),
    }
}

/// The ledger was restored from a backup and knows generation 0; the door has given numbers of 3.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_ledger_raises_its_generation_above_the_doors() {
    let redis = OwnRedis::start();
    let door = door(&redis.url(), false, "ours", Budget::default());
    assert_eq!(door.open(EVENT, 3).await.unwrap(), Opened::Yes);
    assert_eq!(arrives(&door).await, Some(3_000_000_001));
    assert_eq!(door.open(EVENT, 1).await.unwrap(), Opened::Behind { known: 3 });
    assert_eq!(arrives(&door).await, Some(3_000_000_002), "a lower generation changes nothing");
    assert_eq!(door.open(EVENT, 4).await.unwrap(), Opened::Yes);
    assert_eq!(arrives(&door).await, Some(4_000_000_001));
}

/// The same database under another epoch, after a restore: its counters start below the door's.
#[tokio::test(flavor = "multi_thread")]
async fn another_ledger_does_not_repeat_the_generation_of_the_one_before() {
    let redis = OwnRedis::start();
    let before = door(&redis.url(), false, "ours.1", Budget::default());
    let after = door(&redis.url(), false, "ours.2", Budget::default());
    before.open(EVENT, 2).await.unwrap();
    before.settle(EVENT, Some(remaining(90, 5)), vec![]).await.unwrap();
    assert_eq!(arrives(&after).await, None, "it is not open for this ledger");
    assert_eq!(after.open(EVENT, 1).await.unwrap(), Opened::Behind { known: 2 });
    assert_eq!(after.open(EVENT, 3).await.unwrap(), Opened::Yes);
    assert_eq!(arrives(&after).await, Some(3_000_000_001));
    assert_eq!(after.remaining(EVENT).await.unwrap(), None, "what the other ledger had left is forgotten");
    after.settle(EVENT, Some(remaining(7, 9)), vec![]).await.unwrap();
    assert_eq!(after.remaining(EVENT).await.unwrap(), Some(remaining(7, 9)));
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_remaining_gives_way_to_a_lower_number() {
    let redis = OwnRedis::start();
    let door = door(&redis.url(), false, "ours", Budget::default());
    door.settle(EVENT, Some(remaining(90, 1)), vec![]).await.unwrap();
    door.settle(EVENT, Some(remaining(22, 4)), vec![]).await.unwrap();
    assert_eq!(door.remaining(EVENT).await.unwrap(), Some(remaining(90, 1)), "a paused server brings no old news back");
    door.move_clock(2_000);
    door.settle(EVENT, Some(remaining(22, 4)), vec![]).await.unwrap();
    assert_eq!(door.remaining(EVENT).await.unwrap(), Some(remaining(22, 4)));
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_keeps_a_quiet_line_alive() {
    let redis = OwnRedis::start();
    let door = door(&redis.url(), false, "ours", Budget::default());
    door.open(EVENT, 0).await.unwrap();
    begin(&door, false).await;
    door.settle(EVENT, Some(remaining(1, 9)), vec![]).await.unwrap();
    let place = number(&ask(&door, "alice", What::Join).await);
    for key in ["queue", "queue:seen", "queue:seq", "queue:state"] {
        let _: i64 = redis.ask(&["PEXPIRE", &format!("{key}:{{e:1}}"), "60000"]);
    }
    assert_eq!(number(&ask(&door, "alice", What::Poll).await), place);
    for key in ["queue", "queue:seen", "queue:seq", "queue:state"] {
        let left: i64 = redis.ask(&["PTTL", &format!("{key}:{{e:1}}")]);
        assert!(left > WEEK_MS / 2, "{key} would be gone in {left} ms");
    }
}

/// The keys of the line are gone, and the door's hash is not: its numbers were given.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_line_does_not_count_again_in_its_generation() {
    let redis = OwnRedis::start();
    let door = door(&redis.url(), false, "ours", Budget::default());
    door.open(EVENT, 0).await.unwrap();
    begin(&door, false).await;
    door.settle(EVENT, Some(remaining(1, 9)), vec![]).await.unwrap();
    let first = number(&ask(&door, "alice", What::Join).await);
    for key in ["queue", "queue:seen", "queue:gone", "queue:ready", "queue:seq", "queue:state"] {
        let _: i64 = redis.ask(&["DEL", &format!("{key}:{{e:1}}")]);
    }
    assert_eq!(ask(&door, "bob", What::Join).await, Heard::NotBegun);
    begin(&door, true).await;
    assert_eq!(ask(&door, "bob", What::Join).await, Heard::NotOpen, "the generation must be raised first");
    assert_eq!(door.open(EVENT, 0).await.unwrap(), Opened::Behind { known: 0 });
    assert_eq!(door.open(EVENT, 1).await.unwrap(), Opened::Yes);
    assert_eq!(ask(&door, "bob", What::Join).await, Heard::NotBegun);
    begin(&door, true).await;
    let second = number(&ask(&door, "bob", What::Join).await);
    assert!(first < 1_000_000_000 && second > 1_000_000_000, "{first} and {second}");
}
