//! Backups of a ledger that sells, restored elsewhere: everything acknowledged before the backup began is
//! there, every invariant holds, and no arrival number comes twice.

mod embedded;
mod postgres;
mod replica;
mod scheduled;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use testing::http::TestClient;
use tokio::task::JoinHandle;

/// Reservation id to its user and arrival number.
pub type Acknowledged = HashMap<String, (String, u64)>;

/// Buyers of an event that ask until they are stopped.
pub struct Buyers {
    acknowledged: Arc<Mutex<Acknowledged>>,
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Buyers {
    pub fn start(address: SocketAddr, event: u64, count: u64) -> Buyers {
        let (acknowledged, stop) = (Arc::<Mutex<Acknowledged>>::default(), Arc::new(AtomicBool::new(false)));
        let next = Arc::new(AtomicU64::new(0));
        let one = |_| tokio::spawn(buy(address, event, next.clone(), acknowledged.clone(), stop.clone()));
        Buyers { tasks: (0..count).map(one).collect(), acknowledged: acknowledged.clone(), stop: stop.clone() }
    }

    fn acknowledged(&self) -> Acknowledged {
        self.acknowledged.lock().unwrap().clone()
    }

    pub async fn at_least(&self, count: usize) {
        while self.acknowledged.lock().unwrap().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn stopped(self) -> Acknowledged {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.acknowledged.lock().unwrap().clone()
    }
}

async fn buy(
    address: SocketAddr,
    event: u64,
    next: Arc<AtomicU64>,
    acknowledged: Arc<Mutex<Acknowledged>>,
    stop: Arc<AtomicBool>,
) {
    let mut client = TestClient::new(address);
    while !stop.load(Ordering::Relaxed) {
        let user = format!("u{}", next.fetch_add(1, Ordering::Relaxed));
        let answer = client.reserve(event, &user).await;
        if answer.status == 200 {
            let id = answer.json()["reservationId"].as_str().unwrap().to_owned();
            acknowledged.lock().unwrap().insert(id, (user, answer.sequence().unwrap()));
        } else {
            assert!(answer.status == 503, "{}", answer.text());
        }
    }
}

/// Reservation id to user, of everything that stands.
async fn reservations(mut client: TestClient, event: u64, token: &str) -> HashMap<String, String> {
    let token = format!("Bearer {token}");
    let (mut found, mut after) = (HashMap::new(), String::new());
    loop {
        let path = format!("/api/v1/admin/events/{event}/reservations?limit=1000{after}");
        let page = client.send("GET", &path, &[("Authorization", &token)], "").await.json();
        for one in page["reservations"].as_array().unwrap() {
            let text = |name: &str| one[name].as_str().unwrap().to_owned();
            found.insert(text("publicId"), text("userId"));
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

/// Whatever was acknowledged before is found, and nothing that nobody asked for.
fn compare(before: &Acknowledged, found: &HashMap<String, String>) {
    for (id, (user, _)) in before {
        assert_eq!(found.get(id), Some(user), "acknowledged before the backup began, and not restored: {id}");
    }
}

/// Exit code, and everything that was printed.
fn run(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text)
}
