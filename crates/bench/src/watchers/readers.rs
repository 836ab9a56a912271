//! The watchers. They share the machine with the server, so they are as cheap as they can be: most of them sweep
//! their sockets and let the kernel discard what came, and a few understand what they read.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use client::{Connection, EventStream, HttpRequest};
use serde_json::Value;
use socket2::SockRef;

use super::{TIMED_OF, WatchedSale, runtime};

/// One watcher in so many understands what it reads.
const SAMPLED_OF: usize = 100;
/// One watcher in so many does not read.
const SILENT_OF: usize = 10;
/// What came meanwhile waits in the kernel, which has room for it. Reading more often would be work of other machines
/// that this one would have to do.
const SWEEP: Duration = Duration::from_secs(1);
/// `MSG_TRUNC`: what came is discarded, not copied.
const DISCARD: i32 = 0x20;

/// How many of so many understand what they read.
pub fn sampled(count: usize) -> usize {
    count / SAMPLED_OF
}

/// All watchers, in threads of their own, until the sale is over.
pub fn watch(address: SocketAddr, event: u64, count: usize, sale: &Arc<WatchedSale>) -> [JoinHandle<()>; 2] {
    let sampled = sampled(count);
    let (understand, others) = (sale.clone(), sale.clone());
    [
        std::thread::spawn(move || understand_all(address, event, sampled, &understand)),
        std::thread::spawn(move || sweep_all(address, event, count - sampled, &others)),
    ]
}

fn understand_all(address: SocketAddr, event: u64, count: usize, sale: &Arc<WatchedSale>) {
    runtime().block_on(async {
        for n in 0..count {
            // Spread over all: the server writes to its watchers in the order in which they came.
            while sale.connected.load(Ordering::Relaxed) < n * SAMPLED_OF {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::spawn(understand(address, event, sale.clone()));
        }
        while !sale.is_over() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

async fn understand(address: SocketAddr, event: u64, sale: Arc<WatchedSale>) {
    let connection = Connection::open(&address.into()).await.expect("a connection");
    let request = HttpRequest::get(&format!("/api/v1/events/{event}/stream"));
    let mut stream: EventStream = connection.stream(request).await.expect("a stream");
    assert_eq!(stream.head.status, 200);
    sale.is_watched();
    let mut known = vec![false; sale.seats() / TIMED_OF + 1];
    // Seats up to here are known: most are sold in order, and all states come again and again.
    let mut passed = 0;
    while let Ok(Some(message)) = stream.next().await {
        let data = || serde_json::from_str::<Value>(&message.data).expect("JSON");
        let sold = match message.event.as_str() {
            "seats" => sold_among(&data()["sold"]),
            "snapshot" => sold_in(data()["states"].as_str().unwrap_or_default(), passed),
            _ => Vec::new(),
        };
        sale.saw(sold.into_iter().filter(|seat| !std::mem::replace(&mut known[*seat / TIMED_OF], true)));
        while known.get(passed / TIMED_OF + 1) == Some(&true) {
            passed += TIMED_OF;
        }
    }
}

/// The timed ones of a list of ids.
fn sold_among(ids: &Value) -> Vec<usize> {
    let ids = ids.as_array().into_iter().flatten().filter_map(|n| Some(n.as_u64()? as usize));
    ids.filter(|seat| seat % TIMED_OF == 0).collect()
}

/// The timed ones among the sold seats behind `passed`, of a run-length text such as `12s88f`.
fn sold_in(states: &str, passed: usize) -> Vec<usize> {
    let (mut seat, mut sold) = (1, Vec::new());
    for run in states.split_inclusive(|letter: char| letter.is_ascii_alphabetic()) {
        let (count, letter) = run.split_at(run.len() - 1);
        let next = seat + count.parse::<usize>().expect("a count");
        if letter == "s" {
            sold.extend((seat.max(passed + 1).next_multiple_of(TIMED_OF)..next).step_by(TIMED_OF));
        }
        seat = next;
    }
    sold
}

fn sweep_all(address: SocketAddr, event: u64, count: usize, sale: &WatchedSale) {
    let head = format!("GET /api/v1/events/{event}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut watchers = Vec::with_capacity(count);
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(head.as_bytes()).expect("a request");
        let mut first = [0; 512];
        let length = stream.read(&mut first).expect("an answer");
        assert!(first[..length].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&first[..length]));
        stream.set_nonblocking(true).expect("a socket");
        watchers.push(stream);
        sale.is_watched();
    }
    let mut buffer = vec![MaybeUninit::uninit(); 1 << 18];
    while !sale.is_over() {
        std::thread::sleep(SWEEP);
        for (n, watcher) in watchers.iter().enumerate() {
            if n % SILENT_OF > 0 {
                let _ = SockRef::from(watcher).recv_with_flags(&mut buffer, DISCARD);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sold_seats_are_read_from_runs() {
        assert_eq!(sold_in("20s20f1h9s32f16s", 0), [16, 48, 96]);
        assert_eq!(sold_in("20s20f1h9s32f16s", 16), [48, 96]);
        assert!(sold_in("", 0).is_empty());
    }
}
