//! The load: the same for everybody. One thread, so that it costs the same everywhere.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use server::load::connection::Connection;

pub struct Run {
    pub ok: u64,
    pub other: u64,
    pub took: Duration,
    /// Microseconds.
    pub times: Histogram<u64>,
}

impl Run {
    pub fn rate(&self) -> f64 {
        self.ok as f64 / self.took.as_secs_f64()
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("sound bounds")
}

static BUYER: AtomicU64 = AtomicU64::new(0);

fn request(path: &str) -> Vec<u8> {
    let user = BUYER.fetch_add(1, Ordering::Relaxed);
    let run = std::process::id();
    let body = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;
    format!(
        "POST {path} HTTP/1.1\r\nHost: bench\r\nX-User-Id: user-{run}-{user}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// So many connections, each asking again as soon as it is answered.
pub fn closed(target: SocketAddr, connections: usize, time: Duration, path: &str) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let path: Arc<str> = path.into();
        let mut opened = Vec::with_capacity(connections);
        for _ in 0..connections {
            opened.push(Connection::open(target).await.expect("a connection"));
        }
        let began = Instant::now();
        let end = began + time;
        let running: Vec<_> = opened
            .into_iter()
            .map(|mut connection| {
                let path = path.clone();
                tokio::task::spawn(async move {
                    let (mut ok, mut other, mut times) = (0, 0, Vec::new());
                    while Instant::now() < end {
                        let sent = Instant::now();
                        let answer = connection.ask(&request(&path)).await.expect("an answer");
                        if answer.status == 200 {
                            ok += 1
                        } else {
                            other += 1
                        }
                        times.push(sent.elapsed().as_micros() as u64);
                    }
                    (ok, other, times)
                })
            })
            .collect();
        let mut run = Run { ok: 0, other: 0, took: time, times: histogram() };
        for task in running {
            let (ok, other, times) = task.await.expect("a task");
            run.ok += ok;
            run.other += other;
            times.into_iter().for_each(|t| run.times.saturating_record(t));
        }
        run.took = began.elapsed();
        run
    })
}
