//! A panic in each step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use rules::event::Event;
use rules::outcome::Refusal::{Contention, Internal, LedgerUnreachable, LockTimeout, Overloaded};

use super::faulty::Fault::{Locked, Panic, PanicLater, Wait, WaitAndPanic};
use super::fixture::End::{Closed, Done, Refused};
use super::fixture::{Fixture, Kind, Receiver, ended, wait_until};
use super::for_both_kinds;
use crate::path::DEADLINE;

for_both_kinds!(
    panic_in_take_closes_the_channels_of_its_batch,
    panic_in_commit_is_answered_internal,
    panic_in_commit_after_retries_with_late_requests,
    panic_in_publish_costs_no_answer,
    panic_in_publish_of_a_refusal_costs_no_answer,
    panic_in_respond_costs_only_its_batch,
    panic_after_an_early_answer_counts_each_request_once,
    panics_of_all_steps_under_load,
);

async fn panic_in_take_closes_the_channels_of_its_batch<S: Kind>() {
    let fixture = Fixture::<S>::new(&[]).await;
    fixture.faults.script([Wait]);
    let first = fixture.with_the_ledger().await;
    let mut behind: Vec<Receiver> = (0..5).map(|_| fixture.arrive()).collect();
    behind.push(fixture.arrive_within(Duration::ZERO).unwrap());
    assert_eq!(fixture.lanes.depth(), 7);
    fixture.lane.shared.planted.plant();
    fixture.faults.gate.add_permits(1);
    assert_eq!(ended(first).await, Done);
    for receiver in behind {
        assert_eq!(ended(receiver).await, Closed);
    }
    fixture.serves_on().await;
}

async fn panic_in_commit_is_answered_internal<S: Kind>() {
    let fixture = Fixture::<S>::new(&[]).await;
    for fault in [Panic, PanicLater] {
        fixture.faults.script([fault]);
        let receiver = fixture.arrive_as("alice", DEADLINE).unwrap();
        assert_eq!(ended(receiver).await, Refused(Internal));
        assert_eq!(fixture.lanes.depth(), 0, "before the answer arrives");
        let again = fixture.arrive_as("alice", DEADLINE).unwrap();
        assert_eq!(ended(again).await, Done, "the mark is gone");
        fixture.serves_on().await;
    }
}

async fn panic_in_commit_after_retries_with_late_requests<S: Kind>() {
    let fixture = Fixture::<S>::new(&[]).await;
    for fault in [Panic, PanicLater] {
        fixture.faults.script([Wait, Locked, Locked, fault]);
        let first = fixture.with_the_ledger().await;
        // In the next batch; the second one is late before the last retry.
        let stays = fixture.arrive();
        let leaves = fixture.arrive_within(Duration::from_millis(100)).unwrap();
        // Late before it can be in a batch.
        let late = fixture.arrive_within(Duration::ZERO).unwrap();
        assert_eq!(fixture.lanes.depth(), 4);
        fixture.faults.gate.add_permits(1);
        assert_eq!(ended(first).await, Done);
        assert_eq!(ended(late).await, Refused(Overloaded), "the first batch did not fail on the lock");
        assert_eq!(ended(stays).await, Refused(Internal));
        // Its deadline may pass before, during or after the retries.
        let ends = [Refused(Internal), Refused(Contention), Refused(LockTimeout), Refused(Overloaded)];
        let end = ended(leaves).await;
        assert!(ends.contains(&end), "{end:?}");
        fixture.serves_on().await;
    }
}

async fn panic_in_publish_costs_no_answer<S: Kind>() {
    let fixture = Fixture::<S>::new(&[]).await;
    fixture.faults.script([Wait]);
    let first = fixture.with_the_ledger().await;
    let behind = fixture.arrive();
    fixture.faults.publish_panics.store(true, SeqCst);
    fixture.faults.gate.add_permits(1);
    assert_eq!(ended(first).await, Done, "it is durable");
    assert_eq!(ended(behind).await, Done);
    assert!(!fixture.faults.publish_panics.load(SeqCst), "the fault struck");
    fixture.serves_on().await;
}

async fn panic_in_publish_of_a_refusal_costs_no_answer<S: Kind>() {
    let fixture = Fixture::<S>::new(&[("FCFS_MAX_RETRIES", "0")]).await;
    fixture.faults.script([Locked]);
    fixture.faults.publish_panics.store(true, SeqCst);
    let end = ended(fixture.arrive()).await;
    assert!([Refused(Contention), Refused(LockTimeout)].contains(&end), "{end:?}");
    // Nothing is published when a room type refuses.
    fixture.faults.publish_panics.store(false, SeqCst);
    fixture.serves_on().await;
}

/// What wakes a handler is not the lane's code; here it panics.
struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        // A second panic while the first one unwinds would end the process.
        assert!(std::thread::panicking(), "planted in respond");
    }
}

