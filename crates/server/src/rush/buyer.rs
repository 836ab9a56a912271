//! One buyer: arrives when due, asks, retries when the answer says so, and remembers everything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{ClientError, HttpRequest, HttpResponse};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::plan::{Habit, RushPlan, uniform};
use super::shop::Shop;
use super::tally::{Memory, RushOutcome, Unanswered};

const BODY: &str = r#"{"userName":"Rush","phone":"010-1234-5678"}"#;
/// A buyer asks at most this many times while the answer is "come again".
const TRIES: u32 = 8;
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct RushBuyer {
    pub plan: Arc<RushPlan>,
    pub shop: Arc<Shop>,
    pub run: Arc<str>,
    pub began: Instant,
    pub index: u64,
    /// The entry to the waiting room, where there is one.
    pub entry: Option<String>,
}

impl RushBuyer {
    pub fn user(&self) -> String {
        user(&self.run, self.index)
    }

    /// All requests of this buyer, with how they ended.
    pub async fn buy(mut self) -> Vec<Memory> {
        let mut due = self.plan.due(self.index);
        if self.shop.waiting_room {
            match self.stand_in_line().await {
                Ok(entry) => self.entry = Some(entry),
                Err(told) => return vec![told],
            }
            due = self.began.elapsed();
        }
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
            // Jitter of half the wait to either side, so that they do not all come back at once.
            sleep(wait.mul_f64(0.5 + uniform(self.index, 10 + u64::from(attempt)))).await;
            due = self.began.elapsed();
        }
        memories
    }

    async fn reserve(&self, due: Duration, key: Option<&str>) -> Memory {
        self.ask_to_reserve(due, key).await.0
    }

    fn request(&self, key: Option<&str>) -> HttpRequest {
        let path = format!("/api/v1/events/{}/seats/reservation/fcfs", self.shop.event);
        let mut request = HttpRequest::post(&path).header("X-User-Id", self.user()).json(BODY);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        match &self.entry {
            Some(entry) => request.header("X-Entry-Token", entry),
            None => request,
        }
    }

    async fn ask_to_reserve(&self, due: Duration, key: Option<&str>) -> (Memory, Option<Duration>) {
        self.ask(due, self.request(key), Unanswered::Seat, reserved).await
    }

    async fn cancel(&self, id: &str) -> Memory {
        let request =
            HttpRequest::new("DELETE", &format!("/api/v1/reservations/{id}")).header("X-User-Id", self.user());
        let asked = Unanswered::Cancellation { id: id.to_owned() };
        let done = RushOutcome::Cancelled { id: id.to_owned() };
        self.ask(self.began.elapsed(), request, asked, |_, _| Some(done)).await.0
    }

    async fn ask(
        &self,
        due: Duration,
        request: HttpRequest,
        asked: Unanswered,
        success: impl FnOnce(&Value, &HttpResponse) -> Option<RushOutcome>,
    ) -> (Memory, Option<Duration>) {
        let sent = self.began.elapsed();
        let asking = timeout(PATIENCE, async {
            let mut connection = self.shop.connect(self.index).await?;
            let answer = connection.ask(request).await?;
            let (read, server) = (read(&answer, success), server(&answer));
            self.shop.put_back(connection);
            Ok::<_, ClientError>((read, server))
        });
        let ((outcome, again), server) = match asking.await {
            Ok(Ok(read)) => read,
            // Whether it happened is not known: ask again, as a real user would.
            Ok(Err(_)) | Err(_) => ((RushOutcome::Unknown(asked), Some(Duration::from_millis(500))), None),
        };
        (Memory { buyer: self.index, due, sent, ended: self.began.elapsed(), outcome, server }, again)
    }

    /// Sends the request and hangs up at most 5 ms later, answered or not.
    async fn hang_up(&self, due: Duration, key: &str) -> Memory {
        let sent = self.began.elapsed();
        if let Ok(mut connection) = self.shop.connect(self.index).await {
            let patience = Duration::from_micros((uniform(self.index, 3) * 5_000.0) as u64);
            let _ = timeout(patience, connection.ask(self.request(Some(key)))).await;
        }
        let outcome = RushOutcome::Unknown(Unanswered::Seat);
        Memory { buyer: self.index, due, sent, ended: self.began.elapsed(), outcome, server: None }
    }
}

pub fn user(run: &str, index: u64) -> String {
    format!("rush-{run}-{index}")
}

fn reservation(memory: &Memory) -> Option<String> {
    match &memory.outcome {
        RushOutcome::Reserved { id, .. } => Some(id.clone()),
        _ => None,
    }
}

fn reserved(body: &Value, answer: &HttpResponse) -> Option<RushOutcome> {
    Some(RushOutcome::Reserved {
        seat: body["seat"]["id"].as_u64()?,
        id: body["reservationId"].as_str()?.to_owned(),
        number: body["sequence"].as_u64(),
        replayed: answer.header("Idempotent-Replayed").is_some(),
    })
}

fn server(answer: &HttpResponse) -> Option<u64> {
    u64::from_str_radix(answer.header("X-Request-Id")?.get(..16)?, 16).ok()
}

fn read(
    answer: &HttpResponse,
    success: impl FnOnce(&Value, &HttpResponse) -> Option<RushOutcome>,
) -> (RushOutcome, Option<Duration>) {
    let body = answer.json().unwrap_or_default();
    let status = answer.status;
    if status == 200
        && let Some(outcome) = success(&body, answer)
    {
        return (outcome, None);
    }
    let reason = body["reason"].as_str().unwrap_or("not in the contract").to_owned();
    let again = answer.header("Retry-After").and_then(|s| s.parse().ok()).map(Duration::from_secs);
    (RushOutcome::Refused { reason, status, number: body["sequence"].as_u64() }, again)
}
