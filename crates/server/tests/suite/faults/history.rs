//! Buyers that retry until they have an answer, a record of all answers, and the check of that record:
//! no acknowledged sale is lost, no refused request has a seat, no seat is sold without a request.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use client::ClientError;
use rules::history::Happened;
use rules::ids::EventId;
use server::secrets::Secrets;
use stores::ensure;
use stores::ledger::Ledger;
use testing::database;
use testing::http::{BUYER, TestClient, TestResponse};
use tokio::task::JoinHandle;

/// How one buyer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Sold { seat: u64, reservation: String, number: u64 },
    Refused(String),
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Bought {
    pub user: String,
    pub end: End,
    pub began: Instant,
    pub ended: Instant,
    /// Status, reason and time of every answer on the way.
    pub answers: Vec<(u16, String, Duration)>,
    /// Connections that broke on the way.
    pub broken: u32,
    /// The answer was a repeated one: an earlier request was accepted and done, and its answer lost.
    pub replayed: bool,
}

/// Buyers that arrive one after another until the load is stopped.
pub struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<Vec<Bought>>>,
}

/// Longer than any deadline of the server: beyond it a request hangs.
const HANGS: Duration = Duration::from_secs(6);
/// How long a buyer asks again for an answer.
const PATIENCE: Duration = Duration::from_secs(40);

impl Load {
    /// `clients` at these addresses, each with a buyer after another, at most `most` in all.
    pub fn start(addresses: &[SocketAddr], event: u64, clients: usize, most: usize) -> Load {
        let (stop, done, next) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let addresses = Arc::new(addresses.to_vec());
        let buyer = |client: usize| {
            let (stop, done, next, addresses) = (stop.clone(), done.clone(), next.clone(), addresses.clone());
            tokio::spawn(async move {
                let mut all = Vec::new();
                while !stop.load(SeqCst) {
                    let i = next.fetch_add(1, SeqCst);
                    if i >= most {
                        break;
                    }
                    all.push(buy(&addresses, client, event, format!("u{i}")).await);
                    done.fetch_add(1, SeqCst);
                }
                all
            })
        };
        let tasks = (0..clients).map(buyer).collect();
        Load { stop, done, tasks }
    }

    pub fn done(&self) -> usize {
        self.done.load(SeqCst)
    }

