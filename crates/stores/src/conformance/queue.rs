//! The waiting room: users keep their places, silent ones are passed over, unused turns lapse, and the
//! ledger counts entries. One door and one ledger, called as a server calls them.

use rules::command::{Command, EventAction};
use rules::entries::{Entry, EntryToken, Moved, WaitingRoom};
use rules::event::{Event, NewEvent, Turn};
use rules::history::{Actor, AdminName, RequestOrigin};
use rules::ids::{EventId, Number, User};
use rules::outcome::{Done, Outcome, Refusal};
use rules::queue::{Asking, Place, PlaceClaim, QueueReply, Serving, Status, What};
use rules::seats::Hall;
use rules::time::Moment;

use super::{Stand, Verdict, expect_refusal, expect_sale};
use crate::door::{Heard, Remaining};
use crate::ensure;
use crate::ledger::Batch;

pub async fn chapter(stand: &Stand) -> Verdict {
    places_last(stand).await?;
    closed_tabs_stop_nobody(stand).await?;
    entries_end_and_nobody_extra_comes_in(stand).await?;
    a_turn_that_is_not_used_lapses(stand).await?;
    only_who_is_inside_books(stand).await?;
    renewals_have_a_cap(stand).await?;
    nothing_left_and_not_open(stand).await?;
    everybody_follows_one_number(stand).await?;
    late_news_undoes_nothing(stand).await?;
    super::line_end::chapter(stand).await?;
    super::gathering::chapter(stand).await?;
    super::inside::chapter(stand).await
}

/// An event with a waiting room, and the users in front of it.
pub struct Hallway<'a> {
    pub stand: &'a Stand,
    pub event: EventId,
    pub waiting_room: WaitingRoom,
}

pub const ROOM: WaitingRoom = WaitingRoom {
    max_concurrent: 2,
    token_ttl_ms: 300_000,
    token_max_age_ms: 1_800_000,
    idle_ms: 60_000,
    queue_most: 1_000,
    gather_from: None,
    admit_per_minute: None,
    gathered: false,
};

impl<'a> Hallway<'a> {
    pub async fn new(stand: &'a Stand, seats: u32, max_concurrent: u32) -> Result<Hallway<'a>, String> {
        Hallway::with(stand, seats, WaitingRoom { max_concurrent, ..ROOM }, None).await
    }

    pub async fn with(
        stand: &'a Stand,
        seats: u32,
        room: WaitingRoom,
        opens_at: Option<Moment>,
    ) -> Result<Hallway<'a>, String> {
        let new = NewEvent {
            by: AdminName::default(),
            origin: RequestOrigin::default(),
            name: "Waiting".into(),
            hall: Hall::Count(seats),
            max_per_user: 1,
            opens_at,
            occasion: Default::default(),
            hold_ttl_ms: None,
            buyer_fields: Default::default(),
            price: None,
            rehearsal: false,
            waiting_room: Some(room),
        };
        let event = stand.ledger.create_event(new).await.map_err(|f| f.to_string())?.id;
        Ok(Hallway { stand, event, waiting_room: room })
    }

    /// Asks as a server does: first gives the door what it does not know.
    async fn heard<T, W>(&self, ask: impl Fn() -> W) -> Result<T, String>
    where
        W: Future<Output = Result<Heard<T>, crate::door::DoorFault>>,
    {
        for _ in 0..5 {
            match ask().await.map_err(|f| f.to_string())? {
                Heard::Said(said) => return Ok(said),
                Heard::NotOpen => self.open().await?,
                Heard::NotBegun => self.begin().await?,
                Heard::NoRemaining => self.settle().await?,
            }
        }
        Err("the door never has anything to say".into())
    }

    pub async fn open(&self) -> Verdict {
        let generation = self.stand.ledger.raise_generation(self.event, None).await.map_err(|f| f.to_string())?;
        self.stand.door.open(self.event, generation).await.map(drop).map_err(|f| f.to_string())
    }

