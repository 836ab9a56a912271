//! First come, first served: the lowest free seat of an event.

use std::sync::Arc;

use rules::command::Buyer;
use rules::history::Actor;
use rules::outcome::{Done, Fault, Outcome, Problem, Refusal};
use rules::phone::{self, Reading};
use serde::Deserialize;

use super::asked::Asked;
use super::body::{self, BODY_MOST};
use super::endpoint::Handled;
use super::respond::{Refused, Reply};
use super::wire::ReservedBody;
use crate::app::App;
use crate::auth;
use crate::reserve::{Told, reserve};

pub const BUYER_NAME_CHARS: usize = 100;

#[derive(Deserialize)]
struct BuyerBody {
    #[serde(rename = "userName")]
    user_name: Option<String>,
    phone: Option<String>,
}

const FIELDS: &[(&str, &str)] = &[("userName", "text"), ("phone", "text")];

pub async fn post(app: Arc<App>, mut asked: Asked) -> Handled {
    let result = ask(&app, &mut asked).await;
    let code = match &result {
        Ok(told) => told.answer.outcome.code(),
        Err(refusal) => refusal.code(),
    };
    app.metrics.outcome(code);
    tell(result?)
}

async fn ask(app: &App, asked: &mut Asked) -> Result<Told, Refusal> {
    let body = body::json_bytes(asked, BODY_MOST).await?;
    let user = asked.user(app)?;
    let buyer = buyer(&body, &app.settings.default_region)?;
    let key = asked.key(&body)?;
    reserve(app, asked.event()?, Actor::User(user), auth::address(&asked.peer), key, buyer).await
}

fn tell(told: Told) -> Handled {
    match &told.answer.outcome {
        Outcome::Done(Done::Reserved(reserved)) => {
            Ok(Reply::ok(&ReservedBody::of(reserved, &told.hall)).replayed(told.answer.replayed))
        }
        Outcome::Refused(refusal) => Err(Refused::told(refusal.clone(), &told)),
        Outcome::Done(_) => Err(Refusal::Internal.into()),
    }
}

fn buyer(body: &[u8], region: &str) -> Result<Buyer, Refusal> {
    let sent: BuyerBody = body::object(body, FIELDS)?;
    let name = body::text("userName", sent.user_name.as_deref(), BUYER_NAME_CHARS)?;
    let phone = sent.phone.ok_or_else(|| Fault::refused("phone", Problem::Missing))?;
    Ok(Buyer { name: Some(name), phone: Some(e164(&phone, region)?) })
}

/// The usual forms at once; the forms of other regions by that region's tables.
fn e164(text: &str, region: &str) -> Result<Box<str>, Refusal> {
    let not_a_phone = || Fault::refused("phone", Problem::NotAPhone);
    match phone::read(text, region) {
        Reading::Number(number) => Ok(number.into()),
        Reading::Impossible => Err(not_a_phone()),
        Reading::National => {
            let country = region.parse::<phonenumber::country::Id>().ok();
            let number = phonenumber::parse(country, text).map_err(|_| not_a_phone())?;
            let e164 = number.format().mode(phonenumber::Mode::E164).to_string();
            match phone::read(&e164, region) {
                Reading::Number(number) => Ok(number.into()),
                Reading::Impossible | Reading::National => Err(not_a_phone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_regions_by_the_library() {
        assert_eq!(e164("(415) 555-2671", "US").unwrap().as_ref(), "+14155552671");
        assert_eq!(e164("03-1234-5678", "JP").unwrap().as_ref(), "+81312345678");
        assert!(e164("12", "US").is_err());
        assert_eq!(e164("010-1234-5678", "KR").unwrap().as_ref(), "+821012345678");
    }
}
