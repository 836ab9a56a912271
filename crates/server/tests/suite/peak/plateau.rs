//! At four times the peak the server serves about as many as at the peak, and each of them quickly. The same
//! check must notice a server that sheds nothing, and one that asks everybody to come again in a second.

use std::time::{Duration, Instant};

use server::gate::planted::OverloadBug;
use stores::ensure;

use super::people::{PEAK, come, in_turn, p99, slowed};

const TIMES: u32 = 4;
/// People arrive for this long.
const RUSH: Duration = Duration::from_secs(4);
/// And give up after this long.
const PATIENCE: Duration = Duration::from_secs(7);

async fn four_times_the_peak(bug: OverloadBug) -> Result<(), String> {
    let stand = slowed(bug).await;
    let peak = in_turn(&stand, 32, Duration::from_secs(2), "warm").await;
    let began = Instant::now();
    let fared = come(&stand, PEAK * TIMES, RUSH, PATIENCE).await;
    let (people, requests) = (fared.len(), fared.iter().map(|one| one.requests).sum::<u32>());
    let in_rush = fared.iter().filter(|one| one.served.is_some_and(|(at, _)| at <= began + RUSH)).count();
    let served = p99(fared.iter().filter_map(|one| one.served.map(|(_, took)| took)).collect());
    let refused = p99(fared.iter().flat_map(|one| one.refusals.iter().copied()).collect());
    let goodput = in_rush as f64 / RUSH.as_secs_f64() / peak;
    let amplification = f64::from(requests) / people as f64;
    println!(
        "{bug:?}: peak {peak:.0}/s, goodput {goodput:.2} of it, {amplification:.2} requests per person, \
         p99 {served:?} served, {refused:?} refused"
    );
    ensure!(peak > 0.5 * f64::from(PEAK), "a peak of {peak:.0} says nothing: the machine is too busy");
    let mut broken = Vec::new();
    if goodput < 0.7 {
        broken.push(format!("goodput {goodput:.2} of the peak"));
    }
    if served >= Duration::from_secs(1) {
        broken.push(format!("p99 of those who were served: {served:?}"));
    }
    if amplification > 1.6 {
        broken.push(format!("{amplification:.2} requests per person"));
    }
    if broken.is_empty() { Ok(()) } else { Err(broken.join("; ")) }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_four_times_the_peak_is_served_at_the_peak() {
    four_times_the_peak(OverloadBug::None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_planted_deadline_without_shedding_is_caught() {
    let words = four_times_the_peak(OverloadBug::DeadlineOnly).await.expect_err("the test sees nothing");
    assert!(words.contains("p99") || words.contains("goodput"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_planted_constant_retry_after_is_caught() {
    let words = four_times_the_peak(OverloadBug::ConstantRetry).await.expect_err("the test sees nothing");
    assert!(words.contains("requests per person"), "{words}");
}
