//! The suite that a ledger and a door must pass: one chapter per step of the path, plus contention and
//! recovery. A third store is done when every chapter passes.
//!
//! A chapter returns what it saw instead of panicking, so that it can run on stores that are broken on
//! purpose, and must find the bug.

mod archive;
pub mod arrive;
pub mod bent;
pub mod broken;
pub mod broken_rooms;
pub mod calendar;
pub mod carts;
pub mod chain;
pub mod chosen;
pub mod commit;
pub mod contention;
mod cool_down;
pub mod decide;
pub mod ends;
pub mod erasure;
pub mod expiry;
mod gathering;
pub mod hotel;
mod inside;
mod line_end;
pub mod once;
mod orders;
pub mod queue;
pub mod reads;
mod sale_times;
pub mod stays;
mod webhooks;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rules::command::{Buyer, Command, EventAction, Key, Terms};
use rules::decide::Answer;
use rules::event::{Event, NewEvent};
use rules::history::{Actor, AdminName, RequestOrigin};
use rules::ids::{EventId, Number, RequestName, Seat, User};
use rules::outcome::{Done, Outcome, Refusal, Reserved};
use rules::seats::Hall;

use crate::door::Door;
use crate::ledger::{Batch, Ledger};

/// Success, or what was wrong.
pub type Verdict = Result<(), String>;

/// The stores that a chapter runs on.
#[derive(Clone)]
pub struct Stand {
    pub ledger: Arc<dyn Ledger>,
    pub door: Arc<dyn Door>,
    /// Moves the clocks of both by this many milliseconds.
    pub advance: Arc<dyn Fn(i64) + Send + Sync>,
    /// Sets the wall clock that the ledger reads, by this many milliseconds.
    pub step_wall: Arc<dyn Fn(i64) + Send + Sync>,
    names: Arc<AtomicU64>,
}

pub type Chapter = for<'a> fn(&'a Stand) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Every chapter, by name.
pub const CHAPTERS: &[(&str, Chapter)] = &[
    ("arrive", |s| Box::pin(arrive::chapter(s))),
    ("decide", |s| Box::pin(decide::chapter(s))),
    ("chosen", |s| Box::pin(chosen::chapter(s))),
    ("commit", |s| Box::pin(commit::chapter(s))),
    ("once", |s| Box::pin(once::chapter(s))),
    ("reads", |s| Box::pin(reads::chapter(s))),
    ("queue", |s| Box::pin(queue::chapter(s))),
    ("contention", |s| Box::pin(contention::chapter(s))),
    ("carts", |s| Box::pin(carts::chapter(s))),
    ("stays", |s| Box::pin(stays::chapter(s))),
    ("cool_down", |s| Box::pin(cool_down::chapter(s))),
    ("expiry", |s| Box::pin(expiry::chapter(s))),
    ("calendar", |s| Box::pin(calendar::chapter(s))),
    ("ends", |s| Box::pin(ends::chapter(s))),
    ("orders", |s| Box::pin(orders::chapter(s))),
    ("archive", |s| Box::pin(archive::chapter(s))),
    ("chain", |s| Box::pin(chain::chapter(s))),
    ("erasure", |s| Box::pin(erasure::chapter(s))),
    ("webhooks", |s| Box::pin(webhooks::chapter(s))),
];

/// `Err` with this message unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}

impl Stand {
    pub fn new(ledger: Arc<dyn Ledger>, door: Arc<dyn Door>, advance: Arc<dyn Fn(i64) + Send + Sync>) -> Stand {
        Stand { ledger, door, advance, step_wall: Arc::new(|_| {}), names: Arc::new(AtomicU64::new(1)) }
    }

    /// With a wall clock that can be set.
    pub fn with_wall(self, step_wall: impl Fn(i64) + Send + Sync + 'static) -> Stand {
        Stand { step_wall: Arc::new(step_wall), ..self }
    }

    /// The same stand with another ledger, such as a broken one.
    pub fn with_ledger(&self, ledger: Arc<dyn Ledger>) -> Stand {
        Stand { ledger, ..self.clone() }
    }

    pub async fn event(&self, seats: u32, max_per_user: u32) -> Result<Event, String> {
        let new = NewEvent {
            by: AdminName::default(),
            origin: RequestOrigin::default(),
            name: "Conformance".into(),
            hall: Hall::Count(seats),
            max_per_user,
            opens_at: None,
            occasion: Default::default(),
            hold_ttl_ms: None,
            buyer_fields: Default::default(),
            price: None,
            rehearsal: false,
            waiting_room: None,
        };
        self.ledger.create_event(new).await.map_err(|f| f.to_string())
    }

    /// A request name; also used as an arrival number by chapters that need no door.
    pub fn next(&self) -> u64 {
        self.names.fetch_add(1, Ordering::Relaxed)
    }

    pub fn reserve(&self, user: &str) -> Command {
        let n = self.next();
        let phone = Some("+821012345678".into());
        Command {
            actor: Actor::User(User::stored(user)),
            number: Some(Number(n)),
            name: RequestName(n.into()),
            key: None,
            entry: None,
            action: EventAction::Reserve(Buyer { name: Some("Tester".into()), phone, ..Buyer::default() }),
            details: None,
            origin: self.origin(n),
        }
    }

    /// Another address and trace id for each request.
    fn origin(&self, n: u64) -> RequestOrigin {
        let [.., a, b] = n.to_be_bytes();
        RequestOrigin { address: Some([10, 0, a, b].into()), trace: Some(format!("trace-{n}").into()) }
    }

