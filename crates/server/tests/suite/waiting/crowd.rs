//! 10,000 people, 100 places, 1,000 seats: with leavers, ghosts, refreshes, and a door that is lost
//! again and again. Never more than 100 inside, order kept, 1,000 sold, nobody stuck.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;
use testing::backing::{Backing, TestStores};
use testing::database::Database;
use testing::http::{TestClient, TestResponse};
use testing::redis::OwnRedis;
use testing::rng::SeededRng;
use testing::server::TestServer;

use super::{Person, room_with};

const PEOPLE: u64 = 10_000;
const PLACES: u64 = 100;
const SEATS: u64 = 1_000;
const WORKERS: usize = 16;
const ARRIVALS_PER_STEP: usize = 600;
const STEP_MS: i64 = 2_000;
/// While no entry is granted, time may run faster.
const PAUSED_STEP_MS: i64 = 10_000;
const IDLE_S: i64 = 60;
/// Half an idleTimeout.
const PAUSE_MS: i64 = IDLE_S * 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Buys,
    /// Joins again with every second poll.
    Refreshes,
    /// Closes the tab in line.
    Vanishes,
    LeavesTheLine,
    /// Comes in, and closes the tab.
    VanishesInside,
    LeavesInside,
    /// Becomes `ready` and keeps polling without entering.
    Watches,
}

