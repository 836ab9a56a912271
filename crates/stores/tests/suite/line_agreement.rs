//! Agreement of the lines: one stream of commands with a seed to the line in the process and to the
//! one in Redis, every answer compared, with time moved.

use std::sync::Arc;

use rules::arrive::Budget;
use rules::entries::{Entry, EntryToken, Moved, WaitingRoom};
use rules::event::State;
use rules::ids::{EventId, Number, User};
use rules::queue::{Asking, PlaceClaim, QueueReply, Serving, What};
use rules::time::{Clock, Moment};
use stores::door::local::LocalDoor;
use stores::door::redis::RedisDoor;
use stores::door::{Door, Heard, Remaining};
use stores::ledger::LineBegun;
use testing::clock::FixtureClock;
use testing::redis::{Cluster, OwnRedis};
use testing::rng::SeededRng;
use testing::stands::redis_door;

const COMMANDS: usize = 6_000;
const EVENT: EventId = EventId(1);
/// Redis' time moves on while the test runs, so both are moved in steps that are far larger than
/// the whole run, and no end lies close to a step.
const STEP_MS: i64 = 1_200_000;
const ROOM: WaitingRoom = WaitingRoom {
    max_concurrent: 4,
    token_ttl_ms: 2_900_000,
    token_max_age_ms: 8_900_000,
    idle_ms: 3_000_000,
    queue_most: 20,
    gather_from: None,
    admit_per_minute: None,
    gathered: false,
};
const DRAWN: WaitingRoom = WaitingRoom { gather_from: Some(Moment(1)), ..ROOM };
/// What depends on the running clock is compared to the minute.
const ROUGH_MS: i64 = 60_000;

#[derive(Clone, Debug)]
enum Step {
    Ask(Asking),
    Serving,
    Moved(Moved),
    /// The generation was raised, and the line begins anew.
    Begin {
        generation: u64,
        inside: Vec<Entry>,
        n: u64,
        used: bool,
    },
    Later,
}

struct Stream {
    rng: SeededRng,
    n: u64,
    generation: u64,
    entries: Vec<Entry>,
    supply: (u32, u32, State),
}

impl Stream {
    /// Somebody, and numbers that only they have tickets for.
    fn user(&mut self) -> (User, u64) {
        let who = self.rng.below(14);
        (User::stored(&format!("user {who}")), 1_000 + 10 * who)
    }

    fn next(&mut self, now: Moment) -> Step {
        match self.rng.below(100) {
            0..=69 => {
                let what = match self.rng.below(10) {
                    0..=3 => What::Join,
                    4..=6 => What::Poll,
                    7..=8 => What::Enter,
                    _ => What::Leave,
                };
                let (user, theirs) = self.user();
                let number = Number(theirs + self.rng.below(10));
                let claim = match self.rng.below(16) {
                    0 => Some(PlaceClaim::by_ticket(number)),
                    1 => Some(PlaceClaim::drawn(Number::drawn(number.0 << 30))),
                    _ => None,
                };
                Step::Ask(Asking { user, what, claim: claim.filter(|_| what != What::Leave) })
            }
            70..=77 => Step::Serving,
            78..=83 => {
                self.supply =
                    (self.rng.below(3) as u32, self.rng.below(2) as u32, State::ALL[self.rng.below(4) as usize]);
                if self.rng.below(3) > 0 {
                    self.supply = (5, 0, State::Open);
                }
                Step::Serving
            }
            84..=93 if !self.entries.is_empty() => {
                let at = self.rng.below(self.entries.len() as u64) as usize;
                let Entry { user, n, .. } = self.entries[at].clone();
                match self.rng.below(3) {
                    0 => Step::Moved(Moved::Out { user, n: n + self.rng.below(3) }),
                    1 => Step::Moved(Moved::Renewed { user, n, ends: now.plus_ms(ROOM.token_ttl_ms) }),
                    _ => Step::Moved(Moved::In(self.entries[at].clone())),
                }
            }
            94..=95 => {
                self.generation += self.rng.below(2);
                let known = self.entries.len().saturating_sub(3);
                let inside = self.entries[known..].iter().filter(|e| e.ends > now).cloned().collect();
                Step::Begin {
                    generation: self.generation,
                    inside,
                    n: self.n.saturating_sub(1),
                    used: self.rng.below(2) == 0,
                }
            }
            _ => Step::Later,
        }
    }

    /// The ledger lets them in.
    fn admit(&mut self, user: &User, number: Number, now: Moment) -> Entry {
        self.n += 2;
        let (ends, cap) = (now.plus_ms(ROOM.token_ttl_ms), now.plus_ms(ROOM.token_max_age_ms));
        let token = EntryToken([0; 16]);
        let entry = Entry { number, user: user.clone(), token, n: self.n, begins: now, ends, cap };
        self.entries.push(entry.clone());
        entry
    }
}

/// Equal up to what the running clock changes.
fn rough_told(heard: Heard<QueueReply>) -> Heard<QueueReply> {
    match heard {
        Heard::Said(QueueReply::Inside { left_ms, cap_left_ms }) => {
            let rough = |ms: i64| (ms + ROUGH_MS / 2) / ROUGH_MS;
            Heard::Said(QueueReply::Inside { left_ms: rough(left_ms), cap_left_ms: rough(cap_left_ms) })
        }
        Heard::Said(QueueReply::NotReady { retry_after }) if retry_after > 100 => {
            Heard::Said(QueueReply::NotReady { retry_after: (retry_after + 30) / 60 })
        }
        heard => heard,
    }
}

