//! The end of personal data: the text is gone, and seats, counts, history and chain are as true as before.

use rules::command::Command;
use rules::history::{AdminName, Happened, RequestOrigin};
use rules::holds::Ask;
use rules::ids::{EventId, User};
use rules::outcome::{Done, Outcome};
use rules::room_type::RoomCommand;
use rules::subject::{HoldId, StayId, SubjectId};

use super::chain::{is_whole, rows};
use super::hotel::{Hotel, client_key, expect_confirmed, expect_held, nights};
use super::orders::{because, hold_seats, order};
use super::{Stand, Verdict, expect_sale, with_key};
use crate::ensure;
use crate::ledger::LedgerFault;
use crate::ledger::personal::{ERASED_MOST, ErasedRows};
use crate::ledger::records::LedgerNote;
use crate::ledger::tidy::Aged;

const DAY_MS: i64 = 86_400_000;

pub async fn chapter(stand: &Stand) -> Verdict {
    one_person(stand).await?;
    orders_of_one_person(stand).await?;
    by_age(stand).await?;
    orders_by_age(stand).await
}

fn words(fault: LedgerFault) -> String {
    fault.to_string()
}

/// Who has a name or a phone in an event.
async fn named(stand: &Stand, event: EventId) -> Result<Vec<String>, String> {
    let sold = stand.ledger.reservations_in(event, None, 1_000).await.map_err(words)?;
    let named = sold.into_iter().filter(|one| one.sale.buyer_name.is_some() || one.sale.phone.is_some());
    Ok(named.filter_map(|one| one.sale.owner.map(|owner| owner.user.as_str().to_owned())).collect())
}

async fn rows_about(stand: &Stand, user: &User) -> Result<Vec<(SubjectId, u64)>, String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = stand.ledger.personal_rows(user.clone(), after).await.map_err(words)?;
        found.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

async fn erase(stand: &Stand, rows: &[(SubjectId, u64)]) -> Result<ErasedRows, String> {
    let mut erased = ErasedRows::default();
    for step in rows.chunks(ERASED_MOST) {
        erased += stand.ledger.erase_rows(step.to_vec()).await.map_err(words)?;
    }
    Ok(erased)
}

fn note(user: &User) -> LedgerNote {
    LedgerNote {
        what: Happened::Erased,
        by: Some(AdminName::default()),
        owner: Some(user.clone()),
        origin: RequestOrigin::default(),
        detail: Some("3 rows".into()),
    }
}

async fn one_person(stand: &Stand) -> Verdict {
    let event = stand.event(9, 3).await?.id;
    let first = stand.one(event, with_key(stand.reserve("erin"), "k", 1)).await?;
    let first = expect_sale(&first)?.reservation.n;
    stand.commit(event, vec![stand.reserve("erin"), stand.reserve("frank")]).await?;
    stand.one(event, stand.cancel("erin", first)).await?;
    let erin = User::stored("erin");
    let found = rows_about(stand, &erin).await?;
    let here = found.iter().filter(|(subject, _)| *subject == SubjectId::Event(event)).count();
    ensure!(here == 3, "{here} rows of erin instead of 3");
    let erased = erase(stand, &found).await?;
    ensure!(erased.history == found.len() as u64, "{erased:?} of {} rows", found.len());
    let beside = stand.ledger.end_erasure(erin.clone(), note(&erin)).await.map_err(words)?;
    ensure!((beside.sales, beside.answers) == (1, 1), "{beside:?}");
    ensure!(named(stand, event).await? == ["frank"], "somebody else lost a name, or erin did not");
    for row in rows(stand, SubjectId::Event(event)).await? {
        let hers = row.owner.as_ref() == Some(&erin);
        ensure!(row.erased == hers, "{row:?}");
        ensure!(row.address.is_none() == (hers || row.what == Happened::Created), "{row:?}");
    }
    let again = erase(stand, &found).await?;
    ensure!(again == ErasedRows::default(), "{again:?} were erased twice");
    is_whole(stand).await?;
    let (looked, _) = stand.ledger.audit().await.map_err(words)?;
    ensure!(looked.chain.erased >= 3, "{:?}", looked.chain);
    let counts = stand.ledger.event(event).await.map_err(words)?.map(|event| event.counts.sold);
    ensure!(counts == Some(2), "{counts:?} are sold");
    // Who was erased may buy again.
    expect_sale(&stand.one(event, stand.reserve("erin")).await?)?;
    is_whole(stand).await
}

/// In steps, oldest first; what is younger stays.
async fn by_age(stand: &Stand) -> Verdict {
    let event = stand.event(9, 1).await?.id;
    stand.commit(event, vec![stand.reserve("old-1"), stand.reserve("old-2")]).await?;
    (stand.advance)(2 * DAY_MS);
    stand.one(event, stand.reserve("new")).await?;
    for _ in 0..1_000 {
        let tidied = stand.ledger.tidy(Aged::Personal, DAY_MS, 100).await.map_err(words)?;
        ensure!(tidied.personal <= 100, "{} rows in a step of 100", tidied.personal);
        if tidied.personal == 0 {
            break;
        }
    }
    ensure!(named(stand, event).await? == ["new"], "{:?} have names", named(stand, event).await?);
    let kept: Vec<bool> = rows(stand, SubjectId::Event(event)).await?.iter().map(|row| row.address.is_some()).collect();
    ensure!(kept == [false, false, false, true], "{kept:?}");
    is_whole(stand).await
}

/// A user's order in every table that can have one: a sale, a live hold, one given back with a reason and one that was paid,
/// of seats and of nights; and a stay that was cancelled.
struct Orders {
    event: EventId,
    hotel: Hotel,
    holds: Vec<HoldId>,
    stays: Vec<StayId>,
}

