//! The waiting room over HTTP, on every backing: the contract, forged tickets, queue jumping, and
//! what happens when the door forgets.

mod contract;
mod crowd;
mod cut;
mod draw;
mod forged;
mod gathering;
mod keys;
mod killed;
mod line_end;
mod lost;

use serde_json::{Value, json};
use testing::http::{BUYER, TestClient, TestResponse};
use testing::server::TestServer;

/// One person in front of an event's waiting room.
pub struct Person {
    client: TestClient,
    event: u64,
    user: String,
    pub ticket: Option<String>,
    pub token: Option<String>,
}

impl Person {
    pub fn new(stand: &TestServer, event: u64, user: &str) -> Person {
        Person { client: stand.client(), event, user: user.to_owned(), ticket: None, token: None }
    }

    async fn send(&mut self, method: &str, path: &str, more: &[(&str, &str)]) -> TestResponse {
        let mut headers = vec![("X-User-Id", self.user.as_str())];
        headers.extend_from_slice(more);
        self.client.send(method, &format!("/api/v1/events/{}/{path}", self.event), &headers, "").await
    }

    /// Joins without a ticket, and keeps the one that is given.
    pub async fn join(&mut self) -> TestResponse {
        let answer = self.send("POST", "queue", &[]).await;
        if answer.status == 200 {
            self.ticket = answer.json()["ticket"].as_str().map(str::to_owned).or(self.ticket.take());
        }
        answer
    }

    pub async fn join_with_ticket(&mut self) -> TestResponse {
        let ticket = self.ticket.clone().unwrap();
        self.send("POST", "queue", &[("X-Queue-Ticket", &ticket)]).await
    }

    pub async fn poll(&mut self) -> TestResponse {
        self.send("GET", "queue", &[]).await
    }

    pub async fn poll_with_ticket(&mut self) -> TestResponse {
        let ticket = self.ticket.clone().unwrap();
        self.send("GET", "queue", &[("X-Queue-Ticket", &ticket)]).await
    }

    pub async fn enter(&mut self) -> TestResponse {
        let answer = self.send("POST", "queue/enter", &[]).await;
        if answer.status == 200 {
            self.token = answer.json()["token"].as_str().map(str::to_owned);
        }
        answer
    }

    pub async fn leave(&mut self) -> TestResponse {
        self.send("DELETE", "queue", &[]).await
    }

    /// Books with whatever token they have.
    pub async fn book(&mut self) -> TestResponse {
        let token = self.token.clone();
        self.book_with(token.as_deref()).await
    }

    pub async fn book_with(&mut self, token: Option<&str>) -> TestResponse {
        let path = format!("/api/v1/events/{}/seats/reservation/fcfs", self.event);
        let mut headers = vec![("X-User-Id", self.user.as_str()), ("Content-Type", "application/json")];
        headers.extend(token.map(|token| ("X-Entry-Token", token)));
        self.client.send("POST", &path, &headers, BUYER).await
    }

    pub async fn status(&mut self) -> String {
        let answer = self.poll().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["status"].as_str().unwrap().to_owned()
    }
}

/// An event with a waiting room.
pub async fn room(stand: &TestServer, seats: u64, most: u64) -> u64 {
    room_with(stand, seats, json!({ "maxConcurrent": most })).await
}

pub async fn room_with(stand: &TestServer, seats: u64, room: Value) -> u64 {
    let body = json!({ "name": "Rush", "seats": seats, "waitingRoom": room });
    let answer = stand.admin("POST", "events", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["event"]["id"].as_u64().unwrap()
}

fn refused(answer: &TestResponse, status: u16, reason: &str) {
    assert_eq!((answer.status, answer.reason().as_str()), (status, reason), "{}", answer.text());
}