/// The rate is of the last minute, which passes at its own pace.
fn rough_serving(heard: Heard<Serving>) -> Heard<Serving> {
    match heard {
        Heard::Said(serving) => Heard::Said(Serving { admitted_per_minute: 0, counted_ms: 0, ..serving }),
        heard => heard,
    }
}

async fn perform(door: &dyn Door, room: WaitingRoom, step: &Step, at: Moment) -> String {
    match step {
        Step::Ask(asking) => format!("{:?}", door.ask(EVENT, room, asking.clone()).await.map(rough_told)),
        Step::Serving => format!("{:?}", door.serving(EVENT, room).await.map(rough_serving)),
        Step::Moved(moved) => format!("{:?}", door.moved(EVENT, vec![moved.clone()], at).await),
        Step::Begin { generation, inside, n, used } => {
            let opened = door.open(EVENT, *generation).await;
            let begun = LineBegun { used: *used, n: *n, at, inside: inside.clone() };
            format!("{opened:?} {:?}", door.begin_line(EVENT, room, begun).await)
        }
        Step::Later => String::new(),
    }
}

/// How many answers were compared, and of how many kinds; or the first that differs.
async fn agree(
    other: &RedisDoor,
    [own, room]: [WaitingRoom; 2],
    seed: u64,
    commands: usize,
) -> Result<(usize, usize), String> {
    let start = 1_800_000_000_000;
    let clock = Arc::new(FixtureClock::at(Moment(start)));
    let local = LocalDoor::new(clock.clone(), Budget::default());
    let mut stream =
        Stream { rng: SeededRng::new(seed), n: 1, generation: 0, entries: Vec::new(), supply: (5, 0, State::Open) };
    let first = Step::Begin { generation: 0, inside: Vec::new(), n: 1, used: false };
    let mut waiting = vec![first];
    let mut kinds = std::collections::HashSet::new();
    for asked in 0..commands {
        let now = clock.now();
        let step = waiting.pop().unwrap_or_else(|| stream.next(now));
        if matches!(step, Step::Later) {
            clock.advance_ms(STEP_MS);
            other.move_clock(clock.now().0 - start);
        }
        // What is left is told for a second of real time on one side: it is said anew each time.
        let (free, held, state) = stream.supply;
        let left = Remaining { n: 1, free, held, first_end: None, state };
        for door in [&local as &dyn Door, other] {
            door.settle(EVENT, Some(left.clone()), vec![]).await.map_err(|f| f.to_string())?;
        }
        let (here, there) =
            (perform(&local, own, &step, clock.now()).await, perform(other, room, &step, clock.now()).await);
        if here != there {
            return Err(format!("seed {seed}, command {asked}, {step:?}:\n  local {here}\n  redis {there}"));
        }
        if let (Step::Ask(asking), Some(number)) = (&step, number_of(&here)) {
            waiting.push(Step::Moved(Moved::In(stream.admit(&asking.user, number, clock.now()))));
        }
        kinds.extend(here.split(['(', '{', ',', ' ', '[']).filter(|word| word.len() > 4).map(str::to_owned));
    }
    Ok((commands, kinds.iter().filter(|kind| kind.chars().all(char::is_alphabetic)).count()))
}

/// The number by which the ledger may let them in.
fn number_of(said: &str) -> Option<Number> {
    let (_, rest) = said.split_once("MayEnter { number: Number(")?;
    rest.split_once(')')?.0.parse().ok().map(Number)
}

async fn agreement(url: &str, cluster: bool, seed: u64, room: WaitingRoom) {
    let door = redis_door(url, cluster, "ours", Budget::default());
    let (asked, kinds) = agree(&door, [room; 2], seed, COMMANDS).await.unwrap_or_else(|words| panic!("{words}"));
    assert!(asked == COMMANDS && kinds >= 9, "{asked} commands, {kinds} kinds of answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_answer_random_commands_alike() {
    for (seed, room) in [(7, ROOM), (20_261_115, DRAWN)] {
        let redis = OwnRedis::start();
        agreement(&redis.url(), false, seed, room).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_lines_answer_alike_on_a_cluster() {
    let cluster = Cluster::take();
    agreement(&cluster.url, true, 4, DRAWN).await;
}

/// The comparison notices a line with a longer timeout, one with a place more, and one whose order was drawn.
#[tokio::test(flavor = "multi_thread")]
async fn comparison_notices_a_different_line() {
    let longer = WaitingRoom { idle_ms: ROOM.idle_ms + STEP_MS, ..ROOM };
    for room in [longer, WaitingRoom { max_concurrent: 5, ..ROOM }, DRAWN] {
        let redis = OwnRedis::start();
        let door = redis_door(&redis.url(), false, "ours", Budget::default());
        let words = agree(&door, [ROOM, room], 5, COMMANDS).await.expect_err("another line");
        println!("{words}");
    }
}
