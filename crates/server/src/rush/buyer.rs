//! One buyer: arrives when due, asks, retries when the answer says so, and remembers everything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::api::answers::ReservedSeat;
use client::api::forms::BuyerForm;
use client::api::{ApiCall, ApiError, calls};
use client::{ClientError, HttpResponse};
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use super::plan::{Habit, RushPlan, uniform};
use super::shop::Shop;
use super::tally::{Memory, RushOutcome, Unanswered};

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

    fn reservation(&self, key: Option<&str>) -> ApiCall<ReservedSeat> {
        let buyer =
            BuyerForm { user_name: Some("Rush".into()), phone: Some("010-1234-5678".into()), ..BuyerForm::default() };
        let mut call = calls::reserve(self.shop.event, &buyer).by(&self.user());
        if let Some(key) = key {
            call = call.key(key);
        }
        match &self.entry {
            Some(entry) => call.entry(entry),
            None => call,
        }
    }

    async fn ask_to_reserve(&self, due: Duration, key: Option<&str>) -> (Memory, Option<Duration>) {
        self.ask(due, self.reservation(key), Unanswered::Seat, reserved).await
    }

    async fn cancel(&self, id: &str) -> Memory {
        let call = calls::cancel(id, None).by(&self.user());
        let asked = Unanswered::Cancellation { id: id.to_owned() };
        let done = RushOutcome::Cancelled { id: id.to_owned() };
        self.ask(self.began.elapsed(), call, asked, |_, _| done).await.0
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        due: Duration,
        call: ApiCall<T>,
        asked: Unanswered,
        success: impl FnOnce(T, &HttpResponse) -> RushOutcome,
    ) -> (Memory, Option<Duration>) {
        let sent = self.began.elapsed();
        let asking = timeout(PATIENCE, async {
            let mut connection = self.shop.connect(self.index).await?;
            let answer = connection.ask(call.request()).await?;
            let (read, server) = (read(&call, &answer, success), server(&answer));
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
            let _ = timeout(patience, connection.ask(self.reservation(Some(key)).request())).await;
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

fn reserved(sold: ReservedSeat, answer: &HttpResponse) -> RushOutcome {
    RushOutcome::Reserved {
        seat: sold.seat.id.into(),
        id: sold.reservation_id,
        number: sold.sequence,
        replayed: answer.header("Idempotent-Replayed").is_some(),
    }
}

fn server(answer: &HttpResponse) -> Option<u64> {
    u64::from_str_radix(answer.header("X-Request-Id")?.get(..16)?, 16).ok()
}

fn read<T: DeserializeOwned>(
    call: &ApiCall<T>,
    answer: &HttpResponse,
    success: impl FnOnce(T, &HttpResponse) -> RushOutcome,
) -> (RushOutcome, Option<Duration>) {
    match call.read(answer) {
        Ok(done) => (success(done, answer), None),
        Err(ApiError::Refused(told)) => {
            let (status, again) = (told.status, told.retry_after.map(Duration::from_secs));
            (RushOutcome::Refused { reason: told.refusal.reason, status, number: told.refusal.sequence }, again)
        }
        Err(_) => {
            let reason = "not in the contract".to_owned();
            (RushOutcome::Refused { reason, status: answer.status, number: None }, None)
        }
    }
}
