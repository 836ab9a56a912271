//! If the event has a waiting room, the crowd stands in line as a well-behaved page does: it joins, polls
//! at the interval it is given, and enters when it is its turn.

use std::time::Duration;

use client::{ClientError, HttpRequest};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::buyer::{PATIENCE, RushBuyer};
use super::plan::uniform;
use super::tally::{Memory, RushOutcome};

/// A buyer gives up in line after this long.
const STANDS_MOST: Duration = Duration::from_secs(3_600);
/// Wait after a broken connection or a 503.
const AGAIN: Duration = Duration::from_millis(500);

impl RushBuyer {
    /// The token of an entry, or how standing in line ended.
    pub(super) async fn stand_in_line(&self) -> Result<String, Memory> {
        let (mut joined, mut ticket) = (false, None::<String>);
        let mut step = 0;
        while self.began.elapsed() < STANDS_MOST {
            step += 1;
            let sent = self.began.elapsed();
            let (status, body) = self.in_line(if joined { "GET" } else { "POST" }, "", ticket.as_deref()).await;
            joined = status == 200 || (joined && status != 404);
            ticket = body["ticket"].as_str().map(str::to_owned).or(ticket);
            let wait = match body["status"].as_str() {
                Some("ready" | "entered") => {
                    let (status, body) = self.in_line("POST", "/enter", ticket.as_deref()).await;
                    if let (200, Some(token)) = (status, body["token"].as_str()) {
                        return Ok(token.to_owned());
                    }
                    AGAIN
                }
                Some("sold_out") => return Err(self.remember(sent, "sold_out", 409)),
                Some(_) => Duration::from_secs(body["pollAfter"].as_u64().unwrap_or(1)),
                None if status == 503 => body["retryAfter"].as_u64().map_or(AGAIN, Duration::from_secs),
                None if matches!(status, 404 | 0) => AGAIN,
                None => {
                    return Err(self.remember(sent, body["reason"].as_str().unwrap_or("not in the contract"), status));
                }
            };
            // With jitter, so that they do not all come at once.
            sleep(wait.mul_f64(0.8 + 0.4 * uniform(self.index, 100 + step))).await;
        }
        Err(self.remember(self.began.elapsed(), "not in the contract", 0))
    }

    /// One call of the line: its status and body; 0 if the connection broke.
    async fn in_line(&self, method: &str, path: &str, ticket: Option<&str>) -> (u16, Value) {
        let path = format!("/api/v1/events/{}/queue{path}", self.shop.event);
        let mut request = HttpRequest::new(method, &path).header("X-User-Id", self.user());
        if let Some(ticket) = ticket {
            request = request.header("X-Queue-Ticket", ticket);
        }
        let asking = timeout(PATIENCE, async {
            let mut connection = self.shop.connect(self.index).await?;
            let answer = connection.ask(request).await?;
            self.shop.put_back(connection);
            Ok::<_, ClientError>((answer.status, answer.json().unwrap_or_default()))
        });
        asking.await.unwrap_or(Err(ClientError::Timeout(PATIENCE))).unwrap_or_default()
    }

    fn remember(&self, sent: Duration, reason: &str, status: u16) -> Memory {
        let outcome = RushOutcome::Refused { reason: reason.to_owned(), status, number: None };
        Memory { buyer: self.index, due: sent, sent, ended: self.began.elapsed(), outcome, server: None }
    }
}