    pub fn choose(&self, user: &str, seat: u32) -> Command {
        let command = self.reserve(user);
        let EventAction::Reserve(buyer) = command.action else { return command };
        Command { action: EventAction::ReserveSeat { seat: Seat(seat), buyer }, ..command }
    }

    pub fn cancel(&self, user: &str, n: u64) -> Command {
        Command { number: None, action: EventAction::Cancel { n }, ..self.reserve(user) }
    }

    pub fn operate(&self, action: EventAction) -> Command {
        Command { actor: Actor::Admin(AdminName::default()), number: None, action, ..self.reserve("admin") }
    }

    pub async fn commit(&self, event: EventId, commands: Vec<Command>) -> Result<Vec<Answer>, String> {
        self.commit_on(event, commands, Terms::default()).await
    }

    pub async fn commit_on(&self, event: EventId, commands: Vec<Command>, terms: Terms) -> Result<Vec<Answer>, String> {
        let asked = commands.len();
        let batch = Batch::new(event, Arc::new(commands), terms);
        let answers = self.ledger.commit(batch).await.map_err(|f| f.to_string())?.answers;
        ensure!(answers.len() == asked, "{} answers to {asked} commands", answers.len());
        Ok(answers)
    }

    pub async fn one(&self, event: EventId, command: Command) -> Result<Answer, String> {
        self.commit(event, vec![command]).await?.pop().ok_or_else(|| "no answer".into())
    }
}

pub fn with_key(command: Command, text: &str, content: u8) -> Command {
    Command { key: Some(Key { text: text.into(), content: [content; 32] }), ..command }
}

/// The sale in an answer, if it is one.
pub fn sale(answer: &Answer) -> Option<&Reserved> {
    match &answer.outcome {
        Outcome::Done(Done::Reserved(reserved)) => Some(reserved),
        _ => None,
    }
}

pub fn expect_sale(answer: &Answer) -> Result<Reserved, String> {
    sale(answer).cloned().ok_or_else(|| format!("expected a seat, got {:?}", answer.outcome))
}

pub fn refusal(answer: &Answer) -> Option<&Refusal> {
    match &answer.outcome {
        Outcome::Refused(refusal) => Some(refusal),
        Outcome::Done(_) => None,
    }
}

pub fn expect_refusal(answer: &Answer, wanted: &Refusal) -> Verdict {
    ensure!(refusal(answer) == Some(wanted), "expected {wanted:?}, got {:?}", answer.outcome);
    Ok(())
}

/// The rows agree with the answers: every acknowledged sale stands or was cancelled, no sale stands that
/// was not acknowledged, nobody is above the limit, the history has no gap.
pub async fn audit(stand: &Stand, event: EventId, told: &[(String, Reserved)], cancelled: &[u64]) -> Verdict {
    let fault = |f: crate::ledger::LedgerFault| f.to_string();
    let row = stand.ledger.event(event).await.map_err(fault)?.ok_or("the event is gone")?;
    let standing = stand.ledger.reservations_in(event, None, usize::MAX >> 1).await.map_err(fault)?;
    let mut by_seat = std::collections::HashMap::new();
    let mut per_user = std::collections::HashMap::new();
    for reservation in &standing {
        let sale = &reservation.sale;
        ensure!(by_seat.insert(sale.seat, sale.n).is_none(), "seat {:?} stands twice", sale.seat);
        if let Some(owner) = &sale.owner {
            *per_user.entry(owner.user.clone()).or_insert(0u32) += 1;
        }
    }
    ensure!(row.counts.sold as usize == standing.len(), "{} counted, {} stand", row.counts.sold, standing.len());
    let beyond = per_user.iter().find(|(_, count)| **count > row.max_per_user);
    ensure!(beyond.is_none(), "a user is beyond the limit: {beyond:?}");
    let mut seats_told = std::collections::HashMap::new();
    for (user, reserved) in told.iter().filter(|(_, r)| !cancelled.contains(&r.reservation.n)) {
        let before = seats_told.insert(reserved.seat, user);
        ensure!(before.is_none(), "seat {:?} was given to {user} and to {before:?}", reserved.seat);
        let stands = by_seat.get(&reserved.seat) == Some(&reserved.reservation.n);
        ensure!(stands, "{user} was told seat {:?}, which does not stand", reserved.seat);
    }
    let phantom: Vec<&Seat> = by_seat.keys().filter(|seat| !seats_told.contains_key(seat)).collect();
    ensure!(phantom.is_empty(), "seats stand that nobody was told of: {phantom:?}");
    history_is_whole(stand, &row, told.len(), cancelled.len()).await?;
    chain::is_whole(stand).await
}

async fn history_is_whole(stand: &Stand, row: &Event, sold: usize, cancelled: usize) -> Verdict {
    use rules::history::Happened;
    let history = stand.ledger.history(row.id, 0, usize::MAX >> 1).await.map_err(|f| f.to_string())?;
    for (i, entry) in history.iter().enumerate() {
        ensure!(entry.n == i as u64 + 1, "history number {} stands at place {}", entry.n, i + 1);
    }
    ensure!(row.counts.n == history.len() as u64, "n is {}, history has {} rows", row.counts.n, history.len());
    let count = |what| history.iter().filter(|e| e.what == what).count();
    let (reserved, given_back) = (count(Happened::Reserved), count(Happened::Cancelled));
    ensure!(reserved == sold, "{sold} sales were told, the history has {reserved}");
    ensure!(given_back == cancelled, "{cancelled} cancellations were told, the history has {given_back}");
    Ok(())
}
