//! The history as a chain: every row has a hash that covers it and the row before it, says where its request came
//! from, and the head is the hash of the newest row.

use rules::command::{Command, EventAction};
use rules::event::Turn;
use rules::history::{AdminName, Happened, RequestOrigin};
use rules::holds::Ask;
use rules::ids::{EventId, Seat};
use rules::subject::SubjectId;

use super::hotel::{Hotel, client_key, nights};
use super::{Stand, Verdict, expect_sale};
use crate::ensure;
use crate::ledger::LedgerFault;
use crate::ledger::records::{LedgerNote, LedgerRecord};
use crate::verify::{CHAINED, Finding};

pub async fn chapter(stand: &Stand) -> Verdict {
    let event = every_kind_of_row(stand).await?;
    is_whole(stand).await?;
    let subject = SubjectId::Event(event);
    let rows = rows(stand, subject).await?;
    tells_where_from(&rows)?;
    let head = stand.ledger.head(subject).await.map_err(words)?.ok_or("no head")?;
    let newest = rows.last().ok_or("no history")?;
    ensure!((head.n, head.hash, head.at) == (newest.n, newest.hash, newest.at), "{head:?} is not of {newest:?}");
    let none = stand.ledger.head(SubjectId::Event(EventId(i64::MAX))).await.map_err(words)?;
    ensure!(none.is_none(), "an event that does not exist has the head {none:?}");
    notes(stand).await
}

/// Sales, a cancellation, a seat sold again, holds that are paid, given back and replaced, turns of the operator, in
/// batches of one and of many; and a room type.
pub async fn every_kind_of_row(stand: &Stand) -> Result<EventId, String> {
    let event = stand.event(20, 3).await?.id;
    let crowd = (0..9).map(|i| stand.reserve(&format!("buyer-{i}"))).collect();
    let answers = stand.commit(event, crowd).await?;
    let first = expect_sale(&answers[0])?.reservation.n;
    let again = vec![stand.cancel("buyer-0", first), stand.reserve("late"), stand.reserve("later")];
    stand.commit(event, again).await?;
    for (key, seats) in [(1, vec![15, 16]), (2, vec![15, 16]), (3, vec![18])] {
        let seats = seats.into_iter().map(Seat).collect();
        let key = client_key(key).into();
        let hold = Command { number: None, action: EventAction::Hold { seats, key }, ..stand.reserve("holder") };
        stand.one(event, hold).await?;
    }
    let held = rows(stand, SubjectId::Event(event)).await?;
    let hold = |seat: u32| held.iter().rev().find(|row| row.seat == Some(Seat(seat))).and_then(|row| row.hold);
    for (seat, ask) in [(15, Ask::Confirm), (18, Ask::Cancel)] {
        let action = EventAction::OnHold { n: hold(seat).ok_or("no hold")?, ask };
        stand.one(event, Command { number: None, action, ..stand.reserve("holder") }).await?;
    }
    stand.one(event, stand.operate(EventAction::Turn(Turn::Pause))).await?;
    let hotel = Hotel::open(stand, 2).await?;
    hotel.one(hotel.wants("guest", nights(3, 2), "k1")).await?;
    hotel.one(hotel.amends(5)).await?;
    Ok(event)
}

/// Of the whole ledger.
pub async fn is_whole(stand: &Stand) -> Verdict {
    let (looked, findings) = stand.ledger.audit().await.map_err(words)?;
    let walked = findings.iter().find(|finding| finding.name == CHAINED).ok_or("no chain was walked")?;
    ensure!(walked.holds(), "{:?}", walked.broken);
    let about = |finding: &&Finding| finding.name.contains("head");
    let broken: Vec<&Finding> = findings.iter().filter(about).filter(|finding| !finding.holds()).collect();
    ensure!(broken.is_empty(), "{broken:?}");
    let chain = looked.chain;
    ensure!(chain.chained + chain.before == looked.history, "{chain:?} of {} rows", looked.history);
    Ok(())
}

pub async fn rows(stand: &Stand, of: SubjectId) -> Result<Vec<LedgerRecord>, String> {
    stand.ledger.records(Some(of), None, 10_000).await.map_err(words)
}

fn words(fault: LedgerFault) -> String {
    fault.to_string()
}

fn tells_where_from(rows: &[LedgerRecord]) -> Verdict {
    for row in rows.iter().filter(|row| row.what != Happened::Created) {
        ensure!(row.hash.is_some(), "{row:?} has no hash");
        ensure!(row.trace.as_deref().is_some_and(|trace| trace.starts_with("trace-")), "{row:?} has no trace id");
        ensure!(row.address.as_deref().is_some_and(|a| a.starts_with("10.0.")), "{row:?} has no address");
    }
    let kinds = [Happened::Reserved, Happened::Cancelled, Happened::Held, Happened::Replaced, Happened::Released];
    for what in kinds.into_iter().chain([Happened::Paused]) {
        ensure!(rows.iter().any(|row| row.what == what), "no row says {}", what.as_str());
    }
    Ok(())
}

/// The ledger's own history counts and is a chain as every other.
async fn notes(stand: &Stand) -> Verdict {
    let before = rows(stand, SubjectId::Ledger).await?.len() as u64;
    for i in 1..=3 {
        let note = LedgerNote {
            what: Happened::Refused,
            by: (i > 1).then(AdminName::default),
            owner: None,
            origin: RequestOrigin { address: Some([192, 0, 2, i].into()), trace: Some("seen".into()) },
            detail: Some("POST /api/v1/admin/events unauthorized".into()),
        };
        stand.ledger.note(note).await.map_err(words)?;
    }
    let rows = rows(stand, SubjectId::Ledger).await?;
    ensure!(rows.len() as u64 == before + 3, "{} notes", rows.len());
    let numbers: Vec<u64> = rows.iter().map(|row| row.n).collect();
    ensure!(numbers == (1..=before + 3).collect::<Vec<u64>>(), "{numbers:?}");
    ensure!(rows.last().is_some_and(|row| row.address.as_deref() == Some("192.0.2.3")), "{rows:?}");
    is_whole(stand).await
}
