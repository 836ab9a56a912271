//! The literal design of the first documents: a number from Redis is the seat; the seat is read, then taken
//! by a conditional UPDATE. Three round trips and a flush for every request.

use redis::aio::MultiplexedConnection;
use salvo::prelude::*;

use super::form::{self, Form};
use super::seats::Seats;

#[derive(Clone)]
struct Seed {
    seats: Seats,
    redis: MultiplexedConnection,
}

impl Seed {
    /// The seat. None: it does not exist, or another request was faster.
    async fn take(&self, form: &Form) -> Option<i32> {
        let mut redis = self.redis.clone();
        let seat: i32 = redis::cmd("INCR").arg("fcfs:seq").query_async(&mut redis).await.expect("a number");
        let database = self.seats.connection().await;
        let look = database.prepare_cached("SELECT status FROM seats WHERE id = $1").await.expect("a statement");
        let status: bool = database.query_opt(&look, &[&seat]).await.expect("an answer")?.get(0);
        if status {
            return None;
        }
        let take = "UPDATE seats SET status = TRUE, reserved_by = $2, phone = $3, updated_at = now()
                    WHERE id = $1 AND status = FALSE";
        let take = database.prepare_cached(take).await.expect("a statement");
        let phone = form.buyer.phone.as_deref();
        let taken = database.execute(&take, &[&seat, &form.user.as_str(), &phone]).await.expect("an answer");
        (taken == 1).then_some(seat)
    }
}

#[async_trait]
impl Handler for Seed {
    async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
        let Some(form) = form::read(request).await else {
            return form::refuse(response, StatusCode::BAD_REQUEST);
        };
        match self.take(&form).await {
            Some(seat) => form::answer(response, seat as u32),
            None => form::refuse(response, StatusCode::CONFLICT),
        }
    }
}

pub fn serve(database_url: &str, redis_url: &str) {
    super::serve(async {
        let redis = redis::Client::open(redis_url).expect("a sound address");
        let redis = redis.get_multiplexed_async_connection().await.expect("Redis");
        Seed { seats: Seats::prepare(database_url).await, redis }
    });
}