fn habit(rng: &mut SeededRng) -> Habit {
    match rng.below(100) {
        0..=59 => Habit::Buys,
        60..=69 => Habit::Refreshes,
        70..=83 => Habit::Vanishes,
        84..=89 => Habit::LeavesTheLine,
        90..=92 => Habit::VanishesInside,
        93..=95 => Habit::LeavesInside,
        _ => Habit::Watches,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Coming,
    InLine,
    /// Books or goes at that moment.
    Inside(i64),
    Sold(u64),
    ToldSoldOut,
    Gone,
}

struct Somebody {
    person: Person,
    habit: Habit,
    life: Life,
    number: u64,
    /// When they ask next, in ms.
    due: i64,
    asked: u64,
    /// Told to wait at that moment although a later number had come in.
    overtaken: Option<(i64, u64)>,
    /// The highest number that came in by them.
    entered: u64,
}

impl Somebody {
    /// What they do at this moment. `highest` is the highest number that came in so far; during a
    /// pause nobody new is admitted, so nothing is said about order.
    async fn act(&mut self, now: i64, highest: u64, pausing: bool) {
        self.asked += 1;
        match self.life {
            Life::Coming => {
                let joined = self.person.join().await;
                self.standing(&joined, now, highest, pausing).await;
            }
            Life::InLine => {
                let again = self.habit == Habit::Refreshes && self.asked.is_multiple_of(2);
                let answer =
                    if again { self.person.join_with_ticket().await } else { self.person.poll_with_ticket().await };
                self.standing(&answer, now, highest, pausing).await;
            }
            Life::Inside(until) if now >= until => self.finish().await,
            Life::Inside(_) => {
                self.person.poll().await;
                self.due = now + 30_000;
            }
            Life::Sold(_) | Life::ToldSoldOut | Life::Gone => {}
        }
    }

    async fn standing(&mut self, answer: &TestResponse, now: i64, highest: u64, pausing: bool) {
        if answer.status == 503 {
            // Redis is away for a moment: ask again.
            return;
        }
        assert_eq!(answer.status, 200, "{:?}: {}", self.habit, answer.text());
        let body = answer.json();
        let status = body["status"].as_str().unwrap();
        let number = body["number"].as_u64().unwrap();
        assert!(self.number == 0 || number == self.number, "the place was {}, now {body}", self.number);
        self.number = number;
        self.life = Life::InLine;
        self.due = now + body["pollAfter"].as_i64().unwrap() * 1_000;
        match (status, self.habit) {
            ("sold_out", _) => self.life = Life::ToldSoldOut,
            (_, Habit::Vanishes) => self.life = Life::Gone,
            (_, Habit::LeavesTheLine) => {
                let left = self.person.leave().await.status == 200;
                self.life = if left { Life::Gone } else { self.life };
            }
            ("ready", Habit::Watches) => {}
            ("ready", _) => self.enter(now).await,
            _ if number < highest && !pausing && self.habit != Habit::Watches => self.overtaken = Some((now, highest)),
            _ => {}
        }
    }

    async fn enter(&mut self, now: i64) {
        let entered = self.person.enter().await;
        match (entered.status, entered.reason().as_str()) {
            (200, _) => {
                self.entered = self.number;
                self.life = match self.habit {
                    Habit::VanishesInside => Life::Gone,
                    _ => Life::Inside(now + STEP_MS / 2),
                };
                self.due = now;
            }
            // The place was given to somebody before them, or the door was lost in between.
            (409, "not_ready") | (503, _) => self.due = now + 1_000,
            _ => panic!("{}", entered.text()),
        }
    }

    async fn finish(&mut self) {
        if self.habit == Habit::LeavesInside {
            if self.person.leave().await.status == 200 {
                self.life = Life::Gone;
            }
            return;
        }
        let answer = self.person.book().await;
        self.life = match (answer.status, answer.reason().as_str()) {
            (200, _) => Life::Sold(answer.seat().unwrap()),
            (409, "sold_out") => Life::ToldSoldOut,
            // The first answer was lost: it is theirs all the same.
            (409, "duplicate") if answer.json()["seat"]["id"].is_u64() => {
                Life::Sold(answer.json()["seat"]["id"].as_u64().unwrap())
            }
            (503, _) => self.life,
            _ => panic!("{}", answer.text()),
        };
    }
}

/// All users, in so many tasks.
struct Crowd {
    people: Vec<Vec<Somebody>>,
    highest: u64,
    pause_until: i64,
}

impl Crowd {
    fn new(stand: &TestServer, event: u64) -> Crowd {
        let mut rng = SeededRng::new(3);
        let mut people: Vec<Vec<Somebody>> = (0..WORKERS).map(|_| Vec::new()).collect();
        for i in 0..PEOPLE {
            let person = Person::new(stand, event, &format!("p{i}"));
            people[i as usize % WORKERS].push(Somebody {
                person,
                habit: habit(&mut rng),
                life: Life::Coming,
                number: 0,
                due: 0,
                asked: 0,
                overtaken: None,
                entered: 0,
            });
        }
        Crowd { people, highest: 0, pause_until: 0 }
    }

    /// One step: every user that is due acts.
    async fn step(&mut self, now: i64, address: std::net::SocketAddr) {
        let (highest, pausing) = (self.highest, now < self.pause_until);
        let mut running = Vec::new();
        for mut group in std::mem::take(&mut self.people) {
            running.push(tokio::spawn(async move {
                let mut client = TestClient::new(address);
                let mut come = 0;
                for one in &mut group {
                    let due = match one.life {
                        Life::Coming => {
                            come += 1;
                            come <= ARRIVALS_PER_STEP / WORKERS
                        }
                        Life::InLine | Life::Inside(_) => one.due <= now,
                        Life::Sold(_) | Life::ToldSoldOut | Life::Gone => false,
                    };
                    if due {
                        std::mem::swap(&mut client, &mut one.person.client);
                        one.act(now, highest, pausing).await;
                        std::mem::swap(&mut client, &mut one.person.client);
                    }
                }
                group
            }));
        }
        for task in running {
            self.people.push(task.await.unwrap());
        }
        self.highest = self.everybody().map(|one| one.entered).max().unwrap_or(0);
    }

    fn everybody(&self) -> impl Iterator<Item = &Somebody> {
        self.people.iter().flatten()
    }

    fn sold(&self) -> HashSet<u64> {
        self.everybody().filter_map(|one| if let Life::Sold(seat) = one.life { Some(seat) } else { None }).collect()
    }

    /// Users without a final answer.
    fn unsettled(&self) -> usize {
        let waits = |one: &&Somebody| matches!(one.life, Life::Coming | Life::InLine | Life::Inside(_));
        self.everybody().filter(waits).filter(|one| one.habit != Habit::Watches).count()
    }
}

/// Runs the crowd; `disturb` is called before every step with its number and what is sold, and says
/// whether the door was lost.
async fn rush(
    mut stand: TestServer,
    mut disturb: impl AsyncFnMut(TestServer, usize, usize) -> (TestServer, bool),
) -> (TestServer, u64) {
    let event =
        room_with(&stand, SEATS, json!({ "maxConcurrent": PLACES, "tokenTtl": 40, "idleTimeout": IDLE_S })).await;
    let mut crowd = Crowd::new(&stand, event);
    let (mut steps, mut losses) = (0, 0);
    while crowd.unsettled() > 0 {
        assert!(steps < 600, "{} people are stuck", crowd.unsettled());
        let sold = crowd.sold().len();
        let lost;
        (stand, lost) = disturb(stand, steps, sold).await;
        let pausing = stand.app.ledger.now().0 + PAUSED_STEP_MS < crowd.pause_until;
        stand.advance_ms(if pausing { PAUSED_STEP_MS } else { STEP_MS });
        let now = stand.app.ledger.now().0;
        if lost {
            losses += 1;
            crowd.pause_until = now + PAUSE_MS + 2 * STEP_MS;
        }
        crowd.step(now, stand.address).await;
        let inside = stand.app.ledger.event(rules::ids::EventId(event as i64)).await.unwrap().unwrap().counts.inside;
        assert!(u64::from(inside) <= PLACES, "{inside} are inside");
        steps += 1;
    }
    assert_eq!(crowd.sold(), (1..=SEATS).collect::<HashSet<u64>>(), "every seat once");
    let told = crowd.everybody().filter(|one| matches!(one.life, Life::Sold(_))).count();
    assert_eq!(told as u64, SEATS, "and nobody has two");
    let overtaken: Vec<_> = crowd.everybody().filter_map(|one| Some((one.number, one.overtaken?))).collect();
    assert!(overtaken.is_empty(), "{} people waited while later numbers had come in: {overtaken:?}", overtaken.len());
    let told_sold_out = crowd.everybody().filter(|one| one.life == Life::ToldSoldOut).count();
    assert!(told_sold_out > 3_000 && losses >= 2, "{told_sold_out} told sold out, {losses} losses");
    let asked: u64 = crowd.everybody().map(|one| one.asked).sum();
    println!("{asked} calls, {steps} steps, {losses} losses, {told_sold_out} told sold out");
    (stand, event)
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_ten_thousand_in_line_during_a_restart() {
    let stand = TestServer::on(Backing::Embedded, &[]).await;
    let mut restarts = 0;
    let (stand, _) = rush(stand, async |stand, _, sold| {
        let due = sold >= 200 + restarts * 400 && restarts < 2;
        restarts += usize::from(due);
        if due { (stand.restart().await, true) } else { (stand, false) }
    })
    .await;
    let (_, findings) = stores::ledger::sqlite::verify(&stand.app.settings.data_dir).unwrap();
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_ten_thousand_in_line_while_redis_is_wiped() {
    let (database, mut redis) = (Database::fresh().await, OwnRedis::start());
    let stores = Arc::new(TestStores::at(&database.url, &redis.url()));
    let stand = TestServer::at(stores, &[]).await;
    let mut losses = 0;
    let (stand, _) = rush(stand, async |stand, step, sold| {
        let lost = sold >= 200 + losses * 400 && losses < 2;
        if lost {
            losses += 1;
            if losses == 2 {
                redis.kill();
                redis.begin();
                while stand.client().get("/readyz").await.status != 200 {}
            } else {
                redis.ask::<()>(&["FLUSHALL"]);
            }
        }
        // A server that restarts loses nothing: the line is in Redis.
        let stand = if step % 25 == 20 { stand.restart().await } else { stand };
        (stand, lost)
    })
    .await;
    drop(stand);
    let (_, findings) = stores::ledger::postgres::verify(&database.url).await.unwrap();
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}
