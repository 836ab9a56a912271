//! Stays: hold, repeat, replace, confirm, cancel, extend; and changes of the total.

use rules::holds::{Ask, HoldState, Repeat};
use rules::outcome::{Done, Forbidden, Limit, Outcome, Refusal};
use rules::room_type::{NightRow, RoomTypeAmendment};
use rules::subject::{HoldId, StayId, SubjectId};

use super::hotel::{Hotel, HotelReply, client_key, expect_confirmed, expect_held, held, keyed, nights};
use super::{Stand, Verdict, expect_refusal};
use crate::ensure;
use rules::history::Happened;
use rules::ids::User;

pub async fn chapter(stand: &Stand) -> Verdict {
    repeat_replace_conflict(stand).await?;
    limits_and_nights(stand).await?;
    confirm_and_give_back(stand).await?;
    extensions(stand).await?;
    the_total(stand).await?;
    amended_across_zones(stand).await?;
    once(stand).await?;
    reads(stand).await
}

async fn repeat_replace_conflict(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 2).await?;
    let (a, b) = (client_key(1), client_key(2));
    let first = hotel.hold("alice", nights(0, 2), &a).await?;
    let again = hotel.one(hotel.wants("alice", nights(0, 2), &a)).await?;
    ensure!(matches!(&again.outcome, Outcome::Done(Done::Held { fresh: false, .. })), "{again:?}");
    ensure!(held(&again) == Some(&first), "the same key got another hold: {again:?}");
    let conflict = hotel.one(hotel.wants("bob", nights(0, 2), &a)).await?;
    expect_refusal(&conflict, &Refusal::HoldKeyConflict)?;
    hotel.hold("bob", nights(0, 1), &a).await?;
    (stand.advance)(60_000);
    let replaced = hotel.hold("alice", nights(0, 2), &b).await?;
    ensure!(replaced.id != first.id && replaced.first_at == first.at, "{replaced:?} replaced {first:?}");
    expect_refusal(&hotel.ask("alice", first.id.n, Ask::Confirm).await?, &Refusal::HoldNotFound)?;
    let shown = hotel.free(nights(0, 2)).await?;
    ensure!((shown[0].held, shown[1].held) == (2, 1), "a replacement is held twice: {shown:?}");
    let mut seed = hotel.clone();
    seed.terms.holds.repeat = Repeat::Replace;
    let anew = seed.hold("alice", nights(0, 2), &b).await?;
    ensure!(anew.id != replaced.id, "HOLD_REPEAT=replace gave the same hold");
    let told = [(first, Happened::Replaced), (replaced, Happened::Replaced)];
    let told: Vec<HotelReply> =
        told.iter().map(|(hold, end)| HotelReply { hold: hold.id.n, end: Some(*end) }).collect();
    hotel.audit(&told, nights(-1, 5)).await
}

async fn limits_and_nights(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 1).await?;
    hotel.hold("early", nights(2, 1), &client_key(9)).await?;
    let full = hotel.one(hotel.wants("late", nights(0, 5), &client_key(10))).await?;
    let wanted: Vec<_> = nights(2, 1).nights().collect();
    expect_refusal(&full, &Refusal::NotAvailable { nights: wanted, seats: vec![] })?;
    let shown = hotel.free(nights(0, 5)).await?;
    ensure!(shown.iter().map(|n| n.held).sum::<u32>() == 1, "a refused hold left something: {shown:?}");
    for i in 0..5 {
        hotel.hold("greedy", nights(10 + i, 1), &client_key(20 + i as u64)).await?;
    }
    let sixth = hotel.one(hotel.wants("greedy", nights(20, 1), &client_key(30))).await?;
    let limit = Limit::Holds { has: 5, most: 5 };
    expect_refusal(&sixth, &Refusal::LimitReached { seats: vec![], limit })?;
    // A replacement does not count as one more, and may use the nights of the hold it replaces.
    hotel.hold("greedy", nights(10, 1), &client_key(31)).await?;
    Ok(())
}

