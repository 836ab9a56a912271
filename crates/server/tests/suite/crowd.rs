//! Crowds at a barrier. Totals are checked, not single answers; and the same check must notice a
//! ledger that is broken on purpose.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use stores::conformance::bent::Bent;
use stores::conformance::broken::{LedgerBug, broken};
use stores::ensure;
use stores::ledger::{Ledger, LedgerFault};
use testing::backing::Backing;
use testing::http::TestResponse;
use testing::server::TestServer;
use tokio::sync::Barrier;

type Verdict = Result<(), String>;

/// One request of a crowd, with when it began and ended.
struct Asked {
    user: String,
    began: Instant,
    ended: Instant,
    answer: TestResponse,
}

/// `clients` connections that together send one request for each user, all starting at once.
async fn crowd(stand: &Arc<TestServer>, event: u64, users: Vec<String>, clients: usize) -> Vec<Asked> {
    let clients = clients.min(users.len());
    let barrier = Arc::new(Barrier::new(clients));
    let users = Arc::new(users);
    let mut running = Vec::new();
    for i in 0..clients {
        let (stand, barrier, users) = (stand.clone(), barrier.clone(), users.clone());
        running.push(tokio::spawn(async move {
            let mut client = stand.client();
            client.get("/livez").await;
            barrier.wait().await;
            let mut asked = Vec::new();
            for user in users.iter().skip(i).step_by(clients) {
                let began = Instant::now();
                let answer = client.reserve(event, user).await;
                asked.push(Asked { user: user.clone(), began, ended: Instant::now(), answer });
            }
            asked
        }));
    }
    let mut all = Vec::new();
    for task in running {
        all.extend(task.await.unwrap());
    }
    all
}

fn users(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("u{i}")).collect()
}

/// Exactly the stock is sold, nobody's seat twice, the rest are told `sold_out`; nobody with a
/// lower number is `sold_out` when a higher one has a seat; numbers rise over requests that did
/// not overlap; and what the server shows afterwards is what people were told.
async fn check(stand: &TestServer, event: u64, seats: usize, asked: &[Asked]) -> Verdict {
    let mut sold = HashMap::new();
    let (mut highest_sold, mut lowest_refused) = (0, u64::MAX);
    for one in asked {
        let number = one.answer.sequence().ok_or_else(|| format!("no number: {}", one.answer.text()))?;
        match one.answer.seat() {
            Some(seat) => {
                let before = sold.insert(seat, one.user.clone());
                ensure!(before.is_none(), "seat {seat} was sold to {before:?} and to {}", one.user);
                highest_sold = highest_sold.max(number);
            }
            None => {
                ensure!(one.answer.reason() == "sold_out", "{} was told {}", one.user, one.answer.text());
                lowest_refused = lowest_refused.min(number);
            }
        }
    }
    let wanted = seats.min(asked.len());
    ensure!(sold.len() == wanted, "{} of {wanted} were sold", sold.len());
    ensure!(highest_sold < lowest_refused, "number {lowest_refused} was refused, {highest_sold} got a seat");
    let distinct: HashSet<u64> = asked.iter().filter_map(|a| a.answer.sequence()).collect();
    ensure!(distinct.len() == asked.len(), "{} numbers for {} requests", distinct.len(), asked.len());
    numbers_follow_arrival(asked)?;
    shown(stand, event, &sold).await
}

fn numbers_follow_arrival(asked: &[Asked]) -> Verdict {
    let mut by_end: Vec<&Asked> = asked.iter().collect();
    by_end.sort_by_key(|a| a.ended);
    let mut by_begin: Vec<&Asked> = asked.iter().collect();
    by_begin.sort_by_key(|a| a.began);
    let (mut highest, mut ended) = (0, by_end.iter().peekable());
    for one in by_begin {
        while let Some(before) = ended.next_if(|b| b.ended < one.began) {
            highest = highest.max(before.answer.sequence().unwrap_or(0));
        }
        let mine = one.answer.sequence().unwrap_or(u64::MAX);
        ensure!(mine > highest, "{} got {mine} after {highest} had been answered", one.user);
    }
    Ok(())
}

