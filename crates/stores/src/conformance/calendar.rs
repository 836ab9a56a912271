//! Contention over a calendar: stays of one to fourteen nights from both ends, at a barrier, held,
//! confirmed, given back and left to lapse; then every night is counted.

use std::sync::Arc;

use rules::history::Happened;
use rules::holds::Ask;
use rules::outcome::{Done, Outcome, Refusal};
use tokio::sync::Barrier;

use super::hotel::{Hotel, HotelReply, client_key, expect_confirmed, held, nights};
use super::{Stand, Verdict, refusal};
use crate::ensure;
use crate::ledger::LedgerFault;

pub async fn chapter(stand: &Stand) -> Verdict {
    the_last_room(stand).await?;
    from_both_ends(stand).await
}

/// Sixteen want the last room: one gets it.
async fn the_last_room(stand: &Stand) -> Verdict {
    for round in 0..3 {
        let hotel = Hotel::open(stand, 1).await?;
        let barrier = Arc::new(Barrier::new(16));
        let mut running = Vec::new();
        for task in 0..16u64 {
            let (hotel, barrier) = (hotel.clone(), barrier.clone());
            running.push(tokio::spawn(async move {
                barrier.wait().await;
                tried(&hotel, hotel.wants(&format!("u{task}"), nights(0, 2), &client_key(task))).await
            }));
        }
        let mut won = 0;
        for task in running {
            let answer = task.await.map_err(|e| e.to_string())??;
            match (held(&answer), refusal(&answer)) {
                (Some(_), _) => won += 1,
                (None, Some(Refusal::NotAvailable { .. })) => {}
                other => return Err(format!("round {round}: answered {other:?}")),
            }
        }
        ensure!(won == 1, "round {round}: {won} hold the one room");
        hotel.audit(&[], nights(0, 2)).await?;
    }
    Ok(())
}

/// Like a server: retries lock timeouts and passing faults.
async fn tried(hotel: &Hotel, command: rules::room_type::RoomCommand) -> Result<rules::decide::Answer, String> {
    for _ in 0..50 {
        match hotel.batch(vec![command.clone()]).await {
            Ok(mut answers) => return answers.pop().ok_or_else(|| "no answer".into()),
            Err(LedgerFault::Locked | LedgerFault::Passing(_)) => {}
            Err(fault) => return Err(fault.to_string()),
        }
    }
    Err("the lock was never to be had".into())
}

async fn from_both_ends(stand: &Stand) -> Verdict {
    let mut hotels = Vec::new();
    for rooms in [1, 2, 3, 5, 8] {
        hotels.push(Hotel::open(stand, rooms).await?);
    }
    let barrier = Arc::new(Barrier::new(8));
    let mut running = Vec::new();
    for task in 0..8u64 {
        let (hotels, barrier) = (hotels.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            barrier.wait().await;
            walk(&hotels, task).await
        }));
    }
    let mut told: Vec<Vec<HotelReply>> = vec![Vec::new(); hotels.len()];
    let (mut got, mut refused) = (0, 0);
    for task in running {
        let (mine, no) = task.await.map_err(|e| e.to_string())??;
        got += mine.len();
        refused += no;
        mine.into_iter().for_each(|(hotel, words)| told[hotel].push(words));
    }
    ensure!(got >= 50 && refused >= 10, "{got} holds and {refused} refusals show nothing");
    for (hotel, told) in hotels.iter().zip(&told) {
        hotel.audit(told, nights(0, 60)).await?;
    }
    Ok(())
}

/// One client over 60 nights, from the front or from the back.
async fn walk(hotels: &[Hotel], task: u64) -> Result<(Vec<(usize, HotelReply)>, usize), String> {
    let (mut told, mut refused) = (Vec::new(), 0);
    let mut dice = task + 1;
    let mut roll = |below: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % below
    };
    for round in 0..24u64 {
        let (at, count) = (roll(hotels.len() as u64) as usize, 1 + roll(14) as i32);
        let from =
            if task.is_multiple_of(2) { (round * 2) as i32 } else { 46 - (round * 2) as i32 }.clamp(0, 60 - count);
        let (hotel, user) = (&hotels[at], format!("t{task}r{round}"));
        let answer = tried(hotel, hotel.wants(&user, nights(from, count), &client_key(task * 1_000 + round))).await?;
        let Some(hold) = held(&answer) else {
            ensure!(matches!(refusal(&answer), Some(Refusal::NotAvailable { .. })), "{answer:?}");
            refused += 1;
            continue;
        };
        let n = hold.id.n;
        let end = match roll(4) {
            0 => None,
            1 => {
                let answer = tried(hotel, hotel.asks(&user, n, Ask::Cancel)).await?;
                ensure!(answer.outcome == Outcome::Done(Done::Released), "{answer:?}");
                Some(Happened::Released)
            }
            way => {
                let stay = expect_confirmed(&tried(hotel, hotel.asks(&user, n, Ask::Confirm)).await?)?;
                if way == 2 {
                    let answer = tried(hotel, hotel.cancels(&user, stay)).await?;
                    ensure!(answer.outcome == Outcome::Done(Done::Cancelled), "{answer:?}");
                }
                Some(Happened::Reserved)
            }
        };
        told.push((at, HotelReply { hold: n, end }));
    }
    Ok((told, refused))
}
