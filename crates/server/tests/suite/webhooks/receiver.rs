//! A receiver of webhooks that a test controls, and that checks signatures by itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: String,
    timestamp: String,
    signature: String,
    text: String,
    pub at: Instant,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many of its signatures this secret made.
    pub fn signed_by(&self, secret: &str) -> usize {
        let secret = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let content = format!("{}.{}.{}", self.id, self.timestamp, self.text);
        let signatures = self.signature.split(' ').map(|one| one.strip_prefix("v1,").expect("a version"));
        signatures.filter(|one| hmac::verify(&key, content.as_bytes(), &STANDARD.decode(one).unwrap()).is_ok()).count()
    }

    pub fn signatures(&self) -> usize {
        self.signature.split(' ').count()
    }
}

const HANGS_UP: u16 = 0;

/// What it answers: status, headers, and how long it takes.
#[derive(Clone, Debug)]
pub struct Behaviour(pub u16, pub String, pub Duration);

impl Behaviour {
    pub fn status(status: u16) -> Behaviour {
        Behaviour(status, String::new(), Duration::ZERO)
    }

    /// It reads, and closes the connection without an answer.
    pub fn hangs_up() -> Behaviour {
        Behaviour::status(HANGS_UP)
    }

    pub fn fails(&self) -> bool {
        !(200..300).contains(&self.0)
    }
}

#[derive(Default)]
struct Seen {
    /// What it answered with success.
    taken: Mutex<Vec<Received>>,
    refused: AtomicUsize,
    /// Of so many messages one is refused; 0: none.
    refuses_every: AtomicUsize,
    connections: AtomicUsize,
    down: AtomicBool,
    /// It never answers messages that contain this text.
    silent_on: Mutex<Option<String>>,
    /// Requests that it has read and left without an answer, whose connections are still open.
    hanging: AtomicUsize,
}

pub struct Receiver {
    pub address: SocketAddr,
    seen: Arc<Seen>,
    behaviour: Arc<Mutex<Behaviour>>,
}

impl Receiver {
    pub fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let receiver =
            Receiver { address, seen: Arc::default(), behaviour: Arc::new(Mutex::new(Behaviour::status(204))) };
        receiver.listen(listener);
        receiver
    }

    fn listen(&self, listener: TcpListener) {
        let (seen, behaviour) = (self.seen.clone(), self.behaviour.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if seen.down.load(Ordering::SeqCst) {
                    return;
                }
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, behaviour) = (seen.clone(), behaviour.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &seen, &behaviour));
            }
        });
    }

    pub fn url(&self) -> String {
        format!("http://{}/hooks", self.address)
    }

    pub fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    /// It reads messages that contain this text, and never answers them. None: it answers all.
    pub fn be_silent_on(&self, text: Option<&str>) {
        *self.seen.silent_on.lock().unwrap() = text.map(str::to_owned);
    }

    /// It refuses one of so many messages, whatever else it does.
    pub fn refuse_every(&self, count: usize) {
        self.seen.refuses_every.store(count, Ordering::SeqCst);
    }

    pub fn hanging(&self) -> usize {
        self.seen.hanging.load(Ordering::SeqCst)
    }

    /// Nobody listens any more.
    pub fn go_down(&self) {
        self.seen.down.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        while TcpStream::connect(self.address).is_ok() {
            std::thread::yield_now();
        }
    }

    pub fn come_back(&self) {
        self.seen.down.store(false, Ordering::SeqCst);
        let listener = loop {
            if let Ok(listener) = TcpListener::bind(self.address) {
                break listener;
            }
        };
        self.listen(listener);
    }

    pub fn taken(&self) -> Vec<Received> {
        self.seen.taken.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.seen.taken.lock().unwrap().clear();
    }

    pub fn refused(&self) -> usize {
        self.seen.refused.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Waits until this holds, for at most 20 s.
    pub async fn until(&self, holds: impl Fn(&Receiver) -> bool) -> bool {
        let began = Instant::now();
        while !holds(self) {
            if began.elapsed() > Duration::from_secs(20) {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        true
    }

    /// The first so many messages.
    pub async fn messages(&self, count: usize) -> Vec<Received> {
        assert!(self.until(|receiver| receiver.taken().len() >= count).await, "{:#?}", self.taken());
        self.taken()
    }
}

fn serve(stream: TcpStream, seen: &Seen, behaviour: &Mutex<Behaviour>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let (mut head, mut line) = (Vec::new(), String::new());
        while reader.read_line(&mut line).ok()? > 0 && !line.trim().is_empty() {
            head.push(std::mem::take(&mut line));
        }
        if head.is_empty() {
            return None;
        }
        let header = |name: &str| {
            let found = head.iter().filter_map(|line| line.split_once(':')).find(|(n, _)| n.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let mut body = vec![0; header("content-length").parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let received = Received {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
            text: String::from_utf8(body).ok()?,
            at: Instant::now(),
        };
        if seen.down.load(Ordering::SeqCst) {
            return None;
        }
        let silent = seen.silent_on.lock().unwrap().as_ref().is_some_and(|text| received.text.contains(text));
        if silent {
            seen.hanging.fetch_add(1, Ordering::SeqCst);
            let ended = reader.read(&mut [0]);
            seen.hanging.fetch_sub(1, Ordering::SeqCst);
            assert!(!matches!(ended, Ok(1..)), "nothing is sent behind a request without an answer");
            return None;
        }
        let Behaviour(mut status, headers, time) = behaviour.lock().unwrap().clone();
        let came = seen.taken.lock().unwrap().len() + seen.refused.load(Ordering::SeqCst) + 1;
        let every = seen.refuses_every.load(Ordering::SeqCst);
        if every > 0 && came.is_multiple_of(every) {
            status = 500;
        }
        std::thread::sleep(time);
        if (200..300).contains(&status) {
            seen.taken.lock().unwrap().push(received);
        } else {
            seen.refused.fetch_add(1, Ordering::SeqCst);
        }
        if status == HANGS_UP {
            return None;
        }
        stream.write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{headers}\r\n").as_bytes()).ok()?;
    }
}
