//! What operators do: make events, open and close sales, look at reservations.

pub mod events;
pub mod reservations;
pub mod room_types;
pub mod waiting_room;

use rules::outcome::Refusal;
use salvo::hyper::body::Bytes;

use super::asked::Asked;
use super::body::{self, ADMIN_BODY_MOST};
use crate::app::App;
use crate::auth;

/// Kind and announced length first, then who asks: strangers cannot make us read a large body.
async fn sent(app: &App, asked: &mut Asked) -> Result<Bytes, Refusal> {
    body::json_form(asked, ADMIN_BODY_MOST)?;
    auth::admin(&app.admin_token, &asked.headers)?;
    body::bytes(asked, ADMIN_BODY_MOST).await
}
