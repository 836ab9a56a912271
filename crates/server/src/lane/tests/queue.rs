//! The limit of the queue, callers that leave, and the order of overlapping batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rules::event::Event;
use rules::outcome::Refusal::{Contention, LockTimeout, Overloaded};
use tokio::sync::Barrier;

use super::faulty::Fault::{Locked, Wait};
use super::fixture::End::{Done, Refused};
use super::fixture::{Fixture, Kind, Receiver, ended};
use super::for_both_kinds;
use crate::path::DEADLINE;

for_both_kinds!(
    never_more_than_queue_depth_are_accepted,
    dropped_callers_do_not_leak_depth,
    late_requests_behind_a_lock_timeout,
);

async fn never_more_than_queue_depth_are_accepted<S: Kind>() {
    const TASKS: usize = 8;
    let fixture = Arc::new(Fixture::<S>::new(&[("QUEUE_DEPTH", "20")]).await);
    for _ in 0..10 {
        fixture.faults.script([Wait]);
        let first = fixture.with_the_ledger().await;
        let (barrier, overloaded) = (Arc::new(Barrier::new(TASKS)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (fixture, barrier, overloaded) = (fixture.clone(), barrier.clone(), overloaded.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    let mut accepted: Vec<Receiver> = Vec::new();
                    for _ in 0..10 {
                        match fixture.arrive_within(DEADLINE) {
                            Ok(receiver) => accepted.push(receiver),
                            Err(refusal) => {
                                assert_eq!(refusal, Overloaded);
                                overloaded.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        assert!(fixture.lanes.depth() <= 20);
                    }
                    accepted
                })
            })
            .collect();
        let mut accepted = vec![first];
        for task in tasks {
            accepted.extend(task.await.unwrap());
        }
        assert_eq!((accepted.len(), fixture.lanes.depth()), (20, 20));
        assert_eq!(overloaded.load(Ordering::Relaxed), TASKS * 10 - 19);
        fixture.faults.gate.add_permits(1);
        for receiver in accepted {
            assert_eq!(ended(receiver).await, Done);
        }
        fixture.is_idle().await;
    }
}

async fn dropped_callers_do_not_leak_depth<S: Kind>() {
    let fixture = Fixture::<S>::new(&[]).await;
    fixture.faults.script([Wait, Locked]);
    drop(fixture.with_the_ledger().await);
    for i in 0..50 {
        let limit = if i % 2 == 0 { DEADLINE } else { Duration::ZERO };
        drop(fixture.arrive_within(limit).unwrap());
    }
    assert_eq!(fixture.lanes.depth(), 51, "what was accepted is served, also if nobody waits for it");
    fixture.faults.gate.add_permits(1);
    fixture.is_idle().await;
    fixture.serves_on().await;
}

/// A request whose deadline passes behind a batch that does not get the lock: a room type answers
/// `lock_timeout`, an event `overloaded`.
async fn late_requests_behind_a_lock_timeout<S: Kind>() {
    let fixture = Fixture::<S>::new(&[("FCFS_MAX_RETRIES", "0")]).await;
    fixture.faults.script([Locked]);
    let refused = ended(fixture.arrive()).await;
    let late = ended(fixture.arrive_within(Duration::ZERO).unwrap()).await;
    if S::LATE_WAIT_FOR_LOCK_RESULT {
        assert_eq!((refused, late), (Refused(LockTimeout), Refused(LockTimeout)));
    } else {
        assert_eq!((refused, late), (Refused(Contention), Refused(Overloaded)));
    }
    fixture.serves_on().await;
}

/// Overlapping batches reach the ledger in the order of the queue, which is the order of arrival.
#[tokio::test(flavor = "multi_thread")]
async fn overlapping_batches_reach_the_ledger_in_order() {
    let fixture = Arc::new(Fixture::<Event>::overlapping(&[], 2).await);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let fixture = fixture.clone();
            tokio::task::spawn_blocking(move || (0..100).map(|_| fixture.arrive()).collect::<Vec<_>>())
        })
        .collect();
    for task in tasks {
        for receiver in task.await.unwrap() {
            assert_eq!(ended(receiver).await, Done);
        }
    }
    let seen = fixture.faults.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 803);
    assert!(seen.is_sorted(), "{seen:?}");
}
