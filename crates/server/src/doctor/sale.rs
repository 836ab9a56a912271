//! The arithmetic of one sale: so many people, so many seats. How fast this machine serves is measured with a
//! server of its own in a folder beside the data, for a second and a half.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::{Client, HttpRequest};

use super::{CallTimes, Diagnosis, Severity};
use crate::settings::{Settings, Stores, Values};
use crate::wiring;

const MEASURED: Duration = Duration::from_millis(1_500);
const CONNECTIONS: usize = 64;
/// What a connection costs, and what a server needs without any.
const CONNECTION_KIB: u64 = 15;
const SERVER_MIB: u64 = 64;
/// People ask this often until they know: a double click, a lost answer, a reload.
const REQUESTS_PER_PERSON: f64 = 1.5;
/// Everybody should know within this time; beyond it, a waiting room keeps people calm.
const PATIENCE: Duration = Duration::from_secs(10);

/// `50000/500`: people, and seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedSale {
    pub people: u64,
    pub seats: u64,
}

impl FromStr for PlannedSale {
    type Err = String;

    fn from_str(text: &str) -> Result<PlannedSale, String> {
        let number = |part: &str| part.trim().replace([',', '_'], "").parse::<u64>().ok().filter(|n| *n > 0);
        let read = || {
            let (people, seats) = text.split_once('/')?;
            Some(PlannedSale { people: number(people)?, seats: number(seats)? })
        };
        read().ok_or_else(|| "people and seats, such as 50000/500".to_owned())
    }
}

pub async fn examine(settings: &Settings, sale: PlannedSale, flush: Option<CallTimes>) -> Vec<Diagnosis> {
    match rate(&settings.data_dir).await {
        Ok(rate) => {
            let limits = settings.connection_limits();
            let flush_ms = flush.map(|times| times.at(0.5)).unwrap_or_default();
            let mut all = vec![speed(rate, matches!(settings.stores, Stores::Embedded))];
            all.extend(reckon(sale, rate, flush_ms, limits.most as u64, settings.queue_depth as u64));
            all
        }
        Err(why) => {
            let change = "the measurement needs a writable folder beside DATA_DIR and a free port";
            vec![Diagnosis::bad("sale", Severity::Warning, format!("nothing could be measured: {why}"), change)]
        }
    }
}

