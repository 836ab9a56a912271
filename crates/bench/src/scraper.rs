//! Reads a server's metrics once a second, as Prometheus would.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::HttpRequest;
use client::blocking;

const EVERY: Duration = Duration::from_secs(1);

/// Until it is dropped.
pub struct Scraper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scraper {
    pub fn start(server: SocketAddr) -> Scraper {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut last = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                if last.elapsed() >= EVERY {
                    last = Instant::now();
                    let request = HttpRequest::get("/metrics").header("Accept", "application/openmetrics-text");
                    let _ = blocking::ask_once(&server.into(), request, EVERY);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Scraper { stop, thread: Some(thread) }
    }
}

impl Drop for Scraper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