    pub async fn begin(&self) -> Verdict {
        let begun = self.stand.ledger.begin_line(self.event).await.map_err(|f| f.to_string())?;
        self.stand.door.begin_line(self.event, self.waiting_room, begun).await.map_err(|f| f.to_string())
    }

    async fn settle(&self) -> Verdict {
        let event = self.stand.ledger.event(self.event).await.map_err(|f| f.to_string())?.ok_or("no event")?;
        let state = event.state_at(self.stand.ledger.wall());
        let (free, held) = (event.remaining(), event.counts.live());
        let left = Remaining { n: event.counts.n, free, held, first_end: None, state };
        self.stand.door.settle(self.event, Some(left), vec![]).await.map_err(|f| f.to_string())
    }

    pub async fn ask(&self, user: &str, what: What) -> Result<QueueReply, String> {
        self.ask_with(user, what, None).await
    }

    pub async fn ask_with(&self, user: &str, what: What, claim: Option<PlaceClaim>) -> Result<QueueReply, String> {
        let asking = Asking { user: User::stored(user), what, claim };
        self.heard(|| self.stand.door.ask(self.event, self.waiting_room, asking.clone())).await
    }

    pub async fn serving(&self) -> Result<Serving, String> {
        self.heard(|| self.stand.door.serving(self.event, self.waiting_room)).await
    }

    pub async fn place(&self, user: &str, what: What) -> Result<Place, String> {
        match self.ask(user, what).await? {
            QueueReply::Place(place) => Ok(place),
            other => Err(format!("{user} should have a place: {other:?}")),
        }
    }

    async fn expect(&self, user: &str, what: What, wanted: &QueueReply) -> Verdict {
        let told = self.ask(user, what).await?;
        ensure!(told == *wanted, "{user} {what:?}: {told:?} instead of {wanted:?}");
        Ok(())
    }

    /// Commits one command of the waiting room, and tells the door.
    pub async fn command(&self, user: &str, action: EventAction, entry: Option<EntryToken>) -> Result<Outcome, String> {
        let name = self.stand.reserve(user).name;
        let number = action.wants_a_seat().then_some(Number(self.stand.next()));
        let (actor, origin) = (Actor::User(User::stored(user)), RequestOrigin::default());
        let command = Command { actor, number, name, key: None, entry, origin, action, details: None };
        let batch = Batch::<Event>::new(self.event, vec![command].into(), Default::default());
        let mut committed = self.stand.ledger.commit(batch).await.map_err(|f| f.to_string())?;
        self.stand
            .door
            .moved(self.event, committed.effects.moved, self.stand.ledger.now())
            .await
            .map_err(|f| f.to_string())?;
        self.settle().await?;
        committed.answers.pop().map(|answer| answer.outcome).ok_or_else(|| "no answer".into())
    }

    /// Enters if it is the user's turn.
    pub async fn enter(&self, user: &str) -> Result<Result<Entry, Refusal>, String> {
        let number = match self.ask(user, What::Enter).await? {
            QueueReply::MayEnter { number } => Some(number),
            QueueReply::Inside { .. } => None,
            QueueReply::NotReady { retry_after } => return Ok(Err(Refusal::NotReady { retry_after })),
            QueueReply::NotQueued => return Ok(Err(Refusal::NotQueued)),
            other => return Err(format!("{other:?}")),
        };
        self.enter_by(user, number).await
    }

    pub async fn enter_by(&self, user: &str, number: Option<Number>) -> Result<Result<Entry, Refusal>, String> {
        let token = EntryToken(u128::from(self.stand.next()).to_be_bytes());
        match self.command(user, EventAction::Enter { number, token }, None).await? {
            Outcome::Done(Done::Entered(entry)) => Ok(Ok(*entry)),
            Outcome::Refused(refusal) => Ok(Err(refusal)),
            other => Err(format!("{other:?}")),
        }
    }