/// Reservations per second of an embedded server on this machine, with its clients beside it.
async fn rate(data_dir: &Path) -> Result<f64, String> {
    let folder = data_dir.with_file_name(format!("tickettock-doctor-{}", std::process::id()));
    let measured = measure(&folder).await;
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

async fn measure(folder: &Path) -> Result<f64, String> {
    let given = |name: &str| match name {
        "APP_PORT" => Some("0".to_owned()),
        "DATA_DIR" => Some(folder.display().to_string()),
        "FCFS_SEATS" => Some("1000000".to_owned()),
        "USER_RATE" => Some("0".to_owned()),
        _ => None,
    };
    let values = Values::gather(|_| None, given, None).map_err(|e| e.to_string())?;
    let app = wiring::start(Settings::understand(&values).map_err(|e| e.to_string())?).await?;
    let listening = wiring::listen(app).await?;
    let address = listening.address;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(listening.serve(async {
        let _ = stopped.await;
    }));
    let (done, until) = (Arc::new(AtomicU64::new(0)), Instant::now() + MEASURED);
    let buyers: Vec<_> = (0..CONNECTIONS).map(|i| tokio::spawn(buy(address, i, until, done.clone()))).collect();
    for buyer in buyers {
        let _ = buyer.await;
    }
    let _ = stop.send(());
    let _ = serving.await;
    match done.load(Ordering::Relaxed) {
        0 => Err("the server answered nothing".to_owned()),
        done => Ok(done as f64 / MEASURED.as_secs_f64()),
    }
}

async fn buy(address: std::net::SocketAddr, i: usize, until: Instant, done: Arc<AtomicU64>) {
    let mut client = Client::new(address);
    let mut n = 0;
    while Instant::now() < until {
        n += 1;
        let request = HttpRequest::post("/api/v1/seats/reservation/fcfs")
            .header("X-User-Id", format!("doctor-{i}-{n}"))
            .json(r#"{"userName":"Doctor","phone":"010-1234-5678"}"#);
        if client.ask(request).await.is_ok_and(|answer| answer.is_success()) {
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The measurement sells, so it is not made in somebody's PostgreSQL.
fn speed(rate: f64, embedded: bool) -> Diagnosis {
    let found =
        format!("{rate:.0} reservations per second, measured here on SQLite with the clients on the same machine");
    if embedded {
        return Diagnosis::ok("speed", found);
    }
    let change =
        "the sale will be on PostgreSQL: measure that with `tickettock rush` against the servers, before the day";
    Diagnosis::bad("speed", Severity::Advice, found, change)
}

fn reckon(sale: PlannedSale, rate: f64, flush_ms: f64, connections: u64, queue: u64) -> Vec<Diagnosis> {
    let people = sale.people as f64;
    let requests = people * REQUESTS_PER_PERSON;
    let all_know = Duration::from_secs_f64(requests / rate);
    let sold = Duration::from_secs_f64((sale.seats as f64 / rate).max(flush_ms / 1_000.0));
    let mut all = Vec::new();
    let found = format!(
        "{} people send {requests:.0} requests; the {} seats are sold {:.1} s after the opening, and everybody knows after {:.1} s",
        sale.people,
        sale.seats,
        sold.as_secs_f64(),
        all_know.as_secs_f64()
    );
    all.push(if all_know <= PATIENCE {
        Diagnosis::ok("sale", found)
    } else {
        let inside = (rate * 2.0).round().max(1.0);
        let servers = (all_know.as_secs_f64() / PATIENCE.as_secs_f64()).ceil();
        let change = format!(
            "give the event a waiting room (maxConcurrent {inside:.0}), or put {servers:.0} times this machine behind the gateway"
        );
        Diagnosis::bad("sale", Severity::Warning, found, change)
    });
    let found = format!("{} people at once, room for {connections}", sale.people);
    all.push(if sale.people <= connections {
        Diagnosis::ok("connections of the sale", found)
    } else {
        let change = format!(
            "the others wait in the kernel's backlog: MAX_CONNECTIONS={} and as many open files, or the gateway in front",
            sale.people
        );
        Diagnosis::bad("connections of the sale", Severity::Advice, found, change)
    });
    let mib = SERVER_MIB + sale.people.min(connections) * CONNECTION_KIB / 1_024;
    all.push(Diagnosis::ok("memory of the sale", format!("about {mib} MiB")));
    let at_once = requests as u64;
    all.push(if at_once <= queue {
        Diagnosis::ok("queue of the sale", format!("{at_once} requests at once, QUEUE_DEPTH {queue}"))
    } else {
        let found = format!("{at_once} requests at once, QUEUE_DEPTH {queue}");
        let change = "the rest is answered 503 with Retry-After at once, and served when it comes back: intended; a \
                      waiting room spares people the wait";
        Diagnosis::bad("queue of the sale", Severity::Advice, found, change)
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sale_is_people_and_seats() {
        assert_eq!("50000/500".parse(), Ok(PlannedSale { people: 50_000, seats: 500 }));
        assert_eq!("50,000/500".parse(), Ok(PlannedSale { people: 50_000, seats: 500 }));
        for bad in ["", "5", "a/b", "0/5", "5/0"] {
            assert!(bad.parse::<PlannedSale>().is_err(), "{bad}");
        }
    }

    #[test]
    fn small_sales_fit_and_large_ones_get_advice() {
        let worst = |sale: &str, rate| {
            let all = reckon(sale.parse().unwrap(), rate, 1.0, 20_000, 8_192);
            all.iter().map(|one| one.severity).max().unwrap()
        };
        assert_eq!(worst("5000/500", 5_000.0), Severity::Ok);
        assert_eq!(worst("25000/500", 5_000.0), Severity::Advice);
        assert_eq!(worst("500000/500", 5_000.0), Severity::Warning);
    }

    #[test]
    fn arithmetic_of_a_sale() {
        let all = reckon("50000/5000".parse().unwrap(), 10_000.0, 1.0, 20_000, 8_192);
        let found =
            |name: &str| all.iter().find(|one| one.check == name).unwrap_or_else(|| panic!("{name}")).found.clone();
        assert_eq!(
            found("sale"),
            "50000 people send 75000 requests; the 5000 seats are sold 0.5 s after the opening, and everybody knows \
             after 7.5 s"
        );
        assert_eq!(found("connections of the sale"), "50000 people at once, room for 20000");
        assert_eq!(found("memory of the sale"), "about 356 MiB");
        assert_eq!(found("queue of the sale"), "75000 requests at once, QUEUE_DEPTH 8192");
        // Nothing is sold before the first flush.
        let all = reckon("10/1".parse().unwrap(), 10_000.0, 400.0, 20_000, 8_192);
        assert!(all[0].found.contains("the 1 seats are sold 0.4 s after"), "{}", all[0].found);
    }

    #[test]
    fn speed_of_another_ledger_is_not_claimed() {
        assert_eq!(speed(1_000.0, true).severity, Severity::Ok);
        let scaled = speed(1_000.0, false);
        assert!(scaled.severity == Severity::Advice && scaled.change.unwrap().contains("rush"), "{}", scaled.found);
    }
}
