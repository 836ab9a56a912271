//! Archived events, and rehearsals that are deleted with what they sold.

use rules::command::{Command, EventAction, Terms};
use rules::entries::{EntryToken, WaitingRoom};
use rules::event::{Event, NewEvent, State, Turn};
use rules::history::AdminName;
use rules::holds::Ask;
use rules::ids::{EventId, Number, Seat, User};
use rules::outcome::{Done, Expected, FieldError, Outcome, Problem, Refusal};
use rules::seats::Hall;

use super::hotel::{client_key, expect_held};
use super::{Stand, Verdict, expect_refusal, expect_sale};
use crate::ensure;
use crate::ledger::LedgerFault;

pub async fn chapter(stand: &Stand) -> Verdict {
    archived_events_are_closed_and_not_listed(stand).await?;
    nobody_is_archived_away(stand).await?;
    rehearsals_are_deleted_with_what_they_sold(stand).await
}

fn fault(fault: LedgerFault) -> String {
    fault.to_string()
}

async fn event(stand: &Stand, rehearsal: bool, waiting_room: Option<WaitingRoom>) -> Result<Event, String> {
    let new = NewEvent {
        by: AdminName::default(),
        origin: Default::default(),
        name: "Archive".into(),
        hall: Hall::Count(9),
        max_per_user: 4,
        opens_at: None,
        occasion: Default::default(),
        waiting_room,
        hold_ttl_ms: None,
        buyer_fields: Default::default(),
        price: None,
        rehearsal,
    };
    stand.ledger.create_event(new).await.map_err(fault)
}

async fn turn(stand: &Stand, event: EventId, turn: Turn) -> Result<Event, String> {
    match stand.one(event, stand.operate(EventAction::Turn(turn))).await?.outcome {
        Outcome::Done(Done::Changed(event)) => Ok(*event),
        other => Err(format!("{turn:?}: {other:?}")),
    }
}

async fn listed(stand: &Stand, archived: bool, event: EventId) -> Result<bool, String> {
    let found = stand.ledger.events(archived, Some(EventId(event.0 - 1)), 1).await.map_err(fault)?;
    Ok(found.iter().any(|found| found.id == event))
}

fn expected(what: Expected) -> Refusal {
    FieldError::refused("state", Problem::Expected(what))
}

async fn archived_events_are_closed_and_not_listed(stand: &Stand) -> Verdict {
    let id = event(stand, false, None).await?.id;
    expect_sale(&stand.one(id, stand.reserve("a")).await?)?;
    let asked = |turn| stand.operate(EventAction::Turn(turn));
    expect_refusal(&stand.one(id, asked(Turn::Unarchive)).await?, &expected(Expected::ArchivedEvent))?;
    let archived = turn(stand, id, Turn::Archive).await?;
    ensure!(archived.state == State::Closed && archived.archived_at.is_some(), "{archived:?}");
    let found = stand.ledger.event(id).await.map_err(fault)?.ok_or("an archived event is not found")?;
    ensure!(found == archived, "{found:?}");
    ensure!(!listed(stand, false, id).await? && listed(stand, true, id).await?, "an archived event is listed");
    expect_refusal(&stand.one(id, stand.reserve("b")).await?, &Refusal::Closed)?;
    for refused in [Turn::Open, Turn::Archive, Turn::Close] {
        expect_refusal(&stand.one(id, asked(refused)).await?, &expected(Expected::ListedEvent))?;
    }
    let back = turn(stand, id, Turn::Unarchive).await?;
    ensure!(back.state == State::Closed && back.archived_at.is_none(), "{back:?}");
    ensure!(listed(stand, false, id).await? && !listed(stand, true, id).await?, "it is not listed again");
    turn(stand, id, Turn::Open).await?;
    expect_sale(&stand.one(id, stand.reserve("b")).await?)?;
    Ok(())
}

