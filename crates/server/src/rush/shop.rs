//! The server as the crowd sees it: paths, connections, and the few admin calls that the crowd needs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;

use client::{ClientError, Connection, HttpRequest, Target};
use serde_json::{Value, json};

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
                let found = shop.find(HttpRequest::get(&format!("/api/v1/events/{id}"))).await?;
                found.ok_or_else(|| format!("event {id} does not exist"))?
            }
            EventChoice::Make { seats, places } => {
                let room = places.map(|places| json!({ "maxConcurrent": places }));
                let body = json!({ "name": "Rush", "seats": seats, "waitingRoom": room });
                shop.admin(HttpRequest::post("/api/v1/admin/events").json(body.to_string())).await?
            }
        };
        let event = &event["event"];
        shop.event = event["id"].as_i64().ok_or("the server showed no event")?;
        shop.seats = event["remainingSeats"].as_u64().ok_or("the server showed no seats")?;
        // Its operator sees the settings, everybody else whether there is one.
        shop.waiting_room = event["waitingRoom"] == true || event["waitingRoom"].is_object();
        Ok(shop)
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

    pub async fn admin(&self, request: HttpRequest) -> Result<Value, String> {
        let token = self.admin_token.as_ref().ok_or("this needs ADMIN_TOKEN, or the token in the data folder")?;
        self.ask(request.header("Authorization", format!("Bearer {token}"))).await
    }

    async fn ask(&self, request: HttpRequest) -> Result<Value, String> {
        self.find(request).await?.ok_or_else(|| format!("{} says that it does not exist", self.target))
    }

    /// None: not found.
    async fn find(&self, request: HttpRequest) -> Result<Option<Value>, String> {
        let reach = |e: ClientError| format!("{} cannot be reached: {e}", self.target);
        let mut connection = self.connect(0).await.map_err(reach)?;
        let answer = connection.ask(request).await.map_err(reach)?;
        let body = answer.json().map_err(|e| format!("{}: {e}", self.target))?;
        if answer.status == 404 && body["reason"] == "not_found" {
            self.put_back(connection);
            return Ok(None);
        }
        if answer.status >= 400 {
            return Err(format!("{} says {}: {}", self.target, answer.status, body["message"]));
        }
        self.put_back(connection);
        Ok(Some(body))
    }
}

/// One of the many addresses of 127.0.0.0/8.
fn loopback(buyer: u64) -> IpAddr {
    let mixed = (buyer.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32;
    let host = (mixed % 0x00FF_FFFD) + 1;
    IpAddr::V4(Ipv4Addr::from(0x7F00_0000 | host))
}
