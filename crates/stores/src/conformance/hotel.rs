//! A room type to test with, and an audit that compares the answers about it with its rows.

use std::collections::HashMap;
use std::sync::Arc;

use rules::command::{Command, Key, Terms};
use rules::decide::Answer;
use rules::history::{Actor, AdminName, Happened, RequestOrigin};
use rules::holds::{Ask, Hold, HoldState};
use rules::ids::{RequestName, User};
use rules::nights::{Dates, Night};
use rules::outcome::{Done, Outcome};
use rules::room_type::{NewRoomType, NightRow, RoomAction, RoomCommand, RoomTypeAmendment};
use rules::subject::{HoldId, RoomTypeId, SubjectId};

use super::{Stand, Verdict};
use crate::ensure;
use crate::ledger::Batch;
use crate::ledger::LedgerFault;

/// 2026-12-24.
pub const EVE: i32 = 20_811;

pub fn nights(from: i32, count: i32) -> Dates {
    Dates { check_in: Night(EVE + from), check_out: Night(EVE + from + count) }
}

#[derive(Clone)]
pub struct Hotel {
    pub stand: Stand,
    pub id: RoomTypeId,
    pub terms: Terms,
}

impl Hotel {
    pub async fn open(stand: &Stand, rooms: u32) -> Result<Hotel, String> {
        let new = NewRoomType {
            by: AdminName::default(),
            origin: RequestOrigin::default(),
            name: "Double".into(),
            description: Some("A bed".into()),
            price: Some("120000".into()),
            currency: Some("KRW".into()),
            time_zone: "Asia/Seoul".into(),
            total: rooms,
        };
        let made = stand.ledger.create_room_type(new).await.map_err(|f| f.to_string())?;
        Ok(Hotel { stand: stand.clone(), id: made.id, terms: Terms::default() })
    }

    fn command(&self, actor: Actor, action: RoomAction) -> RoomCommand {
        let (name, origin) = (RequestName(self.stand.next().into()), RequestOrigin::default());
        Command { actor, number: None, name, key: None, entry: None, origin, action, details: None }
    }

    pub fn wants(&self, user: &str, dates: Dates, key: &str) -> RoomCommand {
        self.command(Actor::User(User::stored(user)), RoomAction::Hold { dates, key: key.into() })
    }

    pub fn asks(&self, user: &str, n: u64, ask: Ask) -> RoomCommand {
        self.command(Actor::User(User::stored(user)), RoomAction::OnHold { n, ask })
    }

    pub fn cancels(&self, user: &str, n: u64) -> RoomCommand {
        self.command(Actor::User(User::stored(user)), RoomAction::Cancel { n })
    }

    pub fn amends(&self, total: u32) -> RoomCommand {
        let amendment = RoomTypeAmendment { total: Some(total), ..RoomTypeAmendment::default() };
        self.amends_on(0, amendment)
    }

    /// The amendment on another day: the property's zone says which day it is.
    pub fn amends_on(&self, day: i32, amendment: RoomTypeAmendment) -> RoomCommand {
        self.command(Actor::Admin(AdminName::default()), RoomAction::Amend { amendment, today: Night(EVE + day) })
    }

    pub async fn batch(&self, commands: Vec<RoomCommand>) -> Result<Vec<Answer>, LedgerFault> {
        let batch = Batch::new(self.id, Arc::new(commands), self.terms);
        self.stand.ledger.commit(batch).await.map(|committed| committed.answers)
    }

    pub async fn one(&self, command: RoomCommand) -> Result<Answer, String> {
        let answers = self.batch(vec![command]).await.map_err(|f| f.to_string())?;
        answers.into_iter().next().ok_or_else(|| "no answer".into())
    }

    pub async fn hold(&self, user: &str, dates: Dates, key: &str) -> Result<Hold, String> {
        expect_held(&self.one(self.wants(user, dates, key)).await?)
    }

    pub async fn ask(&self, user: &str, n: u64, ask: Ask) -> Result<Answer, String> {
        self.one(self.asks(user, n, ask)).await
    }

    pub async fn free(&self, dates: Dates) -> Result<Vec<NightRow>, String> {
        let found = self.stand.ledger.availability(self.id, dates).await.map_err(|f| f.to_string())?;
        Ok(found.ok_or("no room type")?.nights.into_iter().map(|(_, row)| row).collect())
    }

