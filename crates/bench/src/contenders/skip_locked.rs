//! The usual advice for queues in PostgreSQL: each request takes the first row that is not locked.

use salvo::prelude::*;

use super::form::{self, Form};
use super::seats::Seats;

#[derive(Clone)]
struct SkipLocked {
    seats: Seats,
}

const TAKE: &str = "UPDATE seats SET status = TRUE, reserved_by = $1, phone = $2, updated_at = now()
    WHERE id = (SELECT id FROM seats WHERE NOT status ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id";

impl SkipLocked {
    async fn take(&self, form: &Form) -> Option<i32> {
        let database = self.seats.connection().await;
        let take = database.prepare_cached(TAKE).await.expect("a statement");
        let phone = form.buyer.phone.as_deref();
        let row = database.query_opt(&take, &[&form.user.as_str(), &phone]).await.expect("an answer")?;
        Some(row.get(0))
    }
}

#[async_trait]
impl Handler for SkipLocked {
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

pub fn serve(database_url: &str) {
    super::serve(async { SkipLocked { seats: Seats::prepare(database_url).await } });
}
