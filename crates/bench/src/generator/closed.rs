//! Closed loop: a fixed number of connections, each asking again as soon as it is answered. Finds the peak.

use std::rc::Rc;
use std::time::Instant;

use client::Connection;
use futures_util::future::join_all;

use super::{Load, Requests};
use crate::figures::{LoadFigures, histogram};

pub async fn run(load: &Load) -> LoadFigures {
    let mut opened = Vec::with_capacity(load.connections);
    for i in 0..load.connections {
        let target = load.targets[i % load.targets.len()];
        opened.push(Connection::open(&target.into()).await.expect("a connection"));
    }
    let requests = Rc::new(Requests::new(load));
    let counted_from = Instant::now() + load.warm;
    let end = counted_from + load.time;
    let asking = opened.into_iter().map(|mut connection| {
        let requests = requests.clone();
        async move {
            let (mut ok, mut other, mut times) = (0, 0, Vec::new());
            let mut next = requests.next();
            loop {
                let sent = Instant::now();
                let answer = connection.ask(next).await.expect("an answer");
                let first_of_two = requests.then(&answer);
                let answered = Instant::now();
                if answered >= end {
                    return (ok, other, times);
                }
                if answered >= counted_from && first_of_two.is_none() {
                    *(if answer.status == load.good { &mut ok } else { &mut other }) += 1;
                    times.push((answered - sent).as_micros() as u64);
                }
                next = first_of_two.unwrap_or_else(|| requests.next());
            }
        }
    });
    let (mut ok, mut other, mut all) = (0, 0, histogram());
    for (good, bad, times) in join_all(asking).await {
        ok += good;
        other += bad;
        times.into_iter().for_each(|time| all.saturating_record(time));
    }
    LoadFigures::of(ok, other, load.time.as_secs_f64(), &all)
}
