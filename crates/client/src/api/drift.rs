//! What the suite compares with the OpenAPI document: each route with the bodies that this client writes and reads.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answers::{
    AdminReservationView, AuditView, ConfirmedHold, DoneView, HoldView, LineEntry, LineStanding, ListPage,
    NewTokenView, NightsView, RefusalView, ReservationView, ReservedSeat, RoomTypeView, SaleView, Single, TokenView,
};
use super::forms::{BuyerForm, CancellationForm, EventForm, HoldForm, RoomTypeForm, RotationForm, TokenForm};
use super::routes::{self, ApiRoute};
use super::webhooks::{
    NewWebhookView, OverlapForm, ReplayForm, WebhookAttempt, WebhookForm, WebhookReport, WebhookTestView, WebhookView,
};

/// A route, and how an example of each of its bodies is tried.
pub struct DriftCheck {
    pub route: &'static ApiRoute,
    pub answer: Trial,
    /// None: no body is sent.
    pub form: Option<Trial>,
}

/// Why an example does not fit.
pub type Trial = fn(&Value) -> Result<(), String>;

fn reads<T: DeserializeOwned>(example: &Value) -> Result<(), String> {
    serde_json::from_value::<T>(example.clone()).map(drop).map_err(|why| why.to_string())
}

/// What is read and written again is the same: no field is unknown, and none is lost.
fn writes<T: DeserializeOwned + Serialize>(example: &Value) -> Result<(), String> {
    let form: T = serde_json::from_value(example.clone()).map_err(|why| why.to_string())?;
    let written = serde_json::to_value(&form).map_err(|why| why.to_string())?;
    if written == *example { Ok(()) } else { Err(format!("written as {written}")) }
}

/// Every refusal of every route.
pub const REFUSAL: Trial = reads::<RefusalView>;

const fn read<T: DeserializeOwned>(route: &'static ApiRoute) -> DriftCheck {
    DriftCheck { route, answer: reads::<T>, form: None }
}

const fn sent<T: DeserializeOwned, F: DeserializeOwned + Serialize>(route: &'static ApiRoute) -> DriftCheck {
    DriftCheck { route, answer: reads::<T>, form: Some(writes::<F>) }
}

pub static CALLS: &[DriftCheck] = &[
    read::<ListPage<SaleView>>(&routes::EVENTS),
    read::<Single<SaleView>>(&routes::EVENT),
    read::<Single<Value>>(&routes::LAYOUT),
    sent::<ReservedSeat, BuyerForm>(&routes::RESERVE),
    sent::<ReservedSeat, BuyerForm>(&routes::RESERVE_SEAT),
    read::<LineStanding>(&routes::JOIN),
    read::<LineStanding>(&routes::POLL),
    read::<DoneView>(&routes::LEAVE),
    read::<LineEntry>(&routes::ENTER),
    read::<ListPage<ReservationView>>(&routes::RESERVATIONS),
    read::<Single<ReservationView>>(&routes::RESERVATION),
    sent::<DoneView, CancellationForm>(&routes::CANCEL),
    read::<ListPage<RoomTypeView>>(&routes::ROOM_TYPES),
    read::<Single<RoomTypeView>>(&routes::ROOM_TYPE),
    read::<NightsView>(&routes::AVAILABILITY),
    read::<NightsView>(&routes::CALENDAR),
    read::<ListPage<HoldView>>(&routes::HOLDS),
    sent::<Single<HoldView>, HoldForm>(&routes::HOLD),
    read::<Single<HoldView>>(&routes::ONE_HOLD),
    sent::<ConfirmedHold, BuyerForm>(&routes::CONFIRM),
    read::<Single<HoldView>>(&routes::EXTEND),
    sent::<DoneView, CancellationForm>(&routes::GIVE_BACK),
    read::<ListPage<SaleView>>(&routes::ADMIN_EVENTS),
    sent::<Single<SaleView>, EventForm>(&routes::CREATE_EVENT),
    sent::<Single<SaleView>, EventForm>(&routes::AMEND_EVENT),
    read::<Single<SaleView>>(&routes::DELETE_EVENT),
    read::<Single<SaleView>>(&routes::OPEN_EVENT),
    read::<Single<SaleView>>(&routes::PAUSE_EVENT),
    read::<Single<SaleView>>(&routes::RESUME_EVENT),
    read::<Single<SaleView>>(&routes::CLOSE_EVENT),
    read::<Single<SaleView>>(&routes::ARCHIVE_EVENT),
    read::<Single<SaleView>>(&routes::UNARCHIVE_EVENT),
    read::<ListPage<AdminReservationView>>(&routes::ADMIN_RESERVATIONS),
    sent::<DoneView, CancellationForm>(&routes::ADMIN_CANCEL),
    sent::<Single<RoomTypeView>, RoomTypeForm>(&routes::CREATE_ROOM_TYPE),
    sent::<Single<RoomTypeView>, RoomTypeForm>(&routes::AMEND_ROOM_TYPE),
    read::<AuditView>(&routes::AUDIT),
    read::<ListPage<TokenView>>(&routes::TOKENS),
    sent::<NewTokenView, TokenForm>(&routes::CREATE_TOKEN),
    sent::<NewTokenView, RotationForm>(&routes::ROTATE_TOKEN),
    read::<DoneView>(&routes::END_REPLACED_TOKEN),
    read::<DoneView>(&routes::REVOKE_TOKEN),
    read::<ListPage<WebhookView>>(&routes::WEBHOOKS),
    sent::<NewWebhookView, WebhookForm>(&routes::CREATE_WEBHOOK),
    read::<WebhookReport>(&routes::WEBHOOK),
    sent::<WebhookReport, WebhookForm>(&routes::AMEND_WEBHOOK),
    read::<DoneView>(&routes::DELETE_WEBHOOK),
    read::<ListPage<WebhookAttempt>>(&routes::WEBHOOK_DELIVERIES),
    sent::<NewWebhookView, OverlapForm>(&routes::ROTATE_WEBHOOK),
    read::<WebhookTestView>(&routes::TEST_WEBHOOK),
    sent::<DoneView, ReplayForm>(&routes::REPLAY_WEBHOOK),
];