    pub async fn comes_in(&self, user: &str) -> Result<Entry, String> {
        self.enter(user).await?.map_err(|refusal| format!("{user} should come in: {refusal:?}"))
    }

    async fn stays_out(&self, user: &str) -> Verdict {
        match self.enter(user).await? {
            Err(Refusal::NotReady { .. }) => Ok(()),
            other => Err(format!("{user} should not come in: {other:?}")),
        }
    }

    /// The user is inside until `ends` by the ledger's clock.
    async fn is_inside_until(&self, user: &str, ends: Moment) -> Verdict {
        let told = self.ask(user, What::Poll).await?;
        let wanted = self.stand.ledger.now().ms_until(ends);
        // Real clocks advance during the test.
        let near = |left: i64| (left - wanted).abs() < 2_000;
        ensure!(
            matches!(told, QueueReply::Inside { left_ms, .. } if near(left_ms)),
            "{user}: {told:?}, wanted {wanted}"
        );
        Ok(())
    }

    pub fn later(&self, ms: i64) {
        (self.stand.advance)(ms);
    }
}

/// Joining again, refreshing and silence do not cost a user the place; numbers rise by arrival.
async fn places_last(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 9, 2).await?;
    for (i, user) in ["zoe", "adam", "mia", "bob"].into_iter().enumerate() {
        let place = hall.place(user, What::Join).await?;
        ensure!(place.number.0 == i as u64 + 1 && place.rank == i as u64, "{user} came as number {i}: {place:?}");
    }
    let again = hall.place("mia", What::Join).await?;
    ensure!(again.number.0 == 3 && again.rank == 2 && again.ahead == 1, "a refresh moved mia: {again:?}");
    ensure!(again.status == Status::Waiting && again.poll_after == 1, "two places, and she is third: {again:?}");
    hall.expect("nobody", What::Poll, &QueueReply::NotQueued).await?;
    hall.expect("nobody", What::Enter, &QueueReply::NotQueued).await?;
    hall.later(59_000);
    hall.place("mia", What::Poll).await?;
    hall.later(2_000);
    let alone = hall.place("mia", What::Poll).await?;
    ensure!(alone.rank == 0 && alone.status == Status::Ready, "the silent are passed over: {alone:?}");
    let back = hall.place("bob", What::Poll).await?;
    ensure!(back.number.0 == 4 && back.rank == 1, "bob has his place back: {back:?}");
    let first = hall.place("zoe", What::Poll).await?;
    ensure!(first.number.0 == 1 && first.rank == 0, "and zoe hers: {first:?}");
    hall.expect("zoe", What::Enter, &QueueReply::MayEnter { number: Number(1) }).await?;
    let after = hall.place("mia", What::Poll).await?;
    ensure!(after.rank == 1, "who asks to enter is counted again: {after:?}");
    hall.expect("zoe", What::Leave, &QueueReply::Gone).await?;
    hall.expect("zoe", What::Leave, &QueueReply::Gone).await?;
    hall.expect("zoe", What::Poll, &QueueReply::NotQueued).await?;
    let last = hall.place("zoe", What::Join).await?;
    ensure!(last.number.0 == 5, "who left comes last: {last:?}");
    let proven = hall.ask_with("zoe", What::Join, Some(PlaceClaim::by_ticket(Number(1)))).await?;
    ensure!(
        matches!(proven, QueueReply::Place(Place { number: Number(1), rank: 0, .. })),
        "a ticket counts: {proven:?}"
    );
    let worse = hall.ask_with("zoe", What::Join, Some(PlaceClaim::by_ticket(Number(4)))).await?;
    ensure!(matches!(worse, QueueReply::Place(Place { number: Number(1), .. })), "a worse one does not: {worse:?}");
    Ok(())
}

