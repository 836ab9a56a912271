//! One buyer: comes when due, asks, asks again when told to, and remembers everything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::plan::{Habit, Plan, dice};
use super::shop::Shop;
use super::tally::{Asked, Memory, Outcome};
use crate::load::connection::Answer;

const BODY: &str = r#"{"userName":"Rush","phone":"010-1234-5678"}"#;
/// Whoever is told to come again does so this often.
const TRIES: u32 = 8;
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Buyer {
    pub plan: Arc<Plan>,
    pub shop: Arc<Shop>,
    pub run: Arc<str>,
    pub began: Instant,
    pub index: u64,
}

impl Buyer {
    pub fn user(&self) -> String {
        user(&self.run, self.index)
    }

    /// Everything this buyer went through.
    pub async fn buy(self) -> Vec<Memory> {
        let due = self.plan.due(self.index);
        let mut memories = match self.plan.habit(self.index) {
            Habit::Plain => self.until_settled(due, None).await,
            Habit::DoubleClick => {
                let (mut first, second) = tokio::join!(self.until_settled(due, None), self.reserve(due, None));
                first.push(second);
                first
            }
            Habit::LosesAnswers => {
                let key = format!("{}-key", self.user());
                let mut memories = vec![self.hang_up(due, &key).await];
                memories.extend(self.until_settled(self.began.elapsed(), Some(&key)).await);
                memories
            }
        };
        if self.plan.cancels(self.index)
            && let Some(id) = memories.iter().find_map(reservation)
        {
            memories.push(self.cancel(&id).await);
        }
        memories
    }

    /// Asks until the answer is not "come again", as a well-behaved page does.
    async fn until_settled(&self, due: Duration, key: Option<&str>) -> Vec<Memory> {
        let mut memories = Vec::with_capacity(1);
        let mut due = due;
        for attempt in 0..TRIES {
            let (memory, again) = self.ask_to_reserve(due, key).await;
            memories.push(memory);
            let Some(wait) = again else { break };
            // Spread by half to either side, so that they do not all come back at once.
            sleep(wait.mul_f64(0.5 + dice(self.index, 10 + u64::from(attempt)))).await;
            due = self.began.elapsed();
        }
        memories
    }

    async fn reserve(&self, due: Duration, key: Option<&str>) -> Memory {
        self.ask_to_reserve(due, key).await.0
    }

    fn request(&self, key: Option<&str>) -> Vec<u8> {
        let path = format!("/api/v1/events/{}/seats/reservation/fcfs", self.shop.event);
        let user = self.user();
        let mut headers = vec![("X-User-Id", user.as_str())];
        headers.extend(key.map(|key| ("Idempotency-Key", key)));
        self.shop.target.request("POST", &path, &headers, BODY)
    }

    async fn ask_to_reserve(&self, due: Duration, key: Option<&str>) -> (Memory, Option<Duration>) {
        let request = self.request(key);
        self.ask(due, &request, Asked::Seat, reserved).await
    }

    async fn cancel(&self, id: &str) -> Memory {
        let user = self.user();
        let path = format!("/api/v1/reservations/{id}");
        let request = self.shop.target.request("DELETE", &path, &[("X-User-Id", &user)], "");
        let asked = Asked::Cancellation { id: id.to_owned() };
        let done = Outcome::Cancelled { id: id.to_owned() };
        self.ask(self.began.elapsed(), &request, asked, |_, _| Some(done)).await.0
    }

    async fn ask(
        &self,
        due: Duration,
        request: &[u8],
        asked: Asked,
        success: impl FnOnce(&Value, &Answer<'_>) -> Option<Outcome>,
    ) -> (Memory, Option<Duration>) {
        let sent = self.began.elapsed();
        let asking = timeout(PATIENCE, async {
            let mut connection = self.shop.connect(self.index).await?;
            let answer = connection.ask(request).await?;
            let (read, server) = (read(&answer, success), server(&answer));
            self.shop.put_back(connection);
            Ok::<_, std::io::Error>((read, server))
        });
        let ((outcome, again), server) = match asking.await {
            Ok(Ok(read)) => read,
            // Whether it happened is not known: ask again, as anybody would.
            Ok(Err(_)) | Err(_) => ((Outcome::Unknown(asked), Some(Duration::from_millis(500))), None),
        };
        (Memory { buyer: self.index, due, sent, ended: self.began.elapsed(), outcome, server }, again)
    }

    /// Sends, and is gone before the answer.
    async fn hang_up(&self, due: Duration, key: &str) -> Memory {
        let sent = self.began.elapsed();
        if let Ok(mut connection) = self.shop.connect(self.index).await
            && connection.send(&self.request(Some(key))).await.is_ok()
        {
            sleep(Duration::from_micros((dice(self.index, 3) * 5_000.0) as u64)).await;
        }
        let outcome = Outcome::Unknown(Asked::Seat);
        Memory { buyer: self.index, due, sent, ended: self.began.elapsed(), outcome, server: None }
    }
}

pub fn user(run: &str, index: u64) -> String {
    format!("rush-{run}-{index}")
}

fn reservation(memory: &Memory) -> Option<String> {
    match &memory.outcome {
        Outcome::Reserved { id, .. } => Some(id.clone()),
        _ => None,
    }
}

fn reserved(body: &Value, answer: &Answer<'_>) -> Option<Outcome> {
    Some(Outcome::Reserved {
        seat: body["seat"]["id"].as_u64()?,
        id: body["reservationId"].as_str()?.to_owned(),
        number: body["sequence"].as_u64(),
        replayed: answer.header("Idempotent-Replayed").is_some(),
    })
}

fn server(answer: &Answer<'_>) -> Option<u64> {
    u64::from_str_radix(answer.header("X-Request-Id")?.get(..16)?, 16).ok()
}

fn read(
    answer: &Answer<'_>,
    success: impl FnOnce(&Value, &Answer<'_>) -> Option<Outcome>,
) -> (Outcome, Option<Duration>) {
    let body: Value = serde_json::from_slice(answer.body).unwrap_or_default();
    let status = answer.status;
    if status == 200
        && let Some(outcome) = success(&body, answer)
    {
        return (outcome, None);
    }
    let reason = body["reason"].as_str().unwrap_or("not in the contract").to_owned();
    let again = answer.header("Retry-After").and_then(|s| s.parse().ok()).map(Duration::from_secs);
    (Outcome::Refused { reason, status, number: body["sequence"].as_u64() }, again)
}
