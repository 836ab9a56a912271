//! When an event sold its first seat and its last.

use rules::event::SaleTimes;
use rules::ids::EventId;
use rules::time::Moment;

use super::{Stand, Verdict, expect_sale};
use crate::ensure;

async fn times(stand: &Stand, event: EventId) -> Result<SaleTimes, String> {
    let found = stand.ledger.event(event).await.map_err(|f| f.to_string())?.ok_or("no event")?;
    let listed = stand.ledger.events(false, Some(EventId(event.0 - 1)), 1).await.map_err(|f| f.to_string())?;
    ensure!(listed.first().is_some_and(|listed| listed.times == found.times), "{listed:?} is not {found:?}");
    Ok(found.times)
}

/// Reserves a seat. Gives the number of the reservation, and when it was made.
async fn sold(stand: &Stand, event: EventId, user: &str) -> Result<(u64, Moment), String> {
    let sale = expect_sale(&stand.one(event, stand.reserve(user)).await?)?;
    let found = stand.ledger.reservation(sale.reservation).await.map_err(|f| f.to_string())?.ok_or("it stands")?;
    Ok((sale.reservation.n, found.sale.at))
}

pub async fn first_and_last_sale_are_known(stand: &Stand) -> Verdict {
    let id = stand.event(3, 4).await?.id;
    ensure!(times(stand, id).await? == SaleTimes::default(), "nothing is sold");
    let (n, first) = sold(stand, id, "a").await?;
    let begun = times(stand, id).await?;
    ensure!(begun == SaleTimes { first: Some(first), sold_out: None }, "{begun:?}, sold at {first:?}");
    (stand.advance)(5_000);
    stand.commit(id, vec![stand.reserve("b"), stand.reserve("c"), stand.reserve("d")]).await?;
    let over = times(stand, id).await?;
    let (at, ms) = over.sold_out_after_ms().ok_or("it is sold out")?;
    ensure!(over.first == Some(first) && ms >= 5_000 && first.plus_ms(ms as i64) == at, "{over:?}");
    // Refusals change nothing.
    (stand.advance)(5_000);
    stand.one(id, stand.reserve("e")).await?;
    ensure!(times(stand, id).await? == over, "a refusal changed it");
    stand.one(id, stand.cancel("a", n)).await?;
    let back = times(stand, id).await?;
    ensure!(back == SaleTimes { first: Some(first), sold_out: None }, "{back:?}");
    let (_, again) = sold(stand, id, "e").await?;
    let over = times(stand, id).await?;
    ensure!(over == SaleTimes { first: Some(first), sold_out: Some(again) }, "{over:?}");
    Ok(())
}