async fn nobody_is_archived_away(stand: &Stand) -> Verdict {
    let id = event(stand, false, None).await?.id;
    let archive = || stand.operate(EventAction::Turn(Turn::Archive));
    let hold = |user: &str, seats: &[u32], key: u64| Command {
        number: None,
        action: EventAction::Hold { seats: seats.iter().copied().map(Seat).collect(), key: client_key(key).into() },
        ..stand.reserve(user)
    };
    let held = expect_held(&stand.one(id, hold("a", &[1, 2], 1)).await?)?;
    expect_refusal(&stand.one(id, archive()).await?, &Refusal::StillBuying { held: 2, inside: 0 })?;
    let back = EventAction::OnHold { n: held.id.n, ask: Ask::Cancel };
    stand.one(id, Command { number: None, action: back, ..stand.reserve("a") }).await?;
    // A hold that has lapsed is nobody.
    expect_held(&stand.one(id, hold("b", &[3], 2)).await?)?;
    (stand.advance)(Terms::default().holds.ttl_ms + 1);
    turn(stand, id, Turn::Archive).await?;

    let id = event(stand, false, Some(WaitingRoom::default())).await?.id;
    let enter = EventAction::Enter { number: Some(Number(1)), token: EntryToken([7; 16]) };
    stand.one(id, Command { number: None, action: enter, ..stand.reserve("c") }).await?;
    let inside = stand.ledger.entry_of(id, User::stored("c")).await.map_err(fault)?;
    ensure!(inside.is_some(), "nobody entered");
    expect_refusal(&stand.one(id, archive()).await?, &Refusal::StillBuying { held: 0, inside: 1 })?;
    // Closed, those inside cannot buy any more.
    turn(stand, id, Turn::Close).await?;
    turn(stand, id, Turn::Archive).await?;
    Ok(())
}

async fn rehearsals_are_deleted_with_what_they_sold(stand: &Stand) -> Verdict {
    let (real, rehearsal) = (event(stand, false, None).await?.id, event(stand, true, None).await?.id);
    for id in [real, rehearsal] {
        expect_sale(&stand.one(id, stand.reserve("zoe")).await?)?;
        let hold = EventAction::Hold { seats: vec![Seat(5)], key: client_key(id.0 as u64).into() };
        expect_held(&stand.one(id, Command { number: None, action: hold, ..stand.reserve("zoe") }).await?)?;
    }
    let refused = stand.one(real, stand.operate(EventAction::DeleteSold)).await?;
    expect_refusal(&refused, &FieldError::refused("sold", Problem::Expected(Expected::Rehearsal)))?;
    let plainly = stand.one(rehearsal, stand.operate(EventAction::Delete)).await?;
    expect_refusal(&plainly, &Refusal::InUse)?;
    let deleted = stand.one(rehearsal, stand.operate(EventAction::DeleteSold)).await?;
    ensure!(matches!(deleted.outcome, Outcome::Done(Done::Changed(_))), "{deleted:?}");
    let zoe = || User::stored("zoe");
    let mine = stand.ledger.reservations_of(zoe(), None, 99).await.map_err(fault)?;
    ensure!(mine.iter().all(|r| r.event != rehearsal) && mine.iter().any(|r| r.event == real), "{mine:?}");
    let holds = stand.ledger.holds_of(zoe(), None, 99).await.map_err(fault)?.found;
    ensure!(holds.len() == 1, "{holds:?}");
    ensure!(!listed(stand, false, rehearsal).await?, "a deleted event is listed");
    // Its rows go, those of the real one stay; and the books still balance.
    for rounds in 0.. {
        let tidied = stand.ledger.tidy_event(rehearsal, 100).await.map_err(fault)?;
        ensure!(rounds < 20, "its rows do not end: {tidied:?}");
        if tidied.rows() == 0 {
            break;
        }
    }
    let left = stand.ledger.reservations_in(rehearsal, None, 9).await.map_err(fault)?;
    ensure!(left.is_empty(), "{left:?}");
    let stays = stand.ledger.reservations_in(real, None, 9).await.map_err(fault)?;
    ensure!(stays.len() == 1, "{stays:?}");
    let (_, findings) = stand.ledger.audit().await.map_err(fault)?;
    let about = format!("event {rehearsal} ");
    let broken: Vec<&String> =
        findings.iter().flat_map(|f| &f.broken).filter(|text| text.starts_with(&about)).collect();
    ensure!(broken.is_empty(), "{broken:?}");
    Ok(())
}