/// 800 join and close the tab, 800 places: the 801st enters within one idleTimeout.
async fn closed_tabs_stop_nobody(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 2_000, 800).await?;
    for i in 0..800 {
        hall.place(&format!("ghost{i}"), What::Join).await?;
    }
    let honest = hall.place("honest", What::Join).await?;
    ensure!(honest.rank == 800 && honest.ahead == 1 && honest.status == Status::Waiting, "{honest:?}");
    hall.stays_out("honest").await?;
    hall.later(59_000);
    hall.place("honest", What::Poll).await?;
    hall.later(1_500);
    hall.comes_in("honest").await.map(|_| ())
}

async fn entries_end_and_nobody_extra_comes_in(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 9, 2).await?;
    for user in ["a", "b", "c", "d", "e"] {
        hall.place(user, What::Join).await?;
    }
    let first = hall.comes_in("a").await?;
    let again = hall.comes_in("a").await?;
    ensure!(first == again, "asking again made another entry: {again:?}");
    hall.comes_in("b").await?;
    hall.stays_out("c").await?;
    hall.is_inside_until("a", first.ends).await?;
    // Past the door: the ledger counts for itself, and a number is never valid again after use.
    let full = hall.enter_by("c", Some(Number(3))).await?;
    ensure!(matches!(full, Err(Refusal::NotReady { .. })), "a third of two came in: {full:?}");
    // Leaving twice frees one place, not two.
    for _ in 0..2 {
        let left = hall.command("a", EventAction::Leave, None).await?;
        ensure!(left == Outcome::Done(Done::Left), "{left:?}");
    }
    hall.expect("a", What::Poll, &QueueReply::NotQueued).await?;
    let spent = hall.enter_by("a", Some(first.number)).await?;
    ensure!(spent == Err(Refusal::NotQueued), "a used number came in again: {spent:?}");
    ensure!(stand.ledger.number_spent(hall.event, first.number).await == Ok(true), "the ledger forgot a number");
    ensure!(stand.ledger.number_spent(hall.event, Number(99)).await == Ok(false), "a number that nobody used");
    hall.comes_in("c").await?;
    hall.stays_out("d").await?;
    let told = hall.ask("d", What::Enter).await?;
    ensure!(matches!(told, QueueReply::NotReady { .. }), "the door itself would let too many in: {told:?}");
    // Their entries expire: both places are free at once.
    hall.later(241_000);
    for user in ["d", "e"] {
        hall.place(user, What::Poll).await?;
    }
    hall.later(59_500);
    hall.comes_in("d").await?;
    hall.comes_in("e").await.map(|_| ())
}

/// 800 users who are ready and only poll do not block the rest; they may still enter when they ask.
async fn a_turn_that_is_not_used_lapses(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 2_000, 50).await?;
    let idlers: Vec<String> = (0..50).map(|i| format!("idler{i}")).collect();
    for user in &idlers {
        let place = hall.place(user, What::Join).await?;
        ensure!(place.status == Status::Ready, "{user}: {place:?}");
    }
    for step in 0..3 {
        hall.later(20_500);
        for user in &idlers {
            hall.place(user, What::Poll).await?;
        }
        let next = hall.place("next", What::Join).await?;
        let wanted = if step < 2 { (Status::Waiting, 50) } else { (Status::Ready, 0) };
        ensure!((next.status, next.rank) == wanted, "{} s later: {next:?}", (step + 1) * 20);
    }
    let passed = hall.place(&idlers[0], What::Poll).await?;
    ensure!(passed.rank == 0 && passed.status == Status::Ready, "it is still their turn, if they ask: {passed:?}");
    ensure!(hall.serving().await?.waiting == 1, "and they are not counted");
    hall.comes_in(&idlers[0]).await?;
    hall.comes_in("next").await.map(|_| ())
}

