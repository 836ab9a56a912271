//! The server as the crowd sees it: paths, connections, and the few admin calls that the crowd needs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;

use client::api::forms::EventForm;
use client::api::{ApiCall, ApiError, calls};
use client::{ClientError, Connection, Target};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::plan::{EventChoice, RushPlan};

/// Open idle connections. The newest is used first, so that few are used when few suffice.
pub struct Shop {
    pub target: Target,
    pub event: i64,
    pub seats: u64,
    /// The crowd stands in line first.
    pub waiting_room: bool,
    admin_token: Option<String>,
    idle: Mutex<Vec<Connection>>,
}

impl Shop {
    /// Finds the sale, or creates one.
    pub async fn visit(plan: &RushPlan) -> Result<Shop, String> {
        let mut shop = Shop {
            target: plan.target.clone(),
            event: 0,
            seats: 0,
            waiting_room: false,
            admin_token: plan.admin_token.clone(),
            idle: Mutex::default(),
        };
        let event = match plan.sale {
            EventChoice::Event(id) => {
                let found = shop.find(calls::event(id)).await?;
                found.ok_or_else(|| format!("event {id} does not exist"))?
            }
            EventChoice::Make { seats, places } => {
                let form = EventForm {
                    name: Some("Rush".into()),
                    seats: Some(seats.into()),
                    waiting_room: places.map(|places| json!({ "maxConcurrent": places })),
                    rehearsal: Some(true),
                    ..EventForm::default()
                };
                shop.admin(calls::create_event(&form)).await?
            }
        };
        let event = event.item;
        shop.event = event.id;
        shop.seats = event.remaining_seats.into();
        shop.waiting_room = event.has_waiting_room();
        Ok(shop)
    }

    /// Removes the event that the rush created, with what it sold.
    pub async fn delete(&self) -> Result<(), String> {
        self.admin(calls::delete_event(self.event, true)).await.map(drop)
    }

    pub fn has_admin(&self) -> bool {
        self.admin_token.is_some()
    }

    /// A connection for this buyer: an idle one, or a new one from an address of its own.
    pub async fn connect(&self, buyer: u64) -> Result<Connection, ClientError> {
        let idle = self.idle.lock().unwrap_or_else(|p| p.into_inner()).pop();
        match idle {
            Some(connection) => Ok(connection),
            None if self.target.is_loopback() && self.target.address.is_ipv4() => {
                Connection::open_from(&self.target, loopback(buyer)).await
            }
            None => Connection::open(&self.target).await,
        }
    }

    pub fn put_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(|p| p.into_inner()).push(connection);
    }

    pub async fn admin<T: DeserializeOwned>(&self, call: ApiCall<T>) -> Result<T, String> {
        let token = self.admin_token.as_ref().ok_or("this needs ADMIN_TOKEN, or the token in the data folder")?;
        let found = self.find(call.bearer(token)).await?;
        found.ok_or_else(|| format!("{} says that it does not exist", self.target))
    }

    /// None: not found.
    async fn find<T: DeserializeOwned>(&self, call: ApiCall<T>) -> Result<Option<T>, String> {
        let reach = |e: ClientError| format!("{} cannot be reached: {e}", self.target);
        let mut connection = self.connect(0).await.map_err(reach)?;
        let answer = connection.ask(call.request()).await.map_err(reach)?;
        self.put_back(connection);
        match call.read(&answer) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.reason() == Some("not_found") => Ok(None),
            Err(ApiError::Refused(told)) => {
                Err(format!("{} says {}: {}", self.target, told.status, told.refusal.message))
            }
            Err(other) => Err(format!("{}: {other}", self.target)),
        }
    }
}

/// One of the many addresses of 127.0.0.0/8.
fn loopback(buyer: u64) -> IpAddr {
    let mixed = (buyer.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32;
    let host = (mixed % 0x00FF_FFFD) + 1;
    IpAddr::V4(Ipv4Addr::from(0x7F00_0000 | host))
}