async fn confirm_and_give_back(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 1).await?;
    let hold = hotel.hold("alice", nights(0, 3), &client_key(1)).await?;
    let n = hold.id.n;
    let another = Refusal::Forbidden(Forbidden::AnothersHold);
    for ask in [Ask::Confirm, Ask::Cancel, Ask::Extend] {
        expect_refusal(&hotel.ask("mallory", n, ask).await?, &another)?;
        expect_refusal(&hotel.ask("alice", n + 1_000, ask).await?, &Refusal::HoldNotFound)?;
    }
    let stay = expect_confirmed(&hotel.ask("alice", n, Ask::Confirm).await?)?;
    let shown = hotel.free(nights(0, 4)).await?;
    ensure!(shown.iter().map(|row| (row.reserved, row.held)).eq([(1, 0), (1, 0), (1, 0), (0, 0)]), "{shown:?}");
    for ask in [Ask::Confirm, Ask::Cancel, Ask::Extend] {
        let again = hotel.ask("alice", n, ask).await?;
        let Some(Refusal::HoldProcessed { confirmed: Some(known) }) = super::refusal(&again) else {
            return Err(format!("a confirmed hold was asked {ask:?} and answered {again:?}"));
        };
        ensure!(known.reserved == [stay], "{known:?}");
    }
    expect_refusal(&hotel.one(hotel.cancels("mallory", stay)).await?, &Refusal::Forbidden(Forbidden::Anothers))?;
    let given_back = hotel.one(hotel.cancels("alice", stay)).await?;
    ensure!(given_back.outcome == Outcome::Done(Done::Cancelled), "{given_back:?}");
    expect_refusal(&hotel.one(hotel.cancels("alice", stay)).await?, &Refusal::NotFound)?;
    let hold = hotel.hold("bob", nights(0, 3), &client_key(2)).await?;
    let cancelled = hotel.ask("bob", hold.id.n, Ask::Cancel).await?;
    ensure!(cancelled.outcome == Outcome::Done(Done::Released), "{cancelled:?}");
    let again = hotel.ask("bob", hold.id.n, Ask::Cancel).await?;
    expect_refusal(&again, &Refusal::HoldProcessed { confirmed: None })?;
    // Within a batch, commands that give back come first.
    let hold = hotel.hold("carol", nights(0, 3), &client_key(3)).await?;
    let batch = vec![hotel.wants("dave", nights(0, 3), &client_key(4)), hotel.asks("carol", hold.id.n, Ask::Cancel)];
    let answers = hotel.batch(batch).await.map_err(|f| f.to_string())?;
    expect_held(&answers[0])?;
    hotel.audit(&[], nights(0, 4)).await
}

async fn extensions(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 1).await?;
    let first = hotel.hold("alice", nights(0, 1), &client_key(1)).await?;
    let oldest = Refusal::LimitReached { seats: vec![], limit: Limit::HoldAge };
    expect_refusal(&hotel.ask("alice", first.id.n, Ask::Extend).await?, &oldest)
        .or_else(|words| if stand.ledger.now() > first.at { Ok(()) } else { Err(words) })?;
    let mut end = first.ends_at;
    let mut hold = first.clone();
    for round in 0..8 {
        (stand.advance)(300_000);
        // A replacement half way through: it does not restart the age.
        if round == 2 {
            hold = hotel.hold("alice", nights(0, 1), &client_key(2)).await?;
            end = hold.ends_at;
            continue;
        }
        let answer = hotel.ask("alice", hold.id.n, Ask::Extend).await?;
        match held(&answer) {
            Some(longer) => {
                ensure!(longer.ends_at > end, "an extension gained nothing: {longer:?}");
                end = longer.ends_at;
            }
            None => break,
        }
    }
    let last = first.at.plus_ms(hotel.terms.holds.max_age_ms);
    ensure!(end == last, "the last end is {end:?}, not {last:?}");
    (stand.advance)(600_000);
    expect_refusal(&hotel.ask("alice", hold.id.n, Ask::Extend).await?, &Refusal::HoldExpired)
}

async fn the_total(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 3).await?;
    for user in ["a", "b"] {
        hotel.hold(user, nights(4, 2), &client_key(user.len() as u64 + u64::from(user.as_bytes()[0]))).await?;
    }
    expect_refusal(&hotel.one(hotel.amends(1)).await?, &Refusal::RoomsInUse { least: 2 })?;
    let changed = hotel.one(hotel.amends(2)).await?;
    let Outcome::Done(Done::RoomsChanged(row)) = &changed.outcome else { return Err(format!("{changed:?}")) };
    ensure!(row.total == 2, "{row:?}");
    let full = hotel.one(hotel.wants("c", nights(5, 1), &client_key(7))).await?;
    ensure!(matches!(super::refusal(&full), Some(Refusal::NotAvailable { .. })), "{full:?}");
    let shown = hotel.free(nights(3, 3)).await?;
    ensure!(shown.iter().all(|row| row.total == 2), "{shown:?}");
    // Total raised and rooms asked for in one batch.
    let answers = hotel.batch(vec![hotel.amends(3), hotel.wants("c", nights(5, 1), &client_key(7))]).await;
    expect_held(&answers.map_err(|f| f.to_string())?[1])?;
    // A lapsed hold blocks nobody.
    (stand.advance)(600_000);
    let lowered = hotel.one(hotel.amends(0)).await?;
    ensure!(matches!(lowered.outcome, Outcome::Done(Done::RoomsChanged(_))), "{lowered:?}");
    hotel.one(hotel.amends(3)).await?;
    hotel.audit(&[], nights(0, 10)).await
}