/// The admin's list is exactly what people were told.
async fn shown(stand: &TestServer, event: u64, sold: &HashMap<u64, String>) -> Verdict {
    let mut found = HashMap::new();
    let mut after = String::new();
    loop {
        let path = format!("events/{event}/reservations?limit=1000{after}");
        let page = stand.admin("GET", &path, &serde_json::Value::Null).await.json();
        for reservation in page["reservations"].as_array().ok_or("no list")? {
            let seat = reservation["seat"]["id"].as_u64().ok_or("no seat")?;
            let user = reservation["userId"].as_str().unwrap_or_default().to_owned();
            ensure!(found.insert(seat, user).is_none(), "seat {seat} is listed twice");
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    ensure!(found == *sold, "{} seats stand, {} were told, or to others", found.len(), sold.len());
    Ok(())
}

async fn sell(stand: &Arc<TestServer>, seats: usize, buyers: usize, clients: usize) -> Verdict {
    let event = stand.event(seats as u64, 1).await;
    let asked = crowd(stand, event, users(buyers), clients).await;
    check(stand, event, seats, &asked).await
}

#[tokio::test(flavor = "multi_thread")]
async fn hundred_concurrent_buyers_for_fifty_seats() {
    let stand = Arc::new(TestServer::embedded(&[]).await);
    sell(&stand, 50, 100, 100).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nine_seats_go_to_nine_of_ten_buyers() {
    let stand = Arc::new(TestServer::embedded(&[]).await);
    sell(&stand, 9, 9, 9).await.unwrap();
    sell(&stand, 9, 10, 10).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_buyers_get_two_hundred_seats() {
    let stand = Arc::new(TestServer::embedded(&[]).await);
    sell(&stand, 200, 200, 200).await.unwrap();
}

/// FAULTS A1: 64 clients, 2,000 requests, 500 seats, 20 rounds.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_twenty_rounds_of_two_thousand_for_five_hundred() {
    let stand = Arc::new(TestServer::embedded(&[]).await);
    for round in 0..20 {
        sell(&stand, 500, 2_000, 64).await.unwrap_or_else(|words| panic!("round {round}: {words}"));
    }
}

/// FAULTS A1 and A8 on PostgreSQL and Redis.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_twenty_rounds_on_postgres_and_redis() {
    let stand = Arc::new(TestServer::on(Backing::Redis, &[]).await);
    for round in 0..20 {
        sell(&stand, 500, 2_000, 64).await.unwrap_or_else(|words| panic!("round {round}: {words}"));
    }
}

/// The same check over ledgers that are broken on purpose: it must notice each.
#[tokio::test(flavor = "multi_thread")]
async fn crowd_check_notices_broken_ledgers() {
    for bug in [
        LedgerBug::SellsTwice,
        LedgerBug::AcknowledgesTooEarly,
        LedgerBug::ServesTheLastFirst,
        LedgerBug::ForgetsTheLimit,
    ] {
        let stand = Arc::new(TestServer::bent(&[], |good| broken(bug, good)).await);
        let mut noticed = None;
        for _ in 0..20 {
            let event = stand.event(50, 1).await;
            // Everybody asks twice in a row, so that a forgotten limit shows.
            let twice = users(60).into_iter().flat_map(|u| [u.clone(), u]).collect();
            let asked = crowd(&stand, event, twice, 1).await;
            let together = crowd(&stand, event, users(40), 40).await;
            let fair = without_repeats(asked, together);
            noticed = match fair {
                Ok(fair) => check(&stand, event, 50, &fair).await.err(),
                Err(words) => Some(words),
            };
            if noticed.is_none() && bug == LedgerBug::ServesTheLastFirst {
                let event = stand.event(50, 1).await;
                let asked = crowd(&stand, event, users(120), 120).await;
                noticed = check(&stand, event, 50, &asked).await.err();
            }
            if noticed.is_some() {
                break;
            }
        }
        println!("{bug:?}: {}", noticed.expect("the crowd noticed nothing"));
    }
    let stand = Arc::new(TestServer::embedded(&[]).await);
    let event = stand.event(50, 1).await;
    let twice = users(60).into_iter().flat_map(|u| [u.clone(), u]).collect();
    let fair = without_repeats(crowd(&stand, event, twice, 1).await, Vec::new()).unwrap();
    check(&stand, event, 50, &fair).await.expect("a good ledger passes the same check");
}

/// Without repeats, which must have been refused as duplicates, and without later requests.
fn without_repeats(asked: Vec<Asked>, later: Vec<Asked>) -> Result<Vec<Asked>, String> {
    let mut seen = HashSet::new();
    let mut fair = Vec::new();
    for one in asked {
        if seen.insert(one.user.clone()) || one.answer.reason() == "sold_out" && one.answer.seat().is_none() {
            fair.push(one);
        } else if one.answer.seat().is_some() {
            return Err(format!("{} was sold a second seat with a limit of one", one.user));
        }
    }
    for one in later {
        ensure!(one.answer.seat().is_none(), "{} got a seat after the last was sold", one.user);
    }
    Ok(fair)
}

/// A ledger that answers the first so many batches with a fault.
fn refusing(good: Arc<dyn Ledger>, times: u32, fault: LedgerFault) -> Arc<dyn Ledger> {
    let left = AtomicU32::new(times);
    Arc::new(Bent::new(good, move |good, batch| {
        if left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err() {
            return good.commit(batch);
        }
        let fault = fault.clone();
        Box::pin(async move { Err(fault) })
    }))
}

/// Forced contention: the lock cannot be had for longer than the retries last.
#[tokio::test(flavor = "multi_thread")]
async fn lock_timeout_gets_contention_then_success() {
    let settings = [("FCFS_MAX_RETRIES", "3")];
    let stand = TestServer::bent(&settings, |good| refusing(good, 4, LedgerFault::Locked)).await;
    let mut client = stand.client();
    let first = client.reserve(1, "alice").await;
    assert_eq!((first.status, first.reason().as_str()), (409, "contention"));
    assert_eq!(first.header("retry-after"), Some("1"));
    let retry = client.reserve(1, "alice").await;
    assert_eq!(retry.seat(), Some(1), "a retry is not a duplicate: {}", retry.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_acquired_within_the_retries_is_not_contention() {
    let stand = TestServer::bent(&[], |good| refusing(good, 3, LedgerFault::Locked)).await;
    assert_eq!(stand.client().reserve(1, "alice").await.seat(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_5xx_is_not_a_duplicate() {
    for (fault, status, reason) in [
        (LedgerFault::Unreachable("test".into()), 503, "service_unavailable"),
        (LedgerFault::Broken("test".into()), 500, "internal_error"),
    ] {
        let stand = TestServer::bent(&[], |good| refusing(good, 1, fault)).await;
        let mut client = stand.client();
        let first = client.reserve(1, "alice").await;
        assert_eq!((first.status, first.reason().as_str()), (status, reason));
        assert_eq!(first.header("retry-after").is_some(), status == 503);
        assert_eq!(client.reserve(1, "alice").await.seat(), Some(1));
    }
}

/// Numbers rise over requests that did not overlap, also across restarts.
#[tokio::test(flavor = "multi_thread")]
async fn arrival_numbers_rise_across_restarts() {
    let mut stand = TestServer::embedded(&[]).await;
    let mut last = 0;
    for start in 0..3 {
        for user in 0..3 {
            let number = stand.client().reserve(1, &format!("u{start}-{user}")).await.sequence().unwrap();
            assert!(number > last, "{number} after {last}");
            last = number;
        }
        stand = stand.restart().await;
    }
    assert!(last > 2_000_000_000, "every start is a generation: {last}");
}

/// The example of seed 000, section 5.4, field by field.
#[tokio::test(flavor = "multi_thread")]
async fn contention_body_matches_seed_000() {
    let settings = [("FCFS_MAX_RETRIES", "0")];
    let stand = TestServer::bent(&settings, |good| refusing(good, 1, LedgerFault::Locked)).await;
    let headers = [("Api-Version", "2025-08-17"), ("Content-Type", "application/json")];
    let body = r#"{"phone":"+821012345678"}"#;
    let answer = stand.client().send("POST", "/api/v1/seats/reservation/fcfs", &headers, body).await;
    let expected = serde_json::json!({
        "success": false, "seat_id": null, "reserved_by": "+821012345678", "reason": "contention",
    });
    assert_eq!((answer.status, answer.json()), (200, expected));
}