    /// Waits until so many more buyers have their answer.
    pub async fn after(&self, more: usize, within: Duration) {
        let (from, began) = (self.done(), Instant::now());
        while self.done() < from + more {
            assert!(began.elapsed() < within, "{} more in {within:?}, {more} were expected", self.done() - from);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub async fn stop(self) -> Vec<Bought> {
        self.stop.store(true, SeqCst);
        self.finish().await
    }

    /// Waits for every buyer.
    pub async fn finish(self) -> Vec<Bought> {
        let mut all = Vec::new();
        for task in self.tasks {
            all.extend(task.await.unwrap());
        }
        all
    }
}

/// Asks with the same key, at one server after another, until there is a definite answer.
async fn buy(addresses: &[SocketAddr], client: usize, event: u64, user: String) -> Bought {
    let began = Instant::now();
    let mut bought = Bought {
        end: End::Unknown,
        began,
        ended: began,
        answers: Vec::new(),
        broken: 0,
        replayed: false,
        user: user.clone(),
    };
    let mut turn = client;
    while began.elapsed() < PATIENCE {
        let mut wire = TestClient::new(addresses[turn % addresses.len()]);
        let asked = Instant::now();
        match tokio::time::timeout(HANGS, ask(&mut wire, event, &user)).await {
            Ok(Ok(answer)) => {
                bought.answers.push((answer.status, answer.reason(), asked.elapsed()));
                if let Some(end) = definite(&answer) {
                    bought.replayed = answer.header("idempotent-replayed").is_some();
                    bought.end = end;
                    bought.ended = Instant::now();
                    return bought;
                }
            }
            Ok(Err(_)) => bought.broken += 1,
            Err(_) => bought.answers.push((0, "hangs".into(), asked.elapsed())),
        }
        turn += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bought.ended = Instant::now();
    bought
}

async fn ask(client: &mut TestClient, event: u64, user: &str) -> Result<TestResponse, ClientError> {
    let key = format!("key-{user}");
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    let headers = [("X-User-Id", user), ("Content-Type", "application/json"), ("Idempotency-Key", &key)];
    client.try_send("POST", &path, &headers, BUYER).await
}

fn definite(answer: &TestResponse) -> Option<End> {
    let body = answer.json();
    match (answer.status, answer.reason().as_str()) {
        (200, _) => Some(End::Sold {
            seat: body["seat"]["id"].as_u64()?,
            reservation: body["reservationId"].as_str()?.to_owned(),
            number: body["sequence"].as_u64()?,
        }),
        (409, "contention") | (503, _) => None,
        (_, reason) => Some(End::Refused(reason.to_owned())),
    }
}

/// Every definite answer against what stands. How many were sold.
pub async fn core_ok(database_url: &str, event: u64, all: &[Bought]) -> Result<usize, String> {
    core_ok_after(database_url, event, all, 0).await
}

/// The same where so many were sold and cancelled before.
pub async fn core_ok_after(database_url: &str, event: u64, all: &[Bought], cancelled: usize) -> Result<usize, String> {
    let ledger = Arc::new(database::ledger(database_url, Default::default()));
    ledger.prepare().await.map_err(|e| e.to_string())?;
    let secrets = Secrets::new(ledger.clone());
    let ids = &secrets.load().await.map_err(|f| f.to_string())?.ids;
    let id = EventId(event as i64);
    let fault = |f: stores::ledger::LedgerFault| f.to_string();
    let row = ledger.event(id).await.map_err(fault)?.ok_or("the event is gone")?;
    let standing = ledger.reservations_in(id, None, 10_000_000).await.map_err(fault)?;
    let mut by_user = HashMap::new();
    for reservation in &standing {
        let user = reservation.sale.owner.as_ref().map(|o| o.user.as_str().to_owned()).unwrap_or_default();
        let seat = (u64::from(reservation.sale.seat.0), ids.of_seat(reservation.id()));
        ensure!(by_user.insert(user.clone(), seat).is_none(), "{user} has two seats");
    }
    let (mut numbers, mut asked) = (HashSet::new(), HashSet::new());
    for bought in all {
        asked.insert(bought.user.as_str());
        match &bought.end {
            End::Sold { seat, reservation, number } => {
                let stands = by_user.get(&bought.user);
                let told = Some(&(*seat, reservation.clone())) == stands;
                ensure!(told, "lost: {} was told seat {seat} ({reservation}), there stands {stands:?}", bought.user);
                ensure!(numbers.insert(*number), "number {number} was given twice");
            }
            End::Refused(reason) => {
                let stands = by_user.get(&bought.user);
                ensure!(stands.is_none(), "resurrected: {} was told {reason}, there stands {stands:?}", bought.user);
            }
            End::Unknown => {}
        }
        let wrong = bought.answers.iter().find(|(status, ..)| *status == 500 || *status == 0);
        ensure!(wrong.is_none(), "{} was answered {wrong:?}", bought.user);
    }
    let phantom = by_user.keys().find(|user| !asked.contains(user.as_str()));
    ensure!(phantom.is_none(), "phantom: {phantom:?} stands and never asked");
    ensure!(row.counts.sold as usize == standing.len(), "{} counted, {} stand", row.counts.sold, standing.len());
    let history = ledger.history(id, 0, 10_000_000).await.map_err(fault)?;
    let gap = history.iter().enumerate().find(|(i, entry)| entry.n != *i as u64 + 1);
    ensure!(gap.is_none() && row.counts.n == history.len() as u64, "the history has a gap: {gap:?}");
    let reserved = history.iter().filter(|e| e.what == Happened::Reserved).count();
    ensure!(reserved == standing.len() + cancelled, "{reserved} sales in the history, {} stand", standing.len());
    Ok(standing.len())
}

/// Numbers rise over buyers that did not overlap and got their number at the first try.
pub fn numbers_rise(all: &[Bought]) -> Result<(), String> {
    let first_try = |b: &&Bought| b.answers.len() == 1 && b.broken == 0;
    let number = |b: &Bought| match b.end {
        End::Sold { number, .. } => number,
        _ => 0,
    };
    let mut by_end: Vec<&Bought> = all.iter().filter(first_try).filter(|b| number(b) > 0).collect();
    let mut by_begin = by_end.clone();
    by_end.sort_by_key(|b| b.ended);
    by_begin.sort_by_key(|b| b.began);
    let (mut highest, mut ended) = (0, by_end.iter().peekable());
    for one in by_begin {
        while let Some(before) = ended.next_if(|b| b.ended < one.began) {
            highest = highest.max(number(before));
        }
        ensure!(number(one) > highest, "{} got {} after {highest} had been answered", one.user, number(one));
    }
    Ok(())
}

/// How often an answer was given.
pub fn count(all: &[Bought], status: u16, reason: &str) -> usize {
    all.iter().flat_map(|b| &b.answers).filter(|(s, r, _)| *s == status && (reason.is_empty() || r == reason)).count()
}

pub fn sold(all: &[Bought]) -> usize {
    all.iter().filter(|b| matches!(b.end, End::Sold { .. })).count()
}

pub fn unknown(all: &[Bought]) -> usize {
    all.iter().filter(|b| b.end == End::Unknown).count()
}