async fn once(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 5).await?;
    let wants = |key: &str| keyed(hotel.wants("alice", nights(0, 1), key), "once", 1);
    let first = hotel.one(wants(&client_key(1))).await?;
    let again = hotel.one(wants(&client_key(1))).await?;
    ensure!(again.replayed && again.outcome == first.outcome, "{again:?}");
    let n = expect_held(&first)?.id.n;
    let other = keyed(hotel.asks("alice", n, Ask::Confirm), "once", 2);
    expect_refusal(&hotel.one(other).await?, &Refusal::KeyMismatch)?;
    let confirm = || keyed(hotel.asks("alice", n, Ask::Confirm), "pay", 3);
    let stay = expect_confirmed(&hotel.one(confirm()).await?)?;
    let again = hotel.one(confirm()).await?;
    ensure!(again.replayed && expect_confirmed(&again)? == stay, "{again:?}");
    Ok(())
}

async fn reads(stand: &Stand) -> Verdict {
    let fault = |f: crate::ledger::LedgerFault| f.to_string();
    let (one, two) = (Hotel::open(stand, 2).await?, Hotel::open(stand, 2).await?);
    let user = format!("reader-{}", stand.next());
    let kept = one.hold(&user, nights(0, 2), &client_key(1)).await?;
    let paid = two.hold(&user, nights(1, 2), &client_key(2)).await?;
    let stay = expect_confirmed(&two.ask(&user, paid.id.n, Ask::Confirm).await?)?;
    let ledger = &stand.ledger;
    let mine = ledger.holds_of(User::stored(&user), None, 10).await.map_err(fault)?;
    ensure!(mine.found == [kept.clone()], "{mine:?}");
    let behind = ledger.holds_of(User::stored(&user), Some(kept.id), 10).await.map_err(fault)?;
    ensure!(behind.found.is_empty() && behind.now >= kept.at, "{behind:?}");
    let id = StayId { room_type: two.id, n: stay };
    let stays = ledger.stays_of(User::stored(&user), None, 10).await.map_err(fault)?;
    ensure!(stays.len() == 1 && stays[0].id == id && stays[0].hold == paid.id.n, "{stays:?}");
    ensure!(ledger.stay(id).await.map_err(fault)?.as_ref() == stays.first(), "one stay, two spellings");
    ensure!(ledger.stays_of(User::stored(&user), Some(id), 10).await.map_err(fault)?.is_empty(), "behind the last");
    two.one(two.cancels(&user, stay)).await?;
    ensure!(ledger.stay(id).await.map_err(fault)?.is_none(), "a cancelled stay stands");
    ensure!(two.state(paid.id.n).await? == HoldState::Confirmed, "a confirmed hold is what it was");
    let nobody = HoldId { subject: SubjectId::RoomType(one.id), n: 999_999 };
    ensure!(ledger.hold(nobody).await.map_err(fault)?.found.is_none(), "a hold that never was");
    let listed = ledger.room_types(Some(rules::subject::RoomTypeId(one.id.0 - 1)), 2).await.map_err(fault)?;
    ensure!(listed.iter().map(|row| row.id).eq([one.id, two.id]), "{listed:?}");
    Ok(())
}

/// A new zone may move the property's day back. Nights that were over when the total was lowered keep their
/// own total, whatever is amended on that day again.
async fn amended_across_zones(stand: &Stand) -> Verdict {
    let hotel = Hotel::open(stand, 3).await?;
    for i in 0..2 {
        hotel.hold(&format!("u{i}"), nights(0, 1), &client_key(i)).await?;
    }
    let total = |total| RoomTypeAmendment { total: Some(total), ..RoomTypeAmendment::default() };
    let name = |name: &str| RoomTypeAmendment { name: Some(name.into()), ..RoomTypeAmendment::default() };
    hotel.hold("late", nights(1, 1), &client_key(7)).await?;
    let lowered = hotel.one(hotel.amends_on(1, total(1))).await?;
    ensure!(matches!(lowered.outcome, Outcome::Done(_)), "{lowered:?}");
    let renamed = hotel.one(hotel.amends_on(0, name("Twin"))).await?;
    ensure!(matches!(renamed.outcome, Outcome::Done(_)), "a rename failed: {renamed:?}");
    let totals = |rows: Vec<NightRow>| rows.into_iter().map(|row| row.total).collect::<Vec<u32>>();
    ensure!(totals(hotel.free(nights(0, 2)).await?) == [3, 1], "a rename changed a total");
    expect_refusal(&hotel.one(hotel.amends_on(0, total(1))).await?, &Refusal::RoomsInUse { least: 2 })?;
    // In one batch each amendment counts from its own day on.
    let both = hotel.batch(vec![hotel.amends_on(0, total(5)), hotel.amends_on(1, total(2))]).await;
    let both = both.map_err(|f| f.to_string())?;
    ensure!(both.iter().all(|answer| matches!(answer.outcome, Outcome::Done(_))), "{both:?}");
    ensure!(totals(hotel.free(nights(0, 2)).await?) == [5, 2], "{:?}", hotel.free(nights(0, 2)).await?);
    Ok(())
}