    pub async fn state(&self, n: u64) -> Result<HoldState, String> {
        let id = HoldId { subject: SubjectId::RoomType(self.id), n };
        let at = self.stand.ledger.hold(id).await.map_err(|f| f.to_string())?;
        Ok(at.found.ok_or("no such hold")?.state_at(at.now))
    }

    /// What is shown agrees with the history: the counts of every night match its holds and stays, no night
    /// is above its total, every hold began once and ended at most once, and there is no gap.
    pub async fn audit(&self, told: &[HotelReply], span: Dates) -> Verdict {
        let fault = |f: LedgerFault| f.to_string();
        let ledger = &self.stand.ledger;
        let history = ledger.room_history(self.id, 0, usize::MAX >> 1).await.map_err(fault)?;
        let row = ledger.room_type(self.id).await.map_err(fault)?.ok_or("no room type")?;
        ensure!(row.n == history.len() as u64, "n is {}, history has {} rows", row.n, history.len());
        let (mut held, mut reserved) = (HashMap::new(), HashMap::new());
        let mut ends: HashMap<u64, Vec<Happened>> = HashMap::new();
        for (i, entry) in history.iter().enumerate() {
            ensure!(entry.n == i as u64 + 1, "history number {} stands at place {}", entry.n, i + 1);
            let (Some(hold), Some(dates)) = (entry.hold, entry.dates) else { continue };
            let (stay, on_hold) = match entry.what {
                Happened::Held => (0, 1),
                Happened::Reserved => (1, -1),
                Happened::Cancelled => (-1, 0),
                Happened::Released | Happened::Expired | Happened::Replaced => (0, -1),
                _ => (0, 0),
            };
            if on_hold == -1 {
                ends.entry(hold).or_default().push(entry.what);
            }
            for night in dates.nights() {
                *held.entry(night).or_insert(0i64) += on_hold;
                *reserved.entry(night).or_insert(0i64) += stay;
                let (h, r) = (held[&night], reserved[&night]);
                ensure!(h >= 0 && r >= 0 && h + r <= i64::from(row.total), "{night}: {h} held, {r} reserved");
            }
        }
        let twice = ends.iter().find(|(_, ends)| ends.len() > 1);
        ensure!(twice.is_none(), "a hold ended twice: {twice:?}");
        for (night, shown) in span.nights().zip(self.free(span).await?) {
            let told = (held.get(&night).copied().unwrap_or(0), reserved.get(&night).copied().unwrap_or(0));
            // A lapsed hold that no batch has ended yet is in the history's count, and not shown.
            ensure!(i64::from(shown.reserved) == told.1, "{night}: {shown:?}, the history says {told:?}");
            ensure!(i64::from(shown.held) <= told.0, "{night}: {shown:?}, the history says {told:?}");
        }
        for HotelReply { hold, end } in told {
            let ended = ends.get(hold).and_then(|ends| ends.first()).copied();
            ensure!(ended == *end, "hold {hold} was told {end:?}, and is {ended:?}");
        }
        Ok(())
    }
}

/// The answers about a hold: how it ended, if it did.
#[derive(Clone, Debug)]
pub struct HotelReply {
    pub hold: u64,
    pub end: Option<Happened>,
}

pub fn keyed(command: RoomCommand, text: &str, content: u8) -> RoomCommand {
    RoomCommand { key: Some(Key { text: text.into(), content: [content; 32] }), ..command }
}

/// A client's key, made from a number.
pub fn client_key(n: u64) -> String {
    format!("00000000-0000-4000-8000-{n:012x}")
}

pub fn held(answer: &Answer) -> Option<&Hold> {
    match &answer.outcome {
        Outcome::Done(Done::Held { hold, .. } | Done::Extended { hold, .. }) => Some(hold),
        _ => None,
    }
}

pub fn expect_held(answer: &Answer) -> Result<Hold, String> {
    held(answer).cloned().ok_or_else(|| format!("expected a hold, got {:?}", answer.outcome))
}

/// The number of the stay that a hold became.
pub fn expect_confirmed(answer: &Answer) -> Result<u64, String> {
    match &answer.outcome {
        Outcome::Done(Done::Confirmed { hold }) => hold.reserved.first().copied().ok_or_else(|| "no stay".into()),
        other => Err(format!("expected a stay, got {other:?}")),
    }
}
