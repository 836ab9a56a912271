//! FAULTS E2 on the slowed ledger: a burst of people who ask again at once, whatever they are told. When they
//! stop, the server serves at its peak again, by itself, and keeps nothing of them.

use std::time::{Duration, Instant};

use server::gate::planted::OverloadBug;
use tokio::task::JoinSet;

use super::people::{PEAK, in_turn, memory_mib, slowed, told};

const BURST: Duration = Duration::from_secs(6);
/// Many times the peak. On a busy machine requests wait unread, which holds these people back too.
const IMPATIENT: u32 = 200;
const BURST_LEAST: f64 = 4.0;
const RECOVERED_WITHIN: Duration = Duration::from_secs(10);
/// What the allocator may keep.
const MEMORY_MORE_MIB: f64 = 64.0;

#[tokio::test(flavor = "multi_thread")]
async fn heavy_burst_of_impatient_people_leaves_no_trace() {
    let stand = slowed(OverloadBug::None).await;
    let peak = in_turn(&stand, 32, Duration::from_secs(2), "before").await;
    let before_mib = memory_mib();

    let began = Instant::now();
    let mut all = JoinSet::new();
    for c in 0..IMPATIENT {
        let stand = stand.clone();
        all.spawn(async move {
            let (mut client, mut requests, mut refused) = (stand.client(), 0u32, 0u32);
            while began.elapsed() < BURST {
                requests += 1;
                let answer = client.reserve(1, &format!("burst{c}-{}", requests - refused)).await;
                if answer.status != 200 {
                    told(&answer);
                    refused += 1;
                }
            }
            (requests, refused)
        });
    }
    let (requests, refused) = all.join_all().await.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let offered = f64::from(requests) / BURST.as_secs_f64() / f64::from(PEAK);

    let (ended, mut best) = (Instant::now(), 0f64);
    while best < 0.95 * peak && ended.elapsed() < RECOVERED_WITHIN {
        best = best.max(in_turn(&stand, 32, Duration::from_secs(2), &format!("after{:?}", ended.elapsed())).await);
    }
    let took = ended.elapsed();
    println!(
        "peak {peak:.0}/s; burst of {offered:.1} times that, {refused} refused; {best:.0}/s again after {took:?}; \
         {before_mib:.0} MiB before, {:.0} after",
        memory_mib()
    );
    assert!(offered > BURST_LEAST, "a burst of {offered:.1} times the peak");
    assert!(best >= 0.95 * peak, "{best:.0}/s after {took:?}, {peak:.0}/s before the burst");
    while stand.app.lanes.depth() > 0 || stand.app.gate.in_progress() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(memory_mib() < before_mib + MEMORY_MORE_MIB, "{:.0} MiB, {before_mib:.0} before", memory_mib());
}
