//! A watcher as a page is one: it folds the snapshot and every message into a model, and remembers what it was told.

use std::time::Duration;

use client::{Connection, EventStream, HttpRequest, StreamEvent, Target};
use serde_json::Value;
use testing::server::TestServer;

/// Longer than any message takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Default)]
pub struct Model {
    /// `f`, `h` or `s` for each seat, from seat 1.
    pub states: Vec<char>,
    pub remaining: Value,
    pub state: Value,
    pub id: Option<String>,
    pub snapshots: usize,
    /// The history number of every numbered message, with the states after it.
    pub told: Vec<(u64, Vec<char>)>,
    /// A message that contradicts those before it.
    pub wrong: Option<String>,
}

impl Model {
    pub fn n(&self) -> u64 {
        self.id.as_deref().map_or(0, number)
    }

    pub fn count(&self, state: char) -> usize {
        self.states.iter().filter(|known| **known == state).count()
    }

    /// What a message counts is what the seats say.
    fn compare(&mut self, data: &Value) {
        for (name, state) in [("remaining", 'f'), ("held", 'h'), ("sold", 's')] {
            if data[name] != self.count(state) {
                self.wrong = Some(format!("{name}: {} seats, but {data}", self.count(state)));
            }
        }
    }

    pub fn fold(&mut self, message: &StreamEvent) {
        let data: Value = serde_json::from_str(&message.data).unwrap_or(Value::Null);
        match message.event.as_str() {
            "snapshot" => {
                self.states = spelled_out(data["states"].as_str().unwrap());
                assert_eq!(data["seatCount"], self.states.len(), "{data}");
                self.compare(&data);
                self.state = data["state"].clone();
                self.snapshots += 1;
            }
            "seats" => {
                for (name, state) in [("sold", 's'), ("held", 'h'), ("free", 'f')] {
                    for seat in data[name].as_array().into_iter().flatten() {
                        self.states[seat.as_u64().unwrap() as usize - 1] = state;
                    }
                }
            }
            "remaining" => {
                self.compare(&data);
                self.remaining = data["remaining"].clone();
            }
            "state" => self.state = data["state"].clone(),
            _ => {}
        }
        if let Some(id) = &message.id {
            // A new snapshot may begin anew, in another history.
            if message.event == "seats" {
                assert!(number(id) >= self.n(), "{id} after {:?}", self.id);
            }
            self.id = Some(id.clone());
            self.told.push((number(id), self.states.clone()));
        }
    }
}

pub fn number(id: &str) -> u64 {
    id.split('.').next().unwrap().parse().unwrap()
}

fn spelled_out(text: &str) -> Vec<char> {
    let mut states = Vec::new();
    let mut count = String::new();
    for letter in text.chars() {
        if letter.is_ascii_digit() {
            count.push(letter);
        } else {
            states.extend(std::iter::repeat_n(letter, count.parse().unwrap()));
            count.clear();
        }
    }
    states
}

pub struct TestWatcher {
    pub model: Model,
    pub stream: EventStream,
}

impl TestWatcher {
    pub async fn of(server: &TestServer, event: u64) -> TestWatcher {
        TestWatcher::resuming(server, event, Model::default()).await
    }

    /// Connects with what a page knows after its last connection.
    pub async fn resuming(server: &TestServer, event: u64, model: Model) -> TestWatcher {
        let mut request = HttpRequest::new("GET", &format!("/api/v1/events/{event}/stream"));
        if let Some(id) = &model.id {
            request = request.header("Last-Event-ID", id.clone());
        }
        let stream = open(server, request).await;
        assert_eq!(stream.head.status, 200);
        assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
        assert_eq!(stream.head.header("cache-control"), Some("no-store"));
        TestWatcher { model, stream }
    }

    /// Reads the next message. None: the stream has ended.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        let next = tokio::time::timeout(PATIENCE, self.stream.next()).await.expect("a message comes");
        let message = next.ok().flatten()?;
        self.model.fold(&message);
        Some(message)
    }

    pub async fn until(&mut self, what: &str, done: impl Fn(&Model) -> bool) {
        let began = std::time::Instant::now();
        while !done(&self.model) {
            assert!(began.elapsed() < PATIENCE, "{what}: {:?}", self.model);
            assert!(self.next().await.is_some(), "the stream ended before {what}");
        }
        assert_eq!(self.model.wrong, None);
    }
}

pub async fn open(server: &TestServer, request: HttpRequest) -> EventStream {
    let connection = Connection::open(&Target::from(server.address)).await.unwrap();
    connection.stream(request).await.unwrap()
}
