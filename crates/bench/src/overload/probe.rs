//! Asks for health and for an admin's list while a crowd is there, on the listener for operators.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::HttpRequest;

use crate::product::ADMIN_TOKEN;

const EVERY: Duration = Duration::from_millis(100);

pub struct Probing {
    over: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Probing {
    pub fn start(operators: SocketAddr) -> Probing {
        let over = Arc::new(AtomicBool::new(false));
        let stop = over.clone();
        let thread = std::thread::spawn(move || {
            let mut slowest = 0f64;
            while !stop.load(Ordering::Relaxed) {
                for path in ["/livez", "/readyz", "/api/v1/admin/events/1"] {
                    let request = HttpRequest::get(path).header("Authorization", format!("Bearer {ADMIN_TOKEN}"));
                    let began = Instant::now();
                    let answer = client::blocking::ask_once(&operators.into(), request, Duration::from_secs(10));
                    let good = answer.is_ok_and(|answer| answer.status == 200);
                    let took = began.elapsed().as_secs_f64() * 1_000.0;
                    slowest = slowest.max(if good { took } else { f64::INFINITY });
                }
                std::thread::sleep(EVERY);
            }
            slowest
        });
        Probing { over, thread }
    }

    /// Ends it. The slowest answer of all.
    pub fn slowest_ms(self) -> f64 {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the probe runs")
    }
}
