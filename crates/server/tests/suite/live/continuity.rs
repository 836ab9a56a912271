//! A change is never missed nor shown twice: over reconnects, a restart, an emptied Redis, a change of server. Every
//! numbered message is compared with the history up to its number.

use std::collections::BTreeMap;
use std::sync::Arc;

use server::live::planted::LiveBug;
use testing::backing::TestStores;
use testing::database::Database;
use testing::redis::OwnRedis;
use testing::rng::SeededRng;
use testing::server::TestServer;

use super::watcher::{Model, TestWatcher};
use crate::holds::{hold, seats};

const SEATS: usize = 60;
const STEPS: u64 = 120;

/// Who changes seats: each user has at most one thing at a time.
struct Traffic {
    event: u64,
    rng: SeededRng,
    next: u64,
    reservations: Vec<(String, String)>,
    holds: Vec<(String, String)>,
}

impl Traffic {
    fn new(event: u64, seed: u64) -> Traffic {
        Traffic { event, rng: SeededRng::new(seed), next: 0, reservations: Vec::new(), holds: Vec::new() }
    }

    /// One change at this server; a refusal changes nothing.
    async fn step(&mut self, server: &TestServer) {
        let mut client = server.client();
        self.next += 1;
        let user = format!("user-{}", self.next);
        match self.rng.below(6) {
            0 if !self.reservations.is_empty() => {
                let (user, id) = self.reservations.swap_remove(self.rng.below(self.reservations.len() as u64) as usize);
                client.cancel(&user, &id).await;
            }
            1 | 2 => {
                let seat = 1 + self.rng.below(SEATS as u64);
                let answer = hold(&mut client, &user, &seats(self.event, &[seat], self.next)).await;
                if answer.status == 201 {
                    self.holds.push((user, answer.json()["hold"]["holdId"].as_str().unwrap().to_owned()));
                }
            }
            3 if !self.holds.is_empty() => {
                let (user, id) = self.holds.swap_remove(self.rng.below(self.holds.len() as u64) as usize);
                let headers = [("X-User-Id", user.as_str())];
                if self.rng.below(2) == 0 {
                    client.send("POST", &format!("/v1/holds/{id}/confirm"), &headers, "").await;
                } else {
                    client.send("DELETE", &format!("/v1/holds/{id}"), &headers, "").await;
                }
            }
            _ => {
                let answer = client.reserve(self.event, &user).await;
                if answer.status == 200 {
                    let id = answer.json()["reservationId"].as_str().unwrap().to_owned();
                    self.reservations.push((user, id));
                }
            }
        }
    }
}

/// The states after each history number.
async fn history(server: &TestServer, event: u64) -> BTreeMap<u64, Vec<char>> {
    use rules::history::Happened;
    let rows = server.app.ledger.history(rules::ids::EventId(event as i64), 0, 100_000).await.unwrap();
    let mut states = vec!['f'; SEATS];
    let mut after = BTreeMap::new();
    for row in rows {
        let state = match row.what {
            Happened::Reserved => Some('s'),
            Happened::Held => Some('h'),
            Happened::Cancelled | Happened::Released | Happened::Expired | Happened::Replaced => Some('f'),
            _ => None,
        };
        if let (Some(state), Some(seat)) = (state, row.seat) {
            states[seat.0 as usize - 1] = state;
        }
        after.insert(row.n, states.clone());
    }
    after
}

/// What is wrong with what a watcher was told, if anything.
fn check(model: &Model, history: &BTreeMap<u64, Vec<char>>) -> Result<(), String> {
    if let Some(wrong) = &model.wrong {
        return Err(wrong.clone());
    }
    for (n, states) in &model.told {
        if history.get(n) != Some(states) {
            return Err(format!("at {n}: {states:?} is not {:?}", history.get(n)));
        }
    }
    if !model.told.windows(2).all(|two| two[0].0 <= two[1].0) {
        return Err(format!("numbers go back: {:?}", model.told.iter().map(|(n, _)| n).collect::<Vec<_>>()));
    }
    let (last, states) = history.last_key_value().unwrap();
    if model.states != *states {
        return Err(format!("in the end at {last}: {:?} is not {states:?}", model.states));
    }
    Ok(())
}

