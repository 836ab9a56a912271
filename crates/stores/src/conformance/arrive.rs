//! Arriving: numbers rise, each user has at most one running request, marks are removed by request name.

use rules::arrive::{Arrival, Arrived, MARK_MS};
use rules::ids::{ClientAddress, EventId, RequestName, User};

use super::{Stand, Verdict};
use crate::door::Release;
use crate::ensure;

fn arrival(user: &str, name: u64) -> Arrival {
    Arrival {
        name: RequestName(name.into()),
        user: Some(User::stored(user)),
        address: ClientAddress::V4([127, 0, 0, 1]),
        keyed: false,
    }
}

async fn arrive(stand: &Stand, event: EventId, arrivals: Vec<Arrival>) -> Result<Vec<Arrived>, String> {
    let asked = arrivals.len();
    let arrived = stand.door.arrive(event, arrivals).await.map_err(|f| f.to_string())?;
    ensure!(arrived.len() == asked, "{} answers to {asked} arrivals", arrived.len());
    Ok(arrived)
}

pub async fn chapter(stand: &Stand) -> Verdict {
    let event = stand.event(9, 1).await?.id;
    let before = arrive(stand, event, vec![arrival("early", 1)]).await?;
    ensure!(before == [Arrived::NoNumber], "a number without a generation: {before:?}");
    let generation = open(stand, event).await?;
    ensure!(generation == 0, "the first generation is {generation}");

    let first = arrive(stand, event, vec![arrival("a", 1), arrival("b", 2), arrival("a", 3)]).await?;
    let numbers = [number(&first[0])?, number(&first[1])?];
    ensure!(numbers == [1, 2], "the first numbers are {numbers:?}");
    ensure!(matches!(first[2], Arrived::AlreadyAsking { retry_after: 1.. }), "a was let in twice: {:?}", first[2]);

    release(stand, event, "a", 3).await?;
    let still = arrive(stand, event, vec![arrival("a", 4)]).await?;
    ensure!(matches!(still[0], Arrived::AlreadyAsking { .. }), "another request's name took the mark away");
    release(stand, event, "a", 1).await?;
    let again = arrive(stand, event, vec![arrival("a", 5)]).await?;
    ensure!(number(&again[0])? > 2, "numbers went back");

    let keyed = Arrival { keyed: true, ..arrival("a", 6) };
    let keyed = arrive(stand, event, vec![keyed.clone(), keyed]).await?;
    ensure!(keyed.iter().all(|a| matches!(a, Arrived::Number(_))), "requests with a key are not marked: {keyed:?}");

    (stand.advance)(MARK_MS);
    let late = arrive(stand, event, vec![arrival("a", 7)]).await?;
    let last = number(&late[0])?;

    let generation = open(stand, event).await?;
    ensure!(generation == 1, "the second generation is {generation}");
    let after = arrive(stand, event, vec![arrival("c", 8)]).await?;
    ensure!(number(&after[0])? == 1_000_000_001 && last < 1_000_000_001, "generation 1 began with {:?}", after[0]);
    stand.door.open(event, 0).await.map_err(|f| f.to_string())?;
    let after = arrive(stand, event, vec![arrival("d", 9)]).await?;
    ensure!(number(&after[0])? == 1_000_000_002, "late news of an old generation was believed: {:?}", after[0]);
    Ok(())
}

async fn open(stand: &Stand, event: EventId) -> Result<u64, String> {
    let generation = stand.ledger.raise_generation(event, None).await.map_err(|f| f.to_string())?;
    stand.door.open(event, generation).await.map_err(|f| f.to_string())?;
    Ok(generation)
}

async fn release(stand: &Stand, event: EventId, user: &str, name: u64) -> Verdict {
    let ended = vec![Release { user: User::stored(user), name: RequestName(name.into()) }];
    stand.door.release(event, ended).await.map_err(|f| f.to_string())
}

fn number(arrived: &Arrived) -> Result<u64, String> {
    match arrived {
        Arrived::Number(number) => Ok(number.0),
        other => Err(format!("expected a number, got {other:?}")),
    }
}