async fn only_who_is_inside_books(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 9, 2).await?;
    let book = |entry| {
        let EventAction::Reserve(buyer) = stand.reserve("x").action else { unreachable!("a reservation") };
        (EventAction::Reserve(buyer), entry)
    };
    for user in ["alice", "bob", "carol"] {
        hall.place(user, What::Join).await?;
    }
    let refused = |outcome: Outcome, who: &str| {
        ensure!(outcome == Outcome::Refused(Refusal::EntryRequired), "{who} booked: {outcome:?}");
        Ok(())
    };
    let (action, none) = book(None);
    refused(hall.command("alice", action.clone(), none).await?, "somebody in line")?;
    let (alice, bob) = (hall.comes_in("alice").await?, hall.comes_in("bob").await?);
    refused(hall.command("alice", action.clone(), None).await?, "somebody without a token")?;
    refused(hall.command("alice", action.clone(), Some(EntryToken([7; 16]))).await?, "a forged token")?;
    refused(hall.command("alice", action.clone(), Some(bob.token)).await?, "another's token")?;
    refused(hall.command("mallory", action.clone(), Some(bob.token)).await?, "a shared token")?;
    let nobody = Command { actor: Actor::Nobody, entry: Some(bob.token), ..stand.reserve("x") };
    expect_refusal(&stand.one(hall.event, nobody).await?, &Refusal::EntryRequired)?;
    let choice = Command { entry: None, ..stand.choose("alice", 4) };
    expect_refusal(&stand.one(hall.event, choice).await?, &Refusal::EntryRequired)?;
    let sold = hall.command("alice", action.clone(), Some(alice.token)).await?;
    ensure!(matches!(sold, Outcome::Done(Done::Reserved(_))), "{sold:?}");
    // She is at the limit: the same transaction frees her place.
    hall.comes_in("carol").await?;
    let again = hall.enter_by("alice", Some(Number(77))).await?;
    ensure!(matches!(again, Err(Refusal::Duplicate { .. })), "a buyer at the limit came in again: {again:?}");
    refused_or_served(&hall, "alice", &action, alice.token).await?;
    hall.later(301_000);
    refused(hall.command("bob", action, Some(bob.token)).await?, "an entry that has ended")
}

/// A user at the limit gets that refusal: it comes before the one about the entry.
async fn refused_or_served(hall: &Hallway<'_>, user: &str, action: &EventAction, token: EntryToken) -> Verdict {
    let again = hall.command(user, action.clone(), Some(token)).await?;
    ensure!(matches!(again, Outcome::Refused(Refusal::Duplicate { .. })), "{again:?}");
    hall.expect(user, What::Poll, &QueueReply::NotQueued).await
}

async fn renewals_have_a_cap(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 9, 1).await?;
    hall.place("alice", What::Join).await?;
    let entry = hall.comes_in("alice").await?;
    let mut ends = entry.ends;
    let mut renewals = 0;
    while renewals < 20 {
        hall.later(200_000);
        match hall.command("alice", EventAction::Renew, None).await? {
            Outcome::Done(Done::Renewed { ends: later }) => {
                ensure!(later >= ends && later <= entry.cap, "{later:?} is beyond {:?}", entry.cap);
                hall.is_inside_until("alice", later).await?;
                ends = later;
                renewals += 1;
            }
            Outcome::Refused(Refusal::NotQueued) => break,
            other => return Err(format!("{other:?}")),
        }
    }
    ensure!((8..=9).contains(&renewals), "{renewals} renewals in half an hour");
    ensure!(ends == entry.cap, "the last renewal reaches the cap");
    hall.expect("alice", What::Poll, &QueueReply::NotQueued).await
}