impl Orders {
    async fn of(stand: &Stand, user: &str) -> Result<Orders, String> {
        let event = stand.event(9, 9).await?.id;
        let hotel = Hotel::open(stand, 9).await?;
        stand.one(event, Command { details: order("sold"), ..stand.reserve(user) }).await?;
        let (mut holds, mut stays) = (Vec::new(), Vec::new());
        for (i, ask) in [None, Some(Ask::Cancel), Some(Ask::Confirm), Some(Ask::Confirm)].into_iter().enumerate() {
            let key = client_key(i as u64 + 1);
            let seats = [2 * i as u32 + 2, 2 * i as u32 + 3];
            let of_seats = hold_seats(stand, user, &seats, &key, order("seats"));
            let seats = expect_held(&stand.one(event, of_seats).await?)?.id;
            let of_nights = RoomCommand { details: order("nights"), ..hotel.wants(user, nights(i as i32, 2), &key) };
            let nights = expect_held(&hotel.one(of_nights).await?)?.id;
            holds.extend([seats, nights]);
            let Some(ask) = ask else { continue };
            let details = (ask == Ask::Cancel).then(|| because("ill")).flatten();
            let action = rules::command::EventAction::OnHold { n: seats.n, ask };
            stand.one(event, Command { number: None, details: details.clone(), action, ..stand.reserve(user) }).await?;
            let asked = hotel.one(RoomCommand { details, ..hotel.asks(user, nights.n, ask) }).await?;
            if ask == Ask::Confirm {
                stays.push(StayId { room_type: hotel.id, n: expect_confirmed(&asked)? });
            }
        }
        let last = stays.last().ok_or("no stay")?.n;
        hotel.one(RoomCommand { details: because("rain"), ..hotel.cancels(user, last) }).await?;
        Ok(Orders { event, hotel, holds, stays })
    }

    /// How many sales, holds, reasons of holds and stays still tell of the order, and how many rows of history.
    async fn left(&self, stand: &Stand) -> Result<[usize; 5], String> {
        let sales = stand.ledger.reservations_in(self.event, None, 99).await.map_err(words)?;
        let mut left = [sales.iter().filter(|one| one.sale.metadata.is_some()).count(), 0, 0, 0, 0];
        for id in &self.holds {
            let hold = stand.ledger.hold(*id).await.map_err(words)?.found.ok_or("no hold")?;
            left[1] += usize::from(hold.metadata.is_some());
            left[2] += usize::from(hold.reason.is_some());
        }
        for id in &self.stays {
            // One that was cancelled is not shown any more. `is_whole` finds metadata in its row that the history has lost.
            let stay = stand.ledger.stay(*id).await.map_err(words)?;
            left[3] += usize::from(stay.is_some_and(|stay| stay.metadata.is_some()));
        }
        for subject in [SubjectId::Event(self.event), SubjectId::RoomType(self.hotel.id)] {
            left[4] += rows(stand, subject).await?.iter().filter(|row| row.details.is_some()).count();
        }
        Ok(left)
    }
}

/// Orders of one user in every table that can have one.
pub async fn some_orders(stand: &Stand, user: &str) -> Verdict {
    Orders::of(stand, user).await.map(drop)
}

/// Erases everything of one user.
pub async fn erase_everything(stand: &Stand, user: &str) -> Verdict {
    let user = User::stored(user);
    erase(stand, &rows_about(stand, &user).await?).await?;
    stand.ledger.end_erasure(user.clone(), note(&user)).await.map(drop).map_err(words)
}

async fn orders_of_one_person(stand: &Stand) -> Verdict {
    let grace = User::stored("grace");
    let (hers, his) = (Orders::of(stand, "grace").await?, Orders::of(stand, "henry").await?);
    let before = hers.left(stand).await?;
    ensure!(before[..4] == [5, 8, 2, 1], "{before:?}");
    let found = rows_about(stand, &grace).await?;
    let erased = erase(stand, &found).await?;
    ensure!((erased.holds, erased.stays) == (8, 2), "{erased:?}");
    let beside = stand.ledger.end_erasure(grace.clone(), note(&grace)).await.map_err(words)?;
    ensure!(beside.sales == 5, "{beside:?}");
    let left = hers.left(stand).await?;
    ensure!(left == [0; 5], "{left:?} is left");
    let left = his.left(stand).await?;
    ensure!(left == before, "somebody else lost something: {left:?}");
    let again = erase(stand, &found).await?;
    ensure!(again == ErasedRows::default(), "{again:?}");
    is_whole(stand).await?;
    // The live hold can still be paid.
    let live = hers.holds[1].n;
    let paid = hers.hotel.ask("grace", live, Ask::Confirm).await?;
    ensure!(matches!(paid.outcome, Outcome::Done(Done::Confirmed { .. })), "{paid:?}");
    is_whole(stand).await
}

/// Two users with orders, two days apart: those of the first end.
async fn orders_by_age(stand: &Stand) -> Verdict {
    let old = Orders::of(stand, "old-3").await?;
    (stand.advance)(2 * DAY_MS);
    let new = Orders::of(stand, "new-3").await?;
    let before = new.left(stand).await?;
    for _ in 0..1_000 {
        if stand.ledger.tidy(Aged::Personal, DAY_MS, 100).await.map_err(words)?.personal == 0 {
            break;
        }
    }
    let left = old.left(stand).await?;
    ensure!(left == [0; 5], "{left:?} is left");
    let left = new.left(stand).await?;
    ensure!(left == before, "younger orders lost something: {left:?}");
    is_whole(stand).await
}
