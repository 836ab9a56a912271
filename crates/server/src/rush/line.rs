//! If the event has a waiting room, the crowd stands in line as a well-behaved page does: it joins, polls
//! at the interval it is given, and enters when it is its turn.

use std::time::Duration;

use client::ClientError;
use client::api::{ApiCall, ApiError, calls};
use serde::de::DeserializeOwned;
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
            let call = if joined { calls::poll(self.shop.event) } else { calls::join(self.shop.event) };
            let wait = match self.in_line(call, ticket.as_deref()).await {
                Some(Ok(standing)) => {
                    joined = true;
                    ticket = standing.ticket.or(ticket);
                    match standing.status.as_str() {
                        "ready" | "entered" => {
                            let entered = self.in_line(calls::enter(self.shop.event), ticket.as_deref()).await;
                            match entered {
                                Some(Ok(entry)) => return Ok(entry.token),
                                _ => AGAIN,
                            }
                        }
                        "sold_out" => return Err(self.remember(sent, "sold_out", 409)),
                        _ => Duration::from_secs(standing.poll_after.unwrap_or(1)),
                    }
                }
                Some(Err(ApiError::Refused(told))) if told.status == 503 => {
                    told.retry_after.map_or(AGAIN, Duration::from_secs)
                }
                Some(Err(ApiError::Refused(told))) if told.status == 404 => {
                    joined = false;
                    AGAIN
                }
                Some(Err(ApiError::Refused(told))) => {
                    return Err(self.remember(sent, &told.refusal.reason, told.status));
                }
                Some(Err(_)) => return Err(self.remember(sent, "not in the contract", 0)),
                // The connection broke.
                None => AGAIN,
            };
            // With jitter, so that they do not all come at once.
            sleep(wait.mul_f64(0.8 + 0.4 * uniform(self.index, 100 + step))).await;
        }
        Err(self.remember(self.began.elapsed(), "not in the contract", 0))
    }

    /// One call of the line; none: it got no answer.
    async fn in_line<T: DeserializeOwned>(
        &self,
        call: ApiCall<T>,
        ticket: Option<&str>,
    ) -> Option<Result<T, ApiError>> {
        let call = call.by(&self.user());
        let call = match ticket {
            Some(ticket) => call.ticket(ticket),
            None => call,
        };
        let asking = timeout(PATIENCE, async {
            let mut connection = self.shop.connect(self.index).await?;
            let answer = connection.ask(call.request()).await?;
            self.shop.put_back(connection);
            Ok::<_, ClientError>(call.read(&answer))
        });
        asking.await.ok()?.ok()
    }

    fn remember(&self, sent: Duration, reason: &str, status: u16) -> Memory {
        let outcome = RushOutcome::Refused { reason: reason.to_owned(), status, number: None };
        Memory { buyer: self.index, due: sent, sent, ended: self.began.elapsed(), outcome, server: None }
    }
}