async fn nothing_left_and_not_open(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 1, 5).await?;
    for user in ["alice", "bob"] {
        hall.place(user, What::Join).await?;
    }
    let pause = Command {
        actor: Actor::Admin(AdminName::default()),
        action: EventAction::Turn(Turn::Pause),
        ..stand.reserve("x")
    };
    stand.one(hall.event, pause).await?;
    hall.settle().await?;
    let paused = hall.place("alice", What::Poll).await?;
    ensure!(paused.status == Status::Waiting && paused.rank == 0, "{paused:?}");
    hall.stays_out("alice").await?;
    let early = hall.enter_by("alice", Some(Number(1))).await?;
    ensure!(matches!(early, Err(Refusal::NotReady { .. })), "the ledger let somebody in during a pause: {early:?}");
    let resume = Command {
        actor: Actor::Admin(AdminName::default()),
        action: EventAction::Turn(Turn::Resume),
        ..stand.reserve("x")
    };
    stand.one(hall.event, resume).await?;
    hall.settle().await?;
    let entry = hall.comes_in("alice").await?;
    let booking = Command { entry: Some(entry.token), ..stand.reserve("alice") };
    let n = expect_sale(&stand.one(hall.event, booking).await?)?.reservation.n;
    hall.settle().await?;
    let none = hall.place("bob", What::Poll).await?;
    ensure!(none.status == Status::SoldOut && none.number == Number(2), "nothing is left: {none:?}");
    hall.stays_out("bob").await?;
    ensure!(hall.serving().await?.sold_out, "everybody should know");
    stand.one(hall.event, stand.cancel("alice", n)).await?;
    hall.settle().await?;
    let alive = hall.place("bob", What::Poll).await?;
    ensure!(alive.status == Status::Ready && alive.number == Number(2), "stock came back: {alive:?}");
    hall.comes_in("bob").await.map(|_| ())
}

async fn everybody_follows_one_number(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 9, 2).await?;
    ensure!(hall.serving().await?.serving == 0, "nobody has a number yet");
    for user in ["a", "b", "c", "d", "e"] {
        hall.place(user, What::Join).await?;
    }
    let serving = hall.serving().await?;
    ensure!((serving.serving, serving.waiting, serving.inside) == (2, 5, 0), "{serving:?}");
    hall.comes_in("b").await?;
    let serving = hall.serving().await?;
    ensure!((serving.serving, serving.waiting, serving.inside) == (1, 4, 1), "it may go back: {serving:?}");
    hall.comes_in("a").await?;
    let serving = hall.serving().await?;
    ensure!((serving.serving, serving.admitted_per_minute) == (2, 2), "full: c is the next: {serving:?}");
    hall.command("a", EventAction::Leave, None).await?;
    hall.command("b", EventAction::Leave, None).await?;
    for user in ["d", "e"] {
        hall.expect(user, What::Leave, &QueueReply::Gone).await?;
    }
    let serving = hall.serving().await?;
    ensure!((serving.serving, serving.waiting) == (5, 1), "whoever comes next is admitted: {serving:?}");
    hall.later(70_000);
    ensure!(hall.serving().await?.admitted_per_minute == 0, "the rate is of the last minute");
    Ok(())
}

/// Servers update the door in any order.
async fn late_news_undoes_nothing(stand: &Stand) -> Verdict {
    let hall = Hallway::new(stand, 9, 2).await?;
    hall.place("alice", What::Join).await?;
    let first = hall.comes_in("alice").await?;
    hall.command("alice", EventAction::Leave, None).await?;
    hall.place("alice", What::Join).await?;
    let second = hall.comes_in("alice").await?;
    let tell = |moved| stand.door.moved(hall.event, vec![moved], stand.ledger.now());
    let user = User::stored("alice");
    let late = [
        Moved::Out { user: user.clone(), n: second.n - 1 },
        Moved::In(first.clone()),
        Moved::Renewed { user, n: first.n, ends: second.ends.plus_ms(9_000_000) },
    ];
    for moved in late {
        tell(moved.clone()).await.map_err(|f| f.to_string())?;
        hall.is_inside_until("alice", second.ends).await.map_err(|words| format!("after {moved:?}: {words}"))?;
    }
    ensure!(hall.serving().await?.inside == 1, "she is inside once");
    let entry = stand.ledger.entry_of(hall.event, User::stored("alice")).await.map_err(|f| f.to_string())?;
    ensure!(entry.as_ref() == Some(&second), "{entry:?}");
    Ok(())
}
