//! Idempotency: a repeated key gets the first answer again, a key with other content is refused, a refusal
//! is decided again, and a key is forgotten after a day.

use rules::outcome::Refusal;

use super::{Stand, Verdict, expect_refusal, expect_sale, sale, with_key};
use crate::ensure;

pub async fn chapter(stand: &Stand) -> Verdict {
    let event = stand.event(5, 2).await?.id;
    let keyed = |content| with_key(stand.reserve("alice"), "k1", content);
    let together = stand.commit(event, vec![keyed(1), keyed(1), keyed(2)]).await?;
    let first = expect_sale(&together[0])?;
    ensure!(!together[0].replayed && together[1].replayed, "the first is fresh, the second is repeated");
    ensure!(sale(&together[1]) == Some(&first), "the repeated answer differs: {:?}", together[1]);
    expect_refusal(&together[2], &Refusal::KeyMismatch)?;

    let later = stand.one(event, keyed(1)).await?;
    ensure!(later.replayed && sale(&later) == Some(&first), "a later repeat: {later:?}");
    expect_refusal(&stand.one(event, keyed(3)).await?, &Refusal::KeyMismatch)?;
    let bob = stand.one(event, with_key(stand.reserve("bob"), "k1", 1)).await?;
    ensure!(!bob.replayed && sale(&bob).is_some(), "a key belongs to its user: {bob:?}");

    let cancel = || with_key(stand.cancel("alice", first.reservation.n), "c1", 9);
    let cancelled = stand.one(event, cancel()).await?;
    let repeated = stand.one(event, cancel()).await?;
    ensure!(!cancelled.replayed && repeated.replayed, "a cancellation is repeated: {cancelled:?} {repeated:?}");
    ensure!(cancelled.outcome == repeated.outcome, "{cancelled:?} {repeated:?}");

    a_refusal_is_decided_anew(stand).await?;
    (stand.advance)(86_400_000);
    let forgotten = stand.one(event, keyed(7)).await?;
    ensure!(!forgotten.replayed && sale(&forgotten).is_some(), "a key counts for a day: {forgotten:?}");
    Ok(())
}

async fn a_refusal_is_decided_anew(stand: &Stand) -> Verdict {
    let event = stand.event(1, 1).await?.id;
    let n = expect_sale(&stand.one(event, stand.reserve("first")).await?)?.reservation.n;
    let keyed = || with_key(stand.reserve("second"), "again", 1);
    expect_refusal(&stand.one(event, keyed()).await?, &Refusal::SoldOut)?;
    stand.one(event, stand.cancel("first", n)).await?;
    let answer = stand.one(event, keyed()).await?;
    ensure!(!answer.replayed && sale(&answer).is_some(), "the refusal was kept: {answer:?}");
    Ok(())
}
