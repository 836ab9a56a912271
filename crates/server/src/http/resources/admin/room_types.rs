//! Creating and changing room types.

use std::sync::Arc;

use rules::history::{AdminName, RequestOrigin};
use rules::ids::printable;
use rules::outcome::{Done, FieldError, Outcome, Problem, Refusal};
use rules::room_type::{
    DESCRIPTION_CHARS, NewRoomType, ROOM_NAME_CHARS, ROOMS_MOST, RoomAction, RoomType, RoomTypeAmendment,
};

use super::fields::AdminFields;
use super::orders;
use super::search::listed;
use super::subject_lists::ListedRoomTypes;
use crate::app::App;
use crate::auth::{Admin, Viewer};
use crate::http::plumbing::body::{Json, SentBody};
use crate::http::plumbing::call::Call;
use crate::http::plumbing::json::Node;
use crate::http::plumbing::operation::Handled;
use crate::http::resources::room_types as public;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::answers::{RoomTypeAnswer, RoomTypesAnswer};
use crate::path::{ChangeRequest, serve};
use crate::zones;

/// What an operator sends about a room type. In a change, null removes description, price or currency.
struct RoomTypeFields<'a>(AdminFields<'a, 6>);

impl<'a> RoomTypeFields<'a> {
    fn read(sent: &'a [u8]) -> Result<RoomTypeFields<'a>, Refusal> {
        let names = ["name", "totalQuantity", "timeZone", "description", "price", "currency"];
        AdminFields::read(sent, names).map(RoomTypeFields)
    }

    fn total(&self) -> Result<Option<u32>, Refusal> {
        self.0.whole("totalQuantity", 0, ROOMS_MOST)
    }

    fn time_zone(&self) -> Result<Option<Box<str>>, Refusal> {
        self.0.given("timeZone").map(zones::name_sent).transpose()
    }

    fn description(&self) -> Result<Option<Option<Box<str>>>, Refusal> {
        self.0.removable("description", description).map(|sent| sent.map(Option::flatten))
    }

    fn price(&self) -> Result<Option<Option<Box<str>>>, Refusal> {
        self.0.removable("price", Node::price)
    }

    fn currency(&self) -> Result<Option<Option<Box<str>>>, Refusal> {
        self.0.removable("currency", orders::currency)
    }
}

/// Several lines, each of them printable; blank: none.
fn description(node: &Node<'_>) -> Result<Option<Box<str>>, Refusal> {
    let text = node.text()?;
    let lines = text.split('\n').all(|line| line.trim().is_empty() || printable(line.trim(), DESCRIPTION_CHARS));
    if text.chars().count() > DESCRIPTION_CHARS {
        return Err(FieldError::refused("description", Problem::Length { most: DESCRIPTION_CHARS }));
    }
    if !lines {
        return Err(FieldError::refused("description", Problem::Unprintable));
    }
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.into()))
}

fn new_room_type(sent: &[u8], by: AdminName, origin: RequestOrigin) -> Result<NewRoomType, Refusal> {
    let fields = RoomTypeFields::read(sent)?;
    Ok(NewRoomType {
        by,
        origin,
        name: fields.0.text("name", ROOM_NAME_CHARS)?,
        total: fields.total()?.ok_or_else(|| FieldError::refused("totalQuantity", Problem::Missing))?,
        time_zone: fields.time_zone()?.unwrap_or_else(|| "UTC".into()),
        description: fields.description()?.flatten(),
        price: fields.price()?.flatten(),
        currency: fields.currency()?.flatten(),
    })
}

pub async fn create(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let new = new_room_type(&call.sent, call.caller.name(), call.request.origin())?;
    let made = app.ledger.create_room_type(new).await?;
    tracing::info!(room_type = %made.id, rooms = made.total, "a room type was made");
    Ok(Reply::created(&RoomTypeAnswer::of(&made)))
}

pub async fn list(app: Arc<App>, call: Call<Viewer>) -> Handled {
    listed(ListedRoomTypes { app }, &call.request, |room_types, next| {
        Reply::ok(&RoomTypesAnswer { success: Succeeded, room_types, next })
    })
    .await
}

pub async fn one(app: Arc<App>, call: Call<Viewer>) -> Handled {
    public::show(&app, &call.request).await
}

pub async fn amend(app: Arc<App>, Call { request, caller: admin, sent }: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = RoomTypeFields::read(&sent)?;
    let amendment = RoomTypeAmendment {
        name: fields.0.new_text("name", ROOM_NAME_CHARS)?,
        description: fields.description()?,
        price: fields.price()?,
        currency: fields.currency()?,
        time_zone: fields.time_zone()?,
        total: fields.total()?,
    };
    let id = public::id_in_path(&request)?;
    let zone = app.lanes.rooms.find(id).await?.room_type().time_zone.clone();
    let today = zones::today(&zone, app.ledger.wall());
    let (action, origin) = (RoomAction::Amend { amendment, today }, request.origin());
    let asks = ChangeRequest { origin, ..ChangeRequest::new(id, admin.actor(), action) };
    let answer = serve::<RoomType>(&app, asks).await?.answer;
    match &answer.outcome {
        Outcome::Done(Done::RoomsChanged(room_type)) => Ok(Reply::ok(&RoomTypeAnswer::of(room_type))),
        Outcome::Refused(refusal) => Err(refusal.clone().into()),
        Outcome::Done(_) => Err(Refusal::Internal.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_field() {
        let good = r#"{"name":"Double","totalQuantity":5,"timeZone":"Asia/Seoul","description":"A bed\nand a view","price":129000.5}"#;
        let made = new_room_type(good.as_bytes(), AdminName::default(), RequestOrigin::default()).unwrap();
        assert_eq!((made.total, &*made.time_zone, made.price.as_deref()), (5, "Asia/Seoul", Some("129000.5")));
        assert_eq!(
            &*new_room_type(br#"{"name":"x","totalQuantity":0}"#, AdminName::default(), RequestOrigin::default())
                .unwrap()
                .time_zone,
            "UTC"
        );
        for (sent, named) in [
            (r#"{"totalQuantity":5}"#, "name"),
            (r#"{"name":"x"}"#, "totalQuantity"),
            (r#"{"name":"x","totalQuantity":-1}"#, "totalQuantity"),
            (r#"{"name":"x","totalQuantity":1.5}"#, "totalQuantity"),
            (r#"{"name":"x","totalQuantity":1000001}"#, "totalQuantity"),
            (r#"{"name":"x","totalQuantity":1,"timeZone":"Seoul"}"#, "timeZone"),
            (r#"{"name":"x","totalQuantity":1,"price":-1}"#, "price"),
            (r#"{"name":"x","totalQuantity":1,"price":"1"}"#, "price"),
            (r#"{"name":"x","totalQuantity":1,"currency":"won"}"#, "currency"),
            (r#"{"name":"x","totalQuantity":1,"price":1e309}"#, "price"),
            (r#"{"name":"x","totalQuantity":1,"description":"a\u0007"}"#, "description"),
            (r#"{"name":"x\u0000","totalQuantity":1}"#, "name"),
            (r#"{"name":"x","totalQuantity":1,"timezone":"Asia/Seoul"}"#, "timezone"),
        ] {
            match new_room_type(sent.as_bytes(), AdminName::default(), RequestOrigin::default()) {
                Err(Refusal::Invalid(fault)) => assert_eq!(fault.field, named, "{sent}"),
                other => panic!("{sent}: {other:?}"),
            }
        }
    }
}
