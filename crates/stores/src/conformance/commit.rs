//! Committing: numbers without gaps, a refused batch changes nothing, one event does not touch
//! another, and the caller learns when a batch reached its steps.

use std::sync::{Arc, Mutex};

use rules::ids::EventId;

use super::{Stand, Verdict, audit, expect_sale, sale};
use crate::ensure;
use crate::ledger::{Batch, BatchProgress, BatchWatcher, LedgerFault, LedgerStep};

pub async fn chapter(stand: &Stand) -> Verdict {
    batches_of_all_sizes(stand).await?;
    events_apart(stand).await?;
    no_such_event(stand).await?;
    tells_its_steps(stand).await
}

async fn batches_of_all_sizes(stand: &Stand) -> Verdict {
    let event = stand.event(700, 1).await?.id;
    let mut told = Vec::new();
    for (round, size) in [1usize, 2, 512, 185, 30].into_iter().enumerate() {
        let users: Vec<String> = (0..size).map(|i| format!("u{round}-{i}")).collect();
        let answers = stand.commit(event, users.iter().map(|u| stand.reserve(u)).collect()).await?;
        told.extend(users.into_iter().zip(&answers).filter_map(|(u, a)| sale(a).map(|r| (u, r.clone()))));
    }
    ensure!(told.len() == 700, "{} of 700 seats were sold to 730 people", told.len());
    audit(stand, event, &told, &[]).await?;
    let before = stand.ledger.event(event).await.map_err(|f| f.to_string())?;
    stand.commit(event, (0..40).map(|i| stand.reserve(&format!("late{i}"))).collect()).await?;
    let after = stand.ledger.event(event).await.map_err(|f| f.to_string())?;
    ensure!(before == after, "a batch of refusals changed the event");
    Ok(())
}

async fn events_apart(stand: &Stand) -> Verdict {
    let (one, two) = (stand.event(3, 1).await?.id, stand.event(3, 1).await?.id);
    let in_one = expect_sale(&stand.one(one, stand.reserve("alice")).await?)?;
    let in_two = expect_sale(&stand.one(two, stand.reserve("alice")).await?)?;
    ensure!(in_one.seat == in_two.seat && in_one.reservation != in_two.reservation, "{in_one:?} {in_two:?}");
    audit(stand, one, &[("alice".into(), in_one)], &[]).await?;
    audit(stand, two, &[("alice".into(), in_two)], &[]).await
}

async fn no_such_event(stand: &Stand) -> Verdict {
    let commands = Arc::new(vec![stand.reserve("a")]);
    let batch = Batch::new(EventId(404_404), commands, rules::command::Terms::default());
    let result = stand.ledger.commit(batch).await;
    ensure!(matches!(result, Err(LedgerFault::NoSuchSubject)), "an event that is not there answered {result:?}");
    Ok(())
}

#[derive(Default)]
struct Heard(Mutex<Vec<LedgerStep>>);

impl BatchWatcher for Heard {
    fn reached(&self, step: LedgerStep) {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(step);
    }
}

/// Of a batch that sells, and of one that is refused as a whole, with whatever shortcut a ledger has for that.
async fn tells_its_steps(stand: &Stand) -> Verdict {
    let event = stand.event(2, 1).await?.id;
    for round in ["first", "second", "third", "fourth"] {
        let heard = Arc::new(Heard::default());
        let mut batch = Batch::new(event, Arc::new(vec![stand.reserve(round)]), rules::command::Terms::default());
        batch.progress = BatchProgress::told_to(heard.clone());
        stand.ledger.commit(batch).await.map_err(|fault| fault.to_string())?;
        let heard = heard.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let (first, last) = (heard.first(), heard.last());
        let whole = (first, last) == (Some(&LedgerStep::Admitted), Some(&LedgerStep::Decided));
        ensure!(whole, "the {round} batch reached {heard:?}");
    }
    Ok(())
}
