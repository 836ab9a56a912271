//! Starts every buyer on schedule. Arrivals do not wait for answers, so latencies are honest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::buyer::RushBuyer;
use super::plan::RushPlan;
use super::shop::Shop;
use super::tally::{Memory, RushOutcome};

/// Counts that change while the rush runs.
#[derive(Default)]
pub struct Live {
    pub arrived: AtomicU64,
    pub settled: AtomicU64,
    pub reserved: AtomicU64,
}

/// How often somebody asked for an end.
#[derive(Clone, Default)]
pub struct CrowdStop(Arc<AtomicU64>);

impl CrowdStop {
    pub fn interrupt(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Nobody else comes.
    fn no_more(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Nobody waits for an answer.
    pub fn sent_home(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

/// Runs the whole rush. Calls `watch` about five times a second.
pub async fn come(
    plan: Arc<RushPlan>,
    shop: Arc<Shop>,
    run: Arc<str>,
    stop: &CrowdStop,
    watch: impl Fn(&Live),
) -> Vec<Memory> {
    let live = Arc::new(Live::default());
    let memories = Arc::new(Mutex::new(Vec::new()));
    let began = Instant::now();
    let mut buyers = JoinSet::new();
    let mut watched = began;
    let arrivals = plan.arrivals();
    for index in 0..arrivals {
        let due = plan.due(index);
        while began.elapsed() < due && !stop.no_more() {
            sleep((due - began.elapsed().min(due)).min(Duration::from_millis(200))).await;
            look(&live, &mut watched, &watch);
        }
        if stop.no_more() {
            break;
        }
        live.arrived.fetch_add(1, Ordering::Relaxed);
        let buyer = RushBuyer { plan: plan.clone(), shop: shop.clone(), run: run.clone(), began, index, entry: None };
        let (counts, memories) = (live.clone(), memories.clone());
        buyers.spawn(async move {
            let mine = buyer.buy().await;
            counts.settled.fetch_add(1, Ordering::Relaxed);
            let bought = mine.iter().any(|m| matches!(m.outcome, RushOutcome::Reserved { .. }));
            counts.reserved.fetch_add(u64::from(bought), Ordering::Relaxed);
            memories.lock().await.extend(mine);
        });
        look_now_and_then(index, &live, &mut watched, &watch);
        while buyers.try_join_next().is_some() {}
    }
    let arrived = live.arrived.load(Ordering::Relaxed);
    while live.settled.load(Ordering::Relaxed) < arrived && !buyers.is_empty() && !stop.sent_home() {
        let _ = tokio::time::timeout(Duration::from_millis(200), buyers.join_next()).await;
        look(&live, &mut watched, &watch);
    }
    if stop.sent_home() {
        buyers.abort_all();
    }
    while buyers.join_next().await.is_some() {}
    watch(&live);
    let mut memories = memories.lock().await;
    std::mem::take(&mut *memories)
}

fn look_now_and_then(index: u64, live: &Live, watched: &mut Instant, watch: &impl Fn(&Live)) {
    if index.is_multiple_of(256) {
        look(live, watched, watch);
    }
}

fn look(live: &Live, watched: &mut Instant, watch: &impl Fn(&Live)) {
    if watched.elapsed() >= Duration::from_millis(200) {
        *watched = Instant::now();
        watch(live);
    }
}
