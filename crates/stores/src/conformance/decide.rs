//! Deciding: seats in order, limits, the `duplicate` window, states of an event, cancellations.

use rules::command::{EventAction, Terms};
use rules::event::{EventAmendment, Turn};
use rules::ids::Seat;
use rules::outcome::{Done, Forbidden, Outcome, Refusal};

use super::{Stand, Verdict, expect_refusal, expect_sale, refusal, sale};
use crate::ensure;

pub async fn chapter(stand: &Stand) -> Verdict {
    seats_in_order(stand).await?;
    lower_numbers_first(stand).await?;
    limits(stand).await?;
    the_window(stand).await?;
    states(stand).await?;
    giving_back(stand).await?;
    nothing_to_sell(stand).await
}

async fn seats_in_order(stand: &Stand) -> Verdict {
    let event = stand.event(5, 1).await?.id;
    for seat in 1..=5 {
        let reserved = expect_sale(&stand.one(event, stand.reserve(&format!("u{seat}"))).await?)?;
        ensure!(reserved.seat == Seat(seat), "seat {:?} was sold as number {seat}", reserved.seat);
        ensure!(reserved.remaining == 5 - seat, "{} remain after {seat} of 5", reserved.remaining);
    }
    expect_refusal(&stand.one(event, stand.reserve("u6")).await?, &Refusal::SoldOut)
}

async fn lower_numbers_first(stand: &Stand) -> Verdict {
    let event = stand.event(1, 1).await?.id;
    let (early, late) = (stand.reserve("early"), stand.reserve("late"));
    let answers = stand.commit(event, vec![late, early]).await?;
    expect_refusal(&answers[0], &Refusal::SoldOut)?;
    expect_sale(&answers[1]).map(|_| ())
}

async fn limits(stand: &Stand) -> Verdict {
    let event = stand.event(20, 4).await?.id;
    let four: Vec<_> = (0..5).map(|_| stand.reserve("greedy")).collect();
    let answers = stand.commit(event, four).await?;
    let seats: Vec<_> = answers.iter().filter_map(sale).map(|r| r.seat.0).collect();
    ensure!(seats == [1, 2, 3, 4], "four of five in one batch got {seats:?}");
    let newest = Refusal::Duplicate { seat: Seat(4), user_ttl_s: Some(900) };
    expect_refusal(&answers[4], &newest)?;
    ensure!(refusal(&stand.one(event, stand.reserve("greedy")).await?).is_some(), "a fifth seat in a later batch");
    let unit = answers[1].clone();
    let n = expect_sale(&unit)?.reservation.n;
    stand.one(event, stand.cancel("greedy", n)).await?;
    let again = expect_sale(&stand.one(event, stand.reserve("greedy")).await?)?;
    ensure!(again.seat == Seat(2), "the seat given back is the lowest, got {:?}", again.seat);
    Ok(())
}

async fn the_window(stand: &Stand) -> Verdict {
    let event = stand.event(9, 1).await?.id;
    let seat = expect_sale(&stand.one(event, stand.reserve("alice")).await?)?.seat;
    (stand.advance)(30_000);
    let answer = stand.one(event, stand.reserve("alice")).await?;
    match refusal(&answer) {
        // Real clocks advance during the test.
        Some(Refusal::Duplicate { seat: s, user_ttl_s: Some(860..=870) }) if *s == seat => {}
        other => return Err(format!("30 s after the sale: {other:?}")),
    }
    let for_ever = Terms { user_ttl_ms: 0, ..Terms::default() };
    let answer = stand.commit_on(event, vec![stand.reserve("alice")], for_ever).await?;
    expect_refusal(&answer[0], &Refusal::Duplicate { seat, user_ttl_s: None })?;
    (stand.advance)(870_000);
    expect_refusal(&stand.one(event, stand.reserve("alice")).await?, &Refusal::AlreadyReserved { seat })
}

async fn states(stand: &Stand) -> Verdict {
    let event = stand.event(9, 1).await?.id;
    let n = expect_sale(&stand.one(event, stand.reserve("early")).await?)?.reservation.n;
    let turn = |turn| stand.operate(EventAction::Turn(turn));
    stand.one(event, turn(Turn::Pause)).await?;
    let paused = stand.one(event, stand.reserve("a")).await?;
    ensure!(matches!(refusal(&paused), Some(Refusal::NotOpen { .. })), "sold while paused: {paused:?}");
    stand.one(event, turn(Turn::Resume)).await?;
    expect_sale(&stand.one(event, stand.reserve("a")).await?)?;
    stand.one(event, turn(Turn::Close)).await?;
    expect_refusal(&stand.one(event, stand.reserve("b")).await?, &Refusal::Closed)?;
    let cancelled = stand.one(event, stand.cancel("early", n)).await?;
    ensure!(cancelled.outcome == Outcome::Done(Done::Cancelled), "cancelling works in every state: {cancelled:?}");
    stand.one(event, turn(Turn::Open)).await?;
    let opens = stand.ledger.wall().plus_ms(60_000);
    let amendment = EventAmendment { opens_at: Some(Some(opens)), ..EventAmendment::default() };
    stand.one(event, stand.operate(EventAction::Amend(amendment))).await?;
    let early = stand.one(event, stand.reserve("c")).await?;
    ensure!(matches!(refusal(&early), Some(Refusal::NotOpen { opens_at: Some(o), .. }) if *o == opens), "{early:?}");
    (stand.advance)(60_000);
    expect_sale(&stand.one(event, stand.reserve("c")).await?)?;
    let delete = stand.one(event, stand.operate(EventAction::Delete)).await?;
    expect_refusal(&delete, &Refusal::InUse)
}

async fn giving_back(stand: &Stand) -> Verdict {
    let event = stand.event(1, 1).await?.id;
    let n = expect_sale(&stand.one(event, stand.reserve("alice")).await?)?.reservation.n;
    let foreign = stand.one(event, stand.cancel("mallory", n)).await?;
    expect_refusal(&foreign, &Refusal::Forbidden(Forbidden::Anothers))?;
    let batch = vec![stand.reserve("bob"), stand.cancel("alice", n)];
    let answers = stand.commit(event, batch).await?;
    ensure!(sale(&answers[0]).is_some(), "what gives back comes first, so bob has a seat: {:?}", answers[0]);
    expect_refusal(&stand.one(event, stand.cancel("alice", n)).await?, &Refusal::NotFound)?;
    let none = stand.one(event, stand.cancel("alice", 999_999)).await?;
    expect_refusal(&none, &Refusal::NotFound)
}

async fn nothing_to_sell(stand: &Stand) -> Verdict {
    let event = stand.event(0, 1).await?.id;
    expect_refusal(&stand.one(event, stand.reserve("a")).await?, &Refusal::SoldOut)
}
