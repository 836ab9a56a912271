//! Open loop: arrivals at a fixed rate, whether or not earlier ones were answered. Finds honest latencies:
//! each is measured from when the request was due, so neither a slow server nor a late generator is
//! flattered.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_local;

use super::{Load, Requests};
use crate::figures::{LoadFigures, histogram};

/// Arrivals come in steps of this.
const STEP: Duration = Duration::from_millis(1);

/// Requests that are due and not yet sent, with a permit for each.
struct Due {
    waiting: Mutex<VecDeque<Instant>>,
    permits: Semaphore,
}

/// Runs on a thread that sleeps precisely: the runtime's timers have a resolution of a millisecond. At the
/// end adds one permit per connection without a request: the signal to stop.
fn tick(due: &Due, began: Instant, whole: Duration, rate: f64, connections: usize) {
    let mut made = 0u64;
    let mut at = Duration::ZERO;
    while at < whole {
        at += STEP;
        std::thread::sleep((began + at).saturating_duration_since(Instant::now()));
        let wanted = (at.as_secs_f64() * rate) as u64;
        let new = (wanted - made) as usize;
        made = wanted;
        due.waiting.lock().expect("no panic under it").extend(std::iter::repeat_n(began + at, new));
        due.permits.add_permits(new);
    }
    due.permits.add_permits(connections);
}

pub async fn run(load: &Load, rate: f64) -> LoadFigures {
    let requests: &'static Requests<'static> = Box::leak(Box::new(Requests::new(Box::leak(Box::new(load.clone())))));
    let mut opened = Vec::with_capacity(load.connections);
    for i in 0..load.connections {
        let target = load.targets[i % load.targets.len()];
        opened.push(Connection::open(&target.into()).await.expect("a connection"));
    }
    let due = Arc::new(Due { waiting: Mutex::default(), permits: Semaphore::new(0) });
    let began = Instant::now();
    let counted_from = began + load.warm;
    let ticking = {
        let (due, whole, connections) = (due.clone(), load.warm + load.time, load.connections);
        std::thread::spawn(move || tick(&due, began, whole, rate, connections))
    };
    let seen = Rc::new(RefCell::new((0u64, 0u64, histogram(), histogram())));
    let (good, mut asking) = (load.good, Vec::new());
    for mut connection in opened {
        let (due, seen) = (due.clone(), seen.clone());
        asking.push(spawn_local(async move {
            while let Ok(permit) = due.permits.acquire().await {
                permit.forget();
                let Some(was_due) = due.waiting.lock().expect("no panic under it").pop_front() else { break };
                let sent = Instant::now();
                let status = connection.ask(requests.next()).await.expect("an answer").status;
                if was_due >= counted_from {
                    let mut seen = seen.borrow_mut();
                    *(if status == good { &mut seen.0 } else { &mut seen.1 }) += 1;
                    seen.2.saturating_record(was_due.elapsed().as_micros() as u64);
                    seen.3.saturating_record((sent - was_due).as_micros() as u64);
                }
            }
        }));
    }
    for task in asking {
        task.await.expect("a connection that works");
    }
    ticking.join().expect("a clock that ticks");
    let seen = seen.borrow();
    let figures = LoadFigures::of(seen.0, seen.1, load.time.as_secs_f64(), &seen.2);
    LoadFigures { late_us: seen.3.value_at_quantile(0.99), ..figures }
}
