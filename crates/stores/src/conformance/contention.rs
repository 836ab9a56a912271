//! Contention: many clients start at a barrier, then the totals are checked.

use std::collections::VecDeque;
use std::sync::Arc;

use rules::command::Terms;
use rules::event::Event;
use rules::outcome::{Refusal, Reserved};
use tokio::sync::Barrier;

use super::{Stand, Verdict, audit, refusal, sale};
use crate::ensure;
use crate::ledger::Batch;

pub async fn chapter(stand: &Stand) -> Verdict {
    exactly_the_stock(stand, 40, 100, 8).await?;
    exactly_the_stock(stand, 200, 200, 16).await?;
    overlapping_batches(stand).await?;
    with_cancellations(stand).await
}

/// `asking` people in `tasks` tasks for `seats` seats.
async fn exactly_the_stock(stand: &Stand, seats: u32, asking: usize, tasks: usize) -> Verdict {
    let event = stand.event(seats, 1).await?.id;
    let barrier = Arc::new(Barrier::new(tasks));
    let mut running = Vec::new();
    for task in 0..tasks {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        let mine: Vec<usize> = (task..asking).step_by(tasks).collect();
        running.push(tokio::spawn(async move {
            barrier.wait().await;
            let mut told = Vec::new();
            for (turn, pair) in mine.chunks(3).enumerate() {
                let users: Vec<String> = pair.iter().map(|i| format!("u{i}")).collect();
                // Every third batch has a second request of its first user.
                let twice = (turn % 3 == 0).then(|| users[0].clone());
                let asked: Vec<String> = users.iter().cloned().chain(twice).collect();
                let answers = stand.commit(event, asked.iter().map(|u| stand.reserve(u)).collect()).await?;
                told.extend(asked.into_iter().zip(answers));
            }
            Ok::<_, String>(told)
        }));
    }
    let mut told: Vec<(String, Reserved)> = Vec::new();
    for task in running {
        for (user, answer) in task.await.map_err(|e| e.to_string())?? {
            match (sale(&answer), refusal(&answer)) {
                (Some(reserved), _) => told.push((user, reserved.clone())),
                (None, Some(Refusal::SoldOut | Refusal::Duplicate { .. })) => {}
                other => return Err(format!("{user} was answered {other:?}")),
            }
        }
    }
    let wanted = (seats as usize).min(asking);
    ensure!(told.len() == wanted, "{} were sold to {asking} people, {wanted} should be", told.len());
    audit(stand, event, &told, &[]).await
}

/// Batches of one event are decided in the order in which they were handed over, also while others are
/// still being made durable. Most ledgers take one at a time.
async fn overlapping_batches(stand: &Stand) -> Verdict {
    let event = stand.event(2_000, 1).await?.id;
    let mut under_way = VecDeque::new();
    let mut last = 0;
    for batch in 0..40 {
        let commands = (0..20).map(|i| stand.reserve(&format!("b{batch}-{i}"))).collect();
        under_way.push_back(stand.ledger.commit(Batch::<Event>::new(event, Arc::new(commands), Terms::default())));
        if under_way.len() < stand.ledger.overlap() {
            continue;
        }
        let Some(oldest) = under_way.pop_front() else { continue };
        for answer in oldest.await.map_err(|fault| fault.to_string())?.answers {
            let seat = sale(&answer).map_or(0, |reserved| reserved.seat.0);
            ensure!(seat == last + 1, "seat {seat} was sold after seat {last}");
            last = seat;
        }
    }
    Ok(())
}

async fn with_cancellations(stand: &Stand) -> Verdict {
    let event = stand.event(30, 1).await?.id;
    let barrier = Arc::new(Barrier::new(8));
    let mut running = Vec::new();
    for task in 0..8 {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            barrier.wait().await;
            let (mut told, mut cancelled) = (Vec::new(), Vec::new());
            for round in 0..20 {
                let user = format!("t{task}r{round}");
                let answer = stand.one(event, stand.reserve(&user)).await?;
                let Some(reserved) = sale(&answer).cloned() else { continue };
                told.push((user.clone(), reserved.clone()));
                if round % 2 == 0 {
                    stand.one(event, stand.cancel(&user, reserved.reservation.n)).await?;
                    cancelled.push(reserved.reservation.n);
                }
            }
            Ok::<_, String>((told, cancelled))
        }));
    }
    let (mut told, mut cancelled) = (Vec::new(), Vec::new());
    for task in running {
        let (t, c) = task.await.map_err(|e| e.to_string())??;
        told.extend(t);
        cancelled.extend(c);
    }
    ensure!(!cancelled.is_empty(), "nothing was cancelled, so nothing was shown");
    audit(stand, event, &told, &cancelled).await
}
