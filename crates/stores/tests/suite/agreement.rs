//! Agreement: one stream of commands with a seed to the door in the process and to the one in
//! Redis, every answer compared, with time moved.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rules::arrive::{Arrival, Budget};
use rules::event::State;
use rules::ids::{ClientAddress, EventId, RequestName, User};
use stores::door::local::LocalDoor;
use stores::door::redis::RedisDoor;
use stores::door::{Door, Release, Remaining};
use testing::clock::FixtureClock;
use testing::redis::{Cluster, OwnRedis};
use testing::rng::SeededRng;
use testing::stands::redis_door;

const COMMANDS: usize = 20_000;

/// Redis' time moves on while the test runs, so both are moved in steps that are far larger than
/// the whole run, and no end lies close to a step.
const STEP_MS: i64 = 3_600_000;

/// What is left is told for a second of real time on one side, and by a clock that stands on the
/// other.
const FRESH: Duration = Duration::from_millis(900);

#[derive(Clone, Debug)]
enum Step {
    Arrive(EventId, Vec<Arrival>),
    Release(EventId, Vec<Release>),
    Settle(EventId, Remaining),
    Left(EventId),
    Open(EventId, u64),
    /// An hour passes: every mark and every window ends.
    Hour,
}

struct Stream {
    rng: SeededRng,
    names: u128,
    running: Vec<(EventId, Release)>,
    generation: u64,
    n: u64,
}

impl Stream {
    fn event(&mut self) -> EventId {
        EventId(1 + self.rng.below(3) as i64)
    }

    fn arrival(&mut self, event: EventId) -> Arrival {
        // Now and then a call is made again under the same name.
        if self.rng.below(5) > 0 {
            self.names += 1;
        }
        let user = match self.rng.below(8) {
            0 => None,
            _ => Some(User::stored(&format!("user {}", self.rng.below(40)))),
        };
        let address = match self.rng.below(4) {
            0 => ClientAddress::V6([0x20, 1, 0xd, 0xb8, 0, 0, 0, self.rng.below(3) as u8]),
            _ => ClientAddress::V4([10, 0, 0, self.rng.below(6) as u8]),
        };
        let name = RequestName(self.names);
        if let Some(user) = &user {
            self.running.push((event, Release { user: user.clone(), name }));
        }
        Arrival { name, user, address, keyed: self.rng.below(6) == 0 }
    }

    fn next(&mut self) -> Step {
        let event = self.event();
        match self.rng.below(100) {
            0..=54 => {
                let count = 1 + self.rng.below(4);
                Step::Arrive(event, (0..count).map(|_| self.arrival(event)).collect())
            }
            55..=79 => {
                let mut ended = Vec::new();
                for _ in 0..self.rng.below(4) {
                    if !self.running.is_empty() {
                        let at = self.rng.below(self.running.len() as u64) as usize;
                        ended.push(self.running.swap_remove(at).1);
                    }
                }
                Step::Release(event, ended)
            }
            80..=88 => {
                self.n += 1;
                let n = self.n.saturating_sub(self.rng.below(3));
                let (free, held) = (self.rng.below(9) as u32, self.rng.below(3) as u32);
                Step::Settle(
                    event,
                    Remaining { n, free, held, first_end: None, state: State::ALL[self.rng.below(4) as usize] },
                )
            }
            89..=95 => Step::Left(event),
            96..=97 => Step::Hour,
            _ => {
                self.generation += 1;
                Step::Open(event, self.generation.saturating_sub(self.rng.below(3)))
            }
        }
    }
}

async fn perform(door: &dyn Door, step: Step) -> String {
    match step {
        Step::Arrive(event, arrivals) => format!("{:?}", door.arrive(event, arrivals).await),
        Step::Release(event, ended) => format!("{:?}", door.release(event, ended).await),
        Step::Settle(event, left) => format!("{:?}", door.settle(event, Some(left), vec![]).await),
        Step::Left(event) => format!("{:?}", door.remaining(event).await),
        Step::Open(event, generation) => format!("{:?}", door.open(event, generation).await),
        Step::Hour => String::new(),
    }
}

/// How many answers were compared, and of how many kinds; or the first that differs.
async fn agree(other: &RedisDoor, budget: Budget, seed: u64, commands: usize) -> Result<(usize, usize), String> {
    let clock = Arc::new(FixtureClock::default());
    let local = LocalDoor::new(clock.clone(), budget);
    let mut stream = Stream { rng: SeededRng::new(seed), names: 0, running: Vec::new(), generation: 0, n: 0 };
    let (mut hours, mut asked) = (0, 0);
    let mut kinds = std::collections::HashSet::new();
    let mut settled: HashMap<EventId, Instant> = HashMap::new();
    while asked < commands {
        let step = stream.next();
        asked += match &step {
            Step::Arrive(_, arrivals) => arrivals.len(),
            _ => 1,
        };
        if matches!(step, Step::Hour) {
            hours += 1;
            clock.advance_ms(STEP_MS);
            other.move_clock(hours * STEP_MS);
        }
        if let Step::Settle(event, _) = &step {
            settled.insert(*event, Instant::now());
        }
        let (here, there) = (perform(&local, step.clone()).await, perform(other, step.clone()).await);
        // The one answer that depends on how fast this machine is.
        let stale = matches!(&step, Step::Left(event) if settled.get(event).is_none_or(|at| at.elapsed() > FRESH));
        if here != there && !stale {
            return Err(format!("seed {seed}, command {asked}, {step:?}:\n  local {here}\n  redis {there}"));
        }
        kinds.extend(here.split(['(', '{', ',', ' ', '[']).filter(|word| word.len() > 5).map(str::to_owned));
    }
    Ok((asked, kinds.iter().filter(|kind| kind.chars().all(char::is_alphabetic)).count()))
}

/// Long windows, so that what is left of one does not change while the test runs.
const BUDGET: Budget = Budget { limit: 25, window_ms: 1_800_000 };

async fn agreement(url: &str, cluster: bool, seed: u64) {
    let door = redis_door(url, cluster, "ours", BUDGET);
    let (asked, kinds) = agree(&door, BUDGET, seed, COMMANDS).await.unwrap_or_else(|words| panic!("{words}"));
    assert!(asked >= COMMANDS && kinds >= 5, "{asked} commands, {kinds} kinds of answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn doors_answer_20000_random_commands_alike() {
    let redis = OwnRedis::start();
    agreement(&redis.url(), false, 20_261_115).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_doors_answer_alike_on_a_cluster() {
    let cluster = Cluster::take();
    agreement(&cluster.url, true, 4).await;
}

/// The comparison notices a door with another budget, and one that forgets.
#[tokio::test(flavor = "multi_thread")]
async fn comparison_notices_a_different_door() {
    let redis = OwnRedis::start();
    let lenient = redis_door(&redis.url(), false, "ours", Budget { limit: 26, ..BUDGET });
    let words = agree(&lenient, BUDGET, 5, COMMANDS).await.expect_err("another budget");
    assert!(words.contains("AddressSpent"), "{words}");
    redis.ask::<()>(&["FLUSHALL"]);
    let forgetful = redis_door(&redis.url(), false, "ours", BUDGET);
    let (flushing, comparing) = tokio::join!(
        async {
            for _ in 0..50 {
                tokio::time::sleep(Duration::from_millis(10)).await;
                redis.ask::<()>(&["FLUSHALL"]);
            }
        },
        agree(&forgetful, BUDGET, 6, COMMANDS)
    );
    let ((), words) = (flushing, comparing.expect_err("a door that forgets"));
    println!("{words}");
}
