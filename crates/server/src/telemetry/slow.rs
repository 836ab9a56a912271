//! One log line for a slow request, with the time of each step. At most one a second: in an overload all are slow.

use std::time::{Duration, Instant};

use salvo::http::HeaderValue;
use stores::limited;

use super::journey::{PATH_STEPS, RequestMarks};

/// How a request ended, for its line.
pub struct EndedRequest<'a> {
    /// The id in its answer.
    pub trace: &'a HeaderValue,
    pub method: &'static str,
    pub operation: &'static str,
    pub outcome: &'static str,
    pub status: u16,
    pub began: Instant,
    pub ended: Instant,
    pub marks: RequestMarks,
}

impl EndedRequest<'_> {
    /// Without the time for which the server waited for the client.
    pub fn took(&self) -> Duration {
        self.ended.saturating_duration_since(self.began).saturating_sub(self.marks.body)
    }

    pub fn is_slow(&self, limit: Option<Duration>) -> bool {
        limit.is_some_and(|limit| self.took() >= limit)
    }

    pub fn log(&self) {
        let mut took = [None; PATH_STEPS.len()];
        for step in self.marks.steps(self.began, self.ended) {
            if let Some(place) = PATH_STEPS.iter().position(|name| *name == step.name) {
                took[place] = Some(ms(step.to.saturating_duration_since(step.from)));
            }
        }
        let [read_ms, arrive_ms, batch_ms, admit_ms, decide_ms, commit_ms, publish_ms, respond_ms] = took;
        limited!(
            warn,
            trace = self.trace.to_str().unwrap_or_default(),
            operation = self.operation,
            outcome = self.outcome,
            status = self.status,
            subject = self.marks.lane.map(|(subject, _)| tracing::field::display(subject)),
            total_ms = ms(self.ended.saturating_duration_since(self.began)),
            body_ms = ms(self.marks.body),
            read_ms,
            arrive_ms,
            batch_ms,
            admit_ms,
            decide_ms,
            commit_ms,
            publish_ms,
            respond_ms,
            "a request was slow"
        );
    }
}

/// With one digit behind the point.
fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_the_client_sent_its_body_does_not_count() {
        let began = Instant::now();
        let request = |total, body| {
            EndedRequest {
                trace: &HeaderValue::from_static("t"),
                method: "POST",
                operation: "reserve",
                outcome: "reserved",
                status: 200,
                began,
                ended: began + Duration::from_millis(total),
                marks: RequestMarks { body: Duration::from_millis(body), lane: None },
            }
            .is_slow(Some(Duration::from_millis(1_000)))
        };
        assert!(request(1_000, 0) && request(4_000, 3_000));
        assert!(!request(999, 0) && !request(4_000, 3_500));
    }
}
