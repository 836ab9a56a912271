//! The waiting room of an event: asks the door whose turn it is, and the ledger to let people in.
//!
//! A door that forgot is told what it must know, once per server however many ask: the generation,
//! who is inside, what is left.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rules::command::EventAction;
use rules::entries::{Entry, EntryToken, Moved, WaitingRoom, renewal_due};
use rules::event::{Event, State};
use rules::history::Actor;
use rules::ids::{EventId, Number, User};
use rules::outcome::{Done, Outcome, Refusal};
use rules::queue::{Asking, Place, QueueReply, Serving, What};
use rules::time::Moment;
use stores::door::{DoorFault, Heard};
use stores::ledger::LedgerFault;

use crate::app::App;
use crate::batch::{closed, left, refusal};
use crate::reserve::change;
use crate::tickets::{Ticket, random};

/// What is remembered of an event's settings is looked up again after this.
const FRESH: Duration = Duration::from_secs(1);
/// Everybody who follows the line shares one answer for so long.
const SHARED_MS: i64 = 200;
/// Other servers may open the door, or Redis be flushed again, meanwhile.
const TRIES: usize = 8;

#[derive(Default)]
pub struct Lines(Mutex<HashMap<EventId, Arc<Kept>>>);

/// What this server remembers of one event.
#[derive(Default)]
struct Kept {
    event: Mutex<Option<(Arc<Event>, Instant)>>,
    looking: tokio::sync::Mutex<()>,
    /// One of those who found the door forgetful tells it; the others wait, and ask again.
    mending: tokio::sync::Mutex<()>,
    mended: AtomicU64,
    serving: Mutex<Option<(Serving, Moment)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Lines {
    fn of(&self, event: EventId) -> Arc<Kept> {
        locked(&self.0).entry(event).or_default().clone()
    }

    /// It was changed here.
    pub fn learn(&self, event: &Event) {
        let kept = self.of(event.id);
        *locked(&kept.event) = Some((Arc::new(event.clone()), Instant::now()));
        *locked(&kept.serving) = None;
    }

    pub fn forget(&self, event: EventId) {
        locked(&self.0).remove(&event);
    }

    /// Events with a waiting room that somebody asked about.
    pub fn known(&self) -> Vec<(EventId, WaitingRoom)> {
        let kept: Vec<_> = locked(&self.0).values().cloned().collect();
        kept.iter()
            .filter_map(|kept| {
                locked(&kept.event).as_ref().and_then(|(event, _)| Some((event.id, event.waiting_room?)))
            })
            .collect()
    }
}

/// The event as it was at most a second ago.
pub async fn event(app: &App, id: EventId) -> Result<Arc<Event>, Refusal> {
    let kept = app.lines.of(id);
    let remembered = || locked(&kept.event).clone();
    let fresh = |known: &Option<(Arc<Event>, Instant)>| known.as_ref().is_some_and(|(_, at)| at.elapsed() < FRESH);
    let known = remembered();
    if let Some((event, _)) = known.clone().filter(|_| fresh(&known)) {
        return Ok(event);
    }
    let _one = kept.looking.lock().await;
    let known = remembered();
    if let Some((event, _)) = known.clone().filter(|_| fresh(&known)) {
        return Ok(event);
    }
    let found = app.ledger.event(id).await.map_err(|f| refusal(&f))?;
    let Some(found) = found.filter(|event| !event.deleted) else {
        app.lines.forget(id);
        return Err(Refusal::NotFound);
    };
    let found = Arc::new(found);
    *locked(&kept.event) = Some((found.clone(), Instant::now()));
    Ok(found)
}

/// An event with a waiting room that is not closed.
pub async fn open_event(app: &App, id: EventId) -> Result<(Arc<Event>, WaitingRoom), Refusal> {
    let event = event(app, id).await?;
    let room = event.waiting_room.ok_or(Refusal::NoWaitingRoom)?;
    if event.state_at(app.ledger.now()) == State::Closed {
        return Err(Refusal::Closed);
    }
    Ok((event, room))
}

/// How somebody stands.
#[derive(Debug)]
pub enum Stands {
    InLine(Place),
    Inside { left_ms: i64 },
}

/// Joins, or finds the place that one has: by user, else by the ticket.
pub async fn join(
    app: &App,
    event: &Event,
    room: WaitingRoom,
    user: &User,
    ticket: Option<&Ticket>,
) -> Result<Stands, Refusal> {
    let told = match ticket {
        None => ask(app, event.id, room, user, What::Join, None).await?,
        Some(_) => match find(app, event.id, room, user, What::Poll, ticket).await? {
            QueueReply::NotQueued => ask(app, event.id, room, user, What::Join, None).await?,
            told => told,
        },
    };
    stands(app, event, room, user, told).await
}

pub async fn poll(
    app: &App,
    event: &Event,
    room: WaitingRoom,
    user: &User,
    ticket: Option<&Ticket>,
) -> Result<Stands, Refusal> {
    let told = find(app, event.id, room, user, What::Poll, ticket).await?;
    stands(app, event, room, user, told).await
}

async fn stands(app: &App, event: &Event, room: WaitingRoom, user: &User, told: QueueReply) -> Result<Stands, Refusal> {
    match told {
        QueueReply::Place(place) => Ok(Stands::InLine(place)),
        QueueReply::Inside { left_ms, cap_left_ms } if renewal_due(&room, left_ms, cap_left_ms) => {
            let ends = renew(app, event.id, user).await?;
            Ok(Stands::Inside { left_ms: app.ledger.now().ms_until(ends) })
        }
        QueueReply::Inside { left_ms, .. } => Ok(Stands::Inside { left_ms }),
        // The door may not have heard that they came in.
        QueueReply::NotQueued => match live_entry(app, event.id, user).await? {
            Some(entry) => {
                let left_ms = app.ledger.now().ms_until(entry.ends);
                tell(app, event.id, vec![Moved::In(entry)]).await;
                Ok(Stands::Inside { left_ms })
            }
            None => Err(Refusal::NotQueued),
        },
        QueueReply::NoNumber => Err(Refusal::NoNumber),
        QueueReply::MayEnter { .. } | QueueReply::NotReady { .. } | QueueReply::Gone => Err(Refusal::Internal),
    }
}

async fn renew(app: &App, event: EventId, user: &User) -> Result<Moment, Refusal> {
    let told = change(app, event, Actor::User(user.clone()), None, EventAction::Renew).await?;
    match told.answer.outcome {
        Outcome::Done(Done::Renewed { ends }) => Ok(ends),
        Outcome::Refused(refusal) => Err(refusal),
        Outcome::Done(_) => Err(Refusal::Internal),
    }
}

async fn live_entry(app: &App, event: EventId, user: &User) -> Result<Option<Entry>, Refusal> {
    let found = app.ledger.entry_of(event, user.clone()).await.map_err(|f| refusal(&f))?;
    Ok(found.filter(|entry| entry.live(app.ledger.now())))
}

/// Comes in, if it is one's turn; or finds the entry that one has.
pub async fn enter(
    app: &App,
    event: &Event,
    room: WaitingRoom,
    user: &User,
    ticket: Option<&Ticket>,
) -> Result<Entry, Refusal> {
    let number = match find(app, event.id, room, user, What::Enter, ticket).await? {
        QueueReply::MayEnter { number } => Some(number),
        QueueReply::Inside { .. } => None,
        QueueReply::NotReady { retry_after } => return Err(Refusal::NotReady { retry_after }),
        QueueReply::NotQueued if live_entry(app, event.id, user).await?.is_some() => None,
        QueueReply::NotQueued => return Err(Refusal::NotQueued),
        QueueReply::NoNumber => return Err(Refusal::NoNumber),
        QueueReply::Place(_) | QueueReply::Gone => return Err(Refusal::Internal),
    };
    let token = EntryToken(random()?);
    let told = change(app, event.id, Actor::User(user.clone()), None, EventAction::Enter { number, token }).await?;
    match told.answer.outcome {
        Outcome::Done(Done::Entered(entry)) => {
            if entry.token == token {
                app.metrics.admitted();
            } else {
                // The door may not have heard of it yet.
                tell(app, event.id, vec![Moved::In((*entry).clone())]).await;
            }
            Ok(*entry)
        }
        Outcome::Refused(refusal) => {
            disagree(app, event.id, room, user, number, &refusal).await;
            Err(refusal)
        }
        Outcome::Done(_) => Err(Refusal::Internal),
    }
}

/// The ledger did not agree with the door: the door is told what it did not know.
async fn disagree(
    app: &App,
    event: EventId,
    room: WaitingRoom,
    user: &User,
    number: Option<Number>,
    refusal: &Refusal,
) {
    match (refusal, number) {
        // The number was used before the door forgot.
        (Refusal::NotQueued, Some(_)) => drop(ask(app, event, room, user, What::Leave, None).await),
        (Refusal::NotQueued, None) => {
            tell(app, event, vec![Moved::Out { user: user.clone(), n: i64::MAX as u64 }]).await
        }
        // It counts too few: who came in while nobody told it.
        (Refusal::NotReady { .. }, _) => {
            if let Ok(mut begun) = app.ledger.begin_line(event).await {
                begun.used = false;
                let _ = app.door.begin_line(event, room, begun).await;
            }
        }
        _ => {}
    }
}

/// Gives the place or the entry back.
pub async fn leave(app: &App, event: &Event, room: WaitingRoom, user: &User) -> Result<(), Refusal> {
    let told = ask(app, event.id, room, user, What::Leave, None).await?;
    if matches!(told, QueueReply::Inside { .. }) || live_entry(app, event.id, user).await?.is_some() {
        let told = change(app, event.id, Actor::User(user.clone()), None, EventAction::Leave).await?;
        if let Outcome::Refused(refusal) = told.answer.outcome {
            return Err(refusal);
        }
    }
    Ok(())
}

/// Where the door does not know them, or gave them a worse place, their ticket counts; unless
/// somebody has entered by it.
async fn find(
    app: &App,
    event: EventId,
    room: WaitingRoom,
    user: &User,
    what: What,
    ticket: Option<&Ticket>,
) -> Result<QueueReply, Refusal> {
    let Some(proven) = ticket.map(|ticket| ticket.number) else {
        return ask(app, event, room, user, what, None).await;
    };
    // Asked about first, so that nobody enters from a place that is worse than theirs.
    let told = ask(app, event, room, user, What::Poll, None).await?;
    let better = match &told {
        QueueReply::Place(place) => proven < place.number,
        QueueReply::NotQueued => true,
        _ => false,
    };
    let counts = better && !app.ledger.number_spent(event, proven).await.map_err(|f| refusal(&f))?;
    match (what, counts) {
        (What::Poll, false) => Ok(told),
        (_, true) => ask(app, event, room, user, what, Some(proven)).await,
        (_, false) => ask(app, event, room, user, what, None).await,
    }
}

/// The number that everybody may follow.
pub async fn serving(app: &App, event: EventId, room: WaitingRoom) -> Result<Serving, Refusal> {
    let (kept, now) = (app.lines.of(event), app.ledger.now());
    let shared = *locked(&kept.serving);
    if let Some((serving, at)) = shared
        && (0..SHARED_MS).contains(&at.ms_until(now))
    {
        return Ok(serving);
    }
    let serving = heard(app, event, room, || app.door.serving(event, room)).await?;
    *locked(&kept.serving) = Some((serving, now));
    Ok(serving)
}

async fn ask(
    app: &App,
    event: EventId,
    room: WaitingRoom,
    user: &User,
    what: What,
    proven: Option<Number>,
) -> Result<QueueReply, Refusal> {
    let asking = Asking { user: user.clone(), what, proven };
    heard(app, event, room, || app.door.ask(event, room, asking.clone())).await
}

/// Asks the door until it has something to say; what it does not know it is told first.
async fn heard<T, W>(app: &App, event: EventId, room: WaitingRoom, ask: impl Fn() -> W) -> Result<T, Refusal>
where
    W: Future<Output = Result<Heard<T>, DoorFault>>,
{
    let kept = app.lines.of(event);
    for _ in 0..TRIES {
        let seen = kept.mended.load(Ordering::Acquire);
        let missing = match ask().await.map_err(closed)? {
            Heard::Said(said) => return Ok(said),
            Heard::NotOpen => Missing::Generation,
            Heard::NotBegun => Missing::Line,
            Heard::NoRemaining => Missing::Left,
        };
        let _one = kept.mending.lock().await;
        if kept.mended.load(Ordering::Acquire) == seen {
            mend(app, event, room, missing).await?;
            kept.mended.fetch_add(1, Ordering::AcqRel);
        }
    }
    Err(Refusal::NoNumber)
}

enum Missing {
    Generation,
    Line,
    Left,
}

async fn mend(app: &App, event: EventId, room: WaitingRoom, missing: Missing) -> Result<(), Refusal> {
    let fault = |fault: LedgerFault| refusal(&fault);
    match missing {
        Missing::Generation => {
            let generation = app.ledger.raise_generation(event).await.map_err(fault)?;
            app.door.open(event, generation).await.map_err(closed)?;
            tracing::info!(%event, generation, "numbers begin anew");
        }
        Missing::Line => {
            let begun = app.ledger.begin_line(event).await.map_err(fault)?;
            tracing::info!(%event, inside = begun.inside.len(), used = begun.used, "a line begins");
            app.door.begin_line(event, room, begun).await.map_err(closed)?;
        }
        Missing::Left => {
            let found = app.ledger.event(event).await.map_err(fault)?.ok_or(Refusal::NotFound)?;
            let now = app.ledger.now();
            app.door.settle(event, Some(left(&found, None, now)), Vec::new()).await.map_err(closed)?;
        }
    }
    Ok(())
}

async fn tell(app: &App, event: EventId, moved: Vec<Moved>) {
    if let Err(fault) = app.door.moved(event, moved, app.ledger.now()).await {
        tracing::warn!(%event, %fault, "the door was not told who is inside");
    }
}