/// Reads until nothing comes for a moment.
async fn read_all(watcher: &mut TestWatcher) {
    while let Ok(Some(_)) = tokio::time::timeout(std::time::Duration::from_millis(150), watcher.next()).await {}
}

/// Changes and reconnects in turn, at these servers. One watcher comes back where it was, others come anew.
async fn watch(servers: &[&TestServer], traffic: &mut Traffic, model: Model) -> Result<Model, String> {
    let event = traffic.event;
    let pick = |traffic: &mut Traffic| servers[traffic.rng.below(servers.len() as u64) as usize];
    let mut watcher = TestWatcher::resuming(servers[0], event, model).await;
    let mut newcomers = Vec::new();
    for step in 0..STEPS {
        let server = pick(traffic);
        traffic.step(server).await;
        if step % 8 == 0 {
            let mut newcomer = TestWatcher::of(pick(traffic), event).await;
            while newcomer.model.snapshots == 0 && newcomer.next().await.is_some() {}
            newcomers.push(newcomer.model);
        }
        match traffic.rng.below(6) {
            0 => {
                if traffic.rng.below(2) == 0 {
                    read_all(&mut watcher).await;
                }
                let model = watcher.model.clone();
                drop(watcher);
                for _ in 0..traffic.rng.below(4) {
                    let server = pick(traffic);
                    traffic.step(server).await;
                }
                watcher = TestWatcher::resuming(pick(traffic), event, model).await;
            }
            1 | 2 => read_all(&mut watcher).await,
            _ => {}
        }
    }
    let history = history(servers[0], event).await;
    let states = history.last_key_value().unwrap().1;
    let caught_up = async {
        while watcher.model.states != *states {
            if watcher.next().await.is_none() {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(5), caught_up).await;
    check(&watcher.model, &history)?;
    for newcomer in newcomers {
        let (n, states) = newcomer.told.last().unwrap();
        if history.get(n) != Some(states) {
            return Err(format!("a snapshot at {n}: {states:?} is not {:?}", history.get(n)));
        }
    }
    Ok(watcher.model)
}

/// Nobody is limited: one test has many users.
const SETTINGS: &[(&str, &str)] = &[("ADDRESS_RATE", "0"), ("USER_RATE", "0")];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_over_a_restart_of_the_server() {
    let server = TestServer::embedded(SETTINGS).await;
    let event = server.event(SEATS as u64, 1).await;
    let mut traffic = Traffic::new(event, 1);
    let model = watch(&[&server], &mut traffic, Model::default()).await.unwrap();
    let server = server.restart().await;
    let known = model.snapshots;
    let model = watch(&[&server], &mut traffic, model).await.unwrap();
    assert_eq!(model.snapshots, known, "the new server resumes where the old one stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_over_two_servers_and_an_emptied_redis() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stores = Arc::new(TestStores::at(&database.url, &redis.url()));
    let one = TestServer::at(stores.clone(), SETTINGS).await;
    let other = TestServer::at(stores.clone(), SETTINGS).await;
    let event = one.event(SEATS as u64, 1).await;
    let mut traffic = Traffic::new(event, 2);
    let model = watch(&[&one, &other], &mut traffic, Model::default()).await.unwrap();
    redis.ask::<()>(&["FLUSHALL"]);
    let known = model.snapshots;
    let model = watch(&[&one, &other], &mut traffic, model).await.unwrap();
    assert_eq!(model.snapshots, known, "no server needs Redis to resume");
    let one = one.restart().await;
    watch(&[&one, &other], &mut traffic, model).await.unwrap();
}

/// Two changes while nobody but another watcher looks, and a return when the hub has told that one of both.
async fn resumed_behind_two_changes(bug: LiveBug) -> Result<(), String> {
    let server = TestServer::embedded(SETTINGS).await;
    server.app.live.plant(bug);
    let event = server.event(SEATS as u64, 1).await;
    let mut left = TestWatcher::of(&server, event).await;
    left.until("a snapshot", |model| model.snapshots == 1).await;
    let known = left.model.clone();
    drop(left);
    let mut stayed = TestWatcher::of(&server, event).await;
    for user in ["a", "b"] {
        server.client().reserve(event, user).await;
    }
    stayed.until("both seats", |model| model.count('s') == 2).await;
    let mut back = TestWatcher::resuming(&server, event, known).await;
    back.until("both changes", |model| model.n() >= stayed.model.n()).await;
    check(&back.model, &history(&server, event).await)
}

/// Newcomers while seats are taken and given back all the time.
async fn snapshots_during_a_sale(bug: LiveBug) -> Result<(), String> {
    let server = TestServer::embedded(SETTINGS).await;
    server.app.live.plant(bug);
    let event = server.event(SEATS as u64, 1).await;
    let sale = async {
        let mut traffic = Traffic::new(event, 3);
        loop {
            traffic.step(&server).await;
        }
    };
    let newcomers = async {
        let mut told = Vec::new();
        for nth in 0..40 {
            // A snapshot is kept until the next round: come at any time between two rounds, not only after one.
            tokio::time::sleep(std::time::Duration::from_millis(nth * 53 % 250)).await;
            let mut newcomer = TestWatcher::of(&server, event).await;
            while newcomer.model.snapshots == 0 && newcomer.next().await.is_some() {}
            told.push(newcomer.model);
        }
        told
    };
    let told = tokio::select! {
        told = newcomers => told,
        () = sale => unreachable!("it has no end"),
    };
    let history = history(&server, event).await;
    for model in told {
        let (n, states) = model.told.last().unwrap();
        if history.get(n) != Some(states) {
            return Err(format!("a snapshot at {n}: {states:?} is not {:?}", history.get(n)));
        }
    }
    Ok(())
}

/// The tests find what they are for.
#[tokio::test(flavor = "multi_thread")]
async fn planted_bugs_are_found() {
    resumed_behind_two_changes(LiveBug::None).await.unwrap();
    assert!(resumed_behind_two_changes(LiveBug::ResumeSkipsRow).await.is_err());
    snapshots_during_a_sale(LiveBug::None).await.unwrap();
    assert!(snapshots_during_a_sale(LiveBug::SnapshotAhead).await.is_err());
}

/// Two ledgers with other histories under the same numbers, as after a restore.
async fn resumed_in_another_history(bug: LiveBug) -> Result<(), String> {
    let (one, other) = (TestServer::embedded(SETTINGS).await, TestServer::embedded(SETTINGS).await);
    other.app.live.plant(bug);
    let event = one.event(SEATS as u64, 1).await;
    assert_eq!(other.event(SEATS as u64, 1).await, event);
    let mut client = one.client();
    for user in ["a", "b", "c"] {
        client.reserve(event, user).await;
    }
    let mut watcher = TestWatcher::of(&one, event).await;
    watcher.until("a snapshot", |model| model.snapshots == 1).await;
    assert_eq!(watcher.model.n(), 4);
    let mut client = other.client();
    for n in 0..6 {
        hold(&mut client, &format!("u{n}"), &seats(event, &[10 + n], n)).await;
    }
    let mut watcher = TestWatcher::resuming(&other, event, watcher.model).await;
    while watcher.next().await.is_some_and(|message| message.event.is_empty()) {}
    let wanted = history(&other, event).await.last_key_value().unwrap().1.clone();
    if watcher.model.states == wanted { Ok(()) } else { Err(format!("{:?}", watcher.model.states)) }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_history_is_not_resumed_into() {
    resumed_in_another_history(LiveBug::None).await.unwrap();
    assert!(resumed_in_another_history(LiveBug::AnyMark).await.is_err());
}
