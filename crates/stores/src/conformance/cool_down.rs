//! The cool-down: who gave stock back holds the same again only after a while. Others may have it at once.

use rules::command::{Command, EventAction, Terms};
use rules::decide::Answer;
use rules::holds::{Ask, HoldTerms};
use rules::ids::{EventId, Seat};
use rules::outcome::Refusal;

use super::hotel::{Hotel, client_key, expect_held, nights};
use super::{Stand, Verdict, expect_refusal};
use crate::ensure;

const AGAIN_AFTER_MS: i64 = 30_000;

pub async fn chapter(stand: &Stand) -> Verdict {
    nights_cool_down(stand).await?;
    seats_cool_down(stand).await
}

fn terms() -> Terms {
    let holds = HoldTerms { again_after_ms: AGAIN_AFTER_MS, ..HoldTerms::default() };
    Terms { holds, ..Terms::default() }
}

/// Refused, with a time to wait that is not longer than the cool-down.
fn expect_cooling(answer: &Answer, most_s: u64) -> Verdict {
    let Some(Refusal::HeldLately { retry_after }) = super::refusal(answer) else {
        return Err(format!("held again at once: {answer:?}"));
    };
    ensure!((1..=most_s).contains(retry_after), "{retry_after} s to wait, at most {most_s}");
    Ok(())
}

async fn nights_cool_down(stand: &Stand) -> Verdict {
    let hotel = Hotel { terms: terms(), ..Hotel::open(stand, 1).await? };
    let mut keys = (1..).map(client_key);
    let mut key = || keys.next().unwrap_or_default();
    let first = hotel.hold("alice", nights(0, 2), &key()).await?;
    // Another key continues the same hold.
    let second = hotel.hold("alice", nights(0, 2), &key()).await?;
    ensure!(second.first_at == first.first_at, "{second:?}");
    hotel.ask("alice", second.id.n, Ask::Cancel).await?;
    expect_cooling(&hotel.one(hotel.wants("alice", nights(0, 2), &key())).await?, 30)?;
    let other = hotel.hold("alice", nights(2, 2), &key()).await?;
    hotel.ask("alice", other.id.n, Ask::Cancel).await?;
    // Others get it, and once it is full that is what they are told.
    let theirs = hotel.hold("bob", nights(0, 2), &key()).await?;
    expect_cooling(&hotel.one(hotel.wants("alice", nights(0, 2), &key())).await?, 30)?;
    hotel.ask("bob", theirs.id.n, Ask::Cancel).await?;
    (stand.advance)(AGAIN_AFTER_MS);
    let again = hotel.hold("alice", nights(0, 2), &key()).await?;
    // In the batch of the cancellation itself.
    let both = vec![hotel.wants("alice", nights(0, 2), &key()), hotel.asks("alice", again.id.n, Ask::Cancel)];
    expect_cooling(&hotel.batch(both).await.map_err(|f| f.to_string())?[0], 30)?;
    // A hold that lapsed was over at its end, whenever it is turned.
    (stand.advance)(AGAIN_AFTER_MS);
    hotel.hold("alice", nights(0, 2), &key()).await?;
    (stand.advance)(hotel.terms.holds.ttl_ms + 10_000);
    expect_cooling(&hotel.one(hotel.wants("alice", nights(0, 2), &key())).await?, 20)?;
    expect_cooling(&hotel.one(hotel.wants("alice", nights(0, 2), &key())).await?, 20)?;
    (stand.advance)(20_000);
    let last = hotel.hold("alice", nights(0, 2), &key()).await?;
    // Without a cool-down.
    hotel.ask("alice", last.id.n, Ask::Cancel).await?;
    let free = Hotel { terms: Terms::default(), ..hotel };
    free.hold("alice", nights(0, 2), &key()).await?;
    Ok(())
}

async fn seats_cool_down(stand: &Stand) -> Verdict {
    let event = stand.event(9, 4).await?.id;
    let mut keys = (1..).map(client_key);
    let mut wants = |user: &str, seats: &[u32]| {
        let (seats, key) = (seats.iter().copied().map(Seat).collect(), keys.next().unwrap_or_default().into());
        Command { number: None, action: EventAction::Hold { seats, key }, ..stand.reserve(user) }
    };
    let asks = |user: &str, n: u64, ask: Ask| Command {
        number: None,
        action: EventAction::OnHold { n, ask },
        ..stand.reserve(user)
    };
    let hold = expect_held(&one(stand, event, wants("alice", &[3, 4])).await?)?;
    one(stand, event, asks("alice", hold.id.n, Ask::Cancel)).await?;
    // Nothing is on hold in the event now, and still it is known.
    expect_cooling(&one(stand, event, wants("alice", &[3, 4])).await?, 30)?;
    let other = expect_held(&one(stand, event, wants("alice", &[4, 5])).await?)?;
    one(stand, event, asks("alice", other.id.n, Ask::Confirm)).await?;
    let theirs = expect_held(&one(stand, event, wants("bob", &[3])).await?)?;
    one(stand, event, asks("bob", theirs.id.n, Ask::Cancel)).await?;
    // The limit comes before the cool-down, and the cool-down before the stock.
    let many = one(stand, event, wants("alice", &[1, 2, 3])).await?;
    ensure!(matches!(super::refusal(&many), Some(Refusal::LimitReached { .. })), "{many:?}");
    expect_cooling(&one(stand, event, wants("alice", &[3, 4])).await?, 30)?;
    (stand.advance)(AGAIN_AFTER_MS);
    let taken = Refusal::NotAvailable { nights: vec![], seats: vec![Seat(4)] };
    expect_refusal(&one(stand, event, wants("alice", &[3, 4])).await?, &taken)?;
    expect_held(&one(stand, event, wants("bob", &[3])).await?)?;
    Ok(())
}

async fn one(stand: &Stand, event: EventId, command: Command) -> Result<Answer, String> {
    let answers = stand.commit_on(event, vec![command], terms()).await?;
    answers.into_iter().next().ok_or_else(|| "no answer".into())
}
