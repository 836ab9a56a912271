//! Expiry: a lapsed hold's stock is free at that very moment, exactly once, without any background task.

use rules::history::Happened;
use rules::holds::{Ask, HoldState};
use rules::outcome::{Done, Outcome, Refusal};
use rules::subject::SubjectId;

use super::hotel::{Hotel, HotelReply, client_key, nights};
use super::{Stand, Verdict, expect_refusal, refusal};
use crate::ensure;

pub async fn chapter(stand: &Stand) -> Verdict {
    at_that_very_moment(stand).await?;
    staggered(stand).await?;
    many_at_once(stand).await
}

/// The clocks of some ledgers run while they are moved, so the test keeps a margin before the end.
const MARGIN_MS: i64 = 5_000;

async fn at_that_very_moment(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 1).await?;
    let hold = hotel.hold("alice", nights(0, 2), &client_key(1)).await?;
    ensure!(!ends(&hotel, hotel.terms.holds.ttl_ms / 2).await?, "it ends later");
    (stand.advance)(hotel.terms.holds.ttl_ms - MARGIN_MS);
    ensure!(ends(&hotel, MARGIN_MS).await? && !ends(&hotel, 0).await?, "it ends within the margin");
    let full = hotel.one(hotel.wants("bob", nights(1, 1), &client_key(2))).await?;
    ensure!(matches!(refusal(&full), Some(Refusal::NotAvailable { .. })), "gone before its end: {full:?}");
    ensure!(hotel.state(hold.id.n).await? == HoldState::Held, "shown as ended before its end");
    (stand.advance)(MARGIN_MS);
    ensure!(ends(&hotel, 0).await?, "it has ended, and is not turned");
    // Shown by reading alone: no batch has ended the hold yet.
    let shown = hotel.free(nights(0, 2)).await?;
    ensure!(shown.iter().all(|row| row.held == 0 && row.free() == 1), "a ghost is held: {shown:?}");
    ensure!(hotel.state(hold.id.n).await? == HoldState::Expired, "shown as held behind its end");
    expect_refusal(&hotel.ask("alice", hold.id.n, Ask::Confirm).await?, &Refusal::HoldExpired)?;
    expect_refusal(&hotel.ask("alice", hold.id.n, Ask::Cancel).await?, &Refusal::HoldExpired)?;
    let next = hotel.hold("bob", nights(0, 2), &client_key(1)).await?;
    let told =
        [HotelReply { hold: hold.id.n, end: Some(Happened::Expired) }, HotelReply { hold: next.id.n, end: None }];
    hotel.audit(&told, nights(0, 3)).await
}

/// Whether a hold of this room type ends within this time, or has lapsed and was not turned.
async fn ends(hotel: &Hotel, within_ms: i64) -> Result<bool, String> {
    let found = hotel.stand.ledger.with_holds_ending(within_ms, 10_000).await.map_err(|fault| fault.to_string())?;
    Ok(found.contains(&SubjectId::RoomType(hotel.id)))
}

/// Ten holds, a minute apart, under steady load: the count always equals the live holds.
async fn staggered(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 100).await?;
    let mut began = Vec::new();
    for minute in 0..25i64 {
        if minute < 10 {
            hotel.hold(&format!("u{minute}"), nights(0, 1), &client_key(minute as u64)).await?;
            began.push(minute);
        } else if minute % 5 == 0 {
            // A request for another night keeps the load up.
            hotel.hold(&format!("l{minute}"), nights(3, 1), &client_key(100 + minute as u64)).await?;
        }
        let live = began.iter().filter(|begun| minute - **begun < 10).count() as u32;
        let shown = hotel.free(nights(0, 1)).await?[0];
        ensure!(shown.held == live, "minute {minute}: {} shown, {live} live", shown.held);
        (stand.advance)(60_000);
    }
    hotel.audit(&[], nights(0, 5)).await
}

/// More lapsed holds than a batch ends elsewhere: those in the way of a request are still ended.
async fn many_at_once(stand: &Stand) -> Verdict {
    let mut hotel = Hotel::open(stand, 1_500).await?;
    hotel.terms.holds.per_user = 1_000_000;
    for round in 0..5u64 {
        let wants = (0..300u64).map(|i| {
            let (user, key) = (format!("u{}", round * 300 + i), client_key(round * 300 + i));
            hotel.wants(&user, nights(0, 1), &key)
        });
        let answers = hotel.batch(wants.collect()).await.map_err(|f| f.to_string())?;
        let held = answers.iter().filter(|a| matches!(a.outcome, Outcome::Done(Done::Held { .. }))).count();
        ensure!(held == 300, "{held} of 300 were held");
    }
    let full = hotel.one(hotel.wants("late", nights(0, 1), &client_key(9_999))).await?;
    ensure!(matches!(refusal(&full), Some(Refusal::NotAvailable { .. })), "{full:?}");
    (stand.advance)(hotel.terms.holds.ttl_ms);
    let wants = (0..500u64).map(|i| hotel.wants(&format!("n{i}"), nights(0, 1), &client_key(20_000 + i)));
    let answers = hotel.batch(wants.collect()).await.map_err(|f| f.to_string())?;
    let held = answers.iter().filter(|a| matches!(a.outcome, Outcome::Done(Done::Held { .. }))).count();
    ensure!(held == 500, "{held} of 500 were held");
    let shown = hotel.free(nights(0, 1)).await?[0];
    ensure!(shown.held == 500, "{shown:?}");
    hotel.audit(&[], nights(0, 1)).await
}