/// Polls once: the answer, if it is not there yet, will wake a waker that panics.
fn trap(receiver: &mut Receiver) {
    let waker = Waker::from(Arc::new(PanickingWaker));
    let _ = Pin::new(receiver).poll(&mut Context::from_waker(&waker));
}

async fn panic_in_respond_costs_only_its_batch<S: Kind>() {
    let fixture = Fixture::<S>::new(&[]).await;
    fixture.faults.script([Wait, Locked]);
    let first = fixture.with_the_ledger().await;
    let (before, mut trapped, after) = (fixture.arrive(), fixture.arrive(), fixture.arrive());
    trap(&mut trapped);
    fixture.faults.gate.add_permits(1);
    assert_eq!(ended(first).await, Done);
    assert_eq!(ended(before).await, Done);
    assert_eq!(ended(after).await, Closed, "answers after the panic are lost");
    fixture.serves_on().await;

    // The same where a late request is refused on its way out.
    fixture.faults.script([Wait]);
    let first = fixture.with_the_ledger().await;
    let (mut trapped, behind) = (fixture.arrive_within(Duration::ZERO).unwrap(), fixture.arrive());
    trap(&mut trapped);
    fixture.faults.gate.add_permits(1);
    assert_eq!(ended(first).await, Done);
    assert_eq!(ended(behind).await, Closed);
    fixture.serves_on().await;
}

/// Requests past their deadline are answered while their batch is still with the ledger. They stay in
/// flight until it ends.
async fn panic_after_an_early_answer_counts_each_request_once<S: Kind>() {
    let fixture = Fixture::<S>::new(&[]).await;
    fixture.faults.script([Locked, WaitAndPanic]);
    let in_batch = fixture.arrive_within(Duration::from_millis(300)).unwrap();
    wait_until("the retry is with the ledger", || fixture.faults.commits.lock().unwrap().is_empty()).await;
    let behind = fixture.arrive_within(Duration::from_millis(1)).unwrap();
    let began = Instant::now();
    assert_eq!(ended(behind).await, Refused(Overloaded));
    let waited = began.elapsed() > Duration::from_secs(1);
    assert_eq!(waited, S::LATE_WAIT_FOR_LOCK_RESULT, "at its deadline, or a grace later");
    assert_eq!(ended(in_batch).await, Refused(LedgerUnreachable));
    assert_eq!(fixture.lanes.depth(), 1, "the ledger still has it");
    fixture.faults.gate.add_permits(1);
    fixture.serves_on().await;
}

/// Random faults while many requests arrive; some callers leave, and some requests are late at once.
async fn panics_of_all_steps_under_load<S: Kind>() {
    let fixture = Fixture::<S>::overlapping(&[], 2).await;
    for round in 0..20 {
        fixture.faults.script([Locked, Panic, PanicLater, Locked, Locked]);
        let receivers: Vec<Receiver> = (0..100)
            .map(|i| {
                if i == 10 + round {
                    fixture.lane.shared.planted.plant();
                }
                if i == 50 + round {
                    fixture.faults.publish_panics.store(true, SeqCst);
                }
                let limit = if i % 7 == 0 { Duration::ZERO } else { DEADLINE };
                let mut receiver = fixture.arrive_within(limit).unwrap();
                if i == 30 + round {
                    trap(&mut receiver);
                }
                receiver
            })
            .collect();
        for (i, receiver) in receivers.into_iter().enumerate() {
            // The trapped one cannot be awaited any more, and every fifth leaves.
            if i != 30 + round && i % 5 != 0 {
                let _ = ended(receiver).await;
            }
        }
        fixture.is_idle().await;
        fixture.faults.commits.lock().unwrap().clear();
        fixture.faults.publish_panics.store(false, SeqCst);
        fixture.lane.shared.planted.clear();
    }
    fixture.serves_on().await;
}

/// The door panics: in the handler's task where it answers at once, else in the lane's.
#[tokio::test(flavor = "multi_thread")]
async fn panic_in_arrive_costs_only_its_group() {
    let fixture = Fixture::<Event>::new(&[]).await;
    fixture.faults.arrive_now_panics.store(true, SeqCst);
    assert!(catch_unwind(AssertUnwindSafe(|| fixture.arrive())).is_err());
    fixture.serves_on().await;

    fixture.faults.door_is_remote.store(true, SeqCst);
    fixture.faults.arrive_panics.store(true, SeqCst);
    let group: Vec<Receiver> = (0..5).map(|_| fixture.arrive()).collect();
    let mut all = Vec::new();
    for receiver in group {
        all.push(ended(receiver).await);
    }
    assert_eq!(all[0], Refused(Internal));
    assert!(all.iter().all(|end| [Refused(Internal), Done].contains(end)), "{all:?}");
    let again = fixture.arrive_as("alice", DEADLINE).unwrap();
    assert_eq!(ended(again).await, Done);
    fixture.serves_on().await;
}
