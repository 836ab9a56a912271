//! Holds as they are usually implemented: one SQL transaction per hold, which locks the rows of its nights
//! in order, checks them, increments the counts and inserts.

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use http_body_util::{BodyExt, Limited};
use rules::holds::is_hold_key;
use rules::ids::User;
use rules::nights::{Dates, Night};
use salvo::http::header::CONTENT_TYPE;
use salvo::http::{HeaderValue, ResBody};
use salvo::prelude::*;
use serde_json::{Value, json};
use server::http::plumbing::body::BODY_MOST;
use tokio_postgres::NoTls;

use crate::product::{FIRST_DAY, LAST_DAY, ROOM_TYPES};

/// As many as the other designs with one request per connection.
const CONNECTIONS: usize = 32;

#[derive(Clone)]
struct RowLocks {
    pool: Pool,
}

struct Wanted {
    user: User,
    room_type: i64,
    dates: Dates,
    key: String,
}

async fn read(request: &mut Request) -> Option<Wanted> {
    let headers = request.headers();
    let user = headers.get("x-user-id").and_then(|v| v.to_str().ok()).and_then(User::new)?;
    let body = Limited::new(request.take_body(), BODY_MOST).collect().await.ok()?.to_bytes();
    let body: Value = serde_json::from_slice(&body).ok()?;
    let night = |name: &str| body[name].as_str()?.parse::<Night>().ok();
    let dates = Dates::new(night("checkIn")?, night("checkOut")?).ok()?;
    let key = body["clientHoldKey"].as_str().filter(|key| is_hold_key(key))?.to_owned();
    Some(Wanted { user, room_type: body["roomTypeId"].as_i64()?, dates, key })
}

const LOCK: &str = "SELECT day, total, held FROM night
    WHERE room_type = $1 AND day >= $2 AND day < $3 ORDER BY day FOR UPDATE";
const COUNT: &str = "UPDATE night SET held = held + 1 WHERE room_type = $1 AND day >= $2 AND day < $3";
const INSERT: &str = "INSERT INTO hold (room_type, check_in, check_out, owner, key, ends_at)
    VALUES ($1, $2, $3, $4, $5, now() + interval '10 minutes') RETURNING id";

impl RowLocks {
    async fn prepare(url: &str) -> RowLocks {
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(url.parse().expect("a sound address"), NoTls, config);
        let pool = Pool::builder(manager).max_size(CONNECTIONS).runtime(Runtime::Tokio1).build().expect("a pool");
        let rows = RowLocks { pool };
        let tables = format!(
            "CREATE TABLE night (room_type BIGINT, day INTEGER, total INTEGER NOT NULL, held INTEGER NOT NULL DEFAULT 0,
                                 PRIMARY KEY (room_type, day), CHECK (held <= total));
             INSERT INTO night SELECT r, d, 1000000 FROM generate_series(1, {ROOM_TYPES}) r, generate_series({FIRST_DAY}, {LAST_DAY}) d;
             CREATE TABLE hold (id BIGSERIAL PRIMARY KEY, room_type BIGINT, check_in INTEGER, check_out INTEGER,
                                owner TEXT NOT NULL, key TEXT NOT NULL, ends_at TIMESTAMPTZ NOT NULL);
             CREATE UNIQUE INDEX ON hold (owner, room_type, check_in, check_out);
             ANALYZE night; CHECKPOINT"
        );
        rows.connection().await.batch_execute(&tables).await.expect("tables");
        rows
    }

    async fn connection(&self) -> Object {
        self.pool.get().await.expect("a connection")
    }

    /// The id of the hold. None: a night is full.
    async fn hold(&self, wanted: &Wanted) -> Option<i64> {
        let (from, to) = (wanted.dates.check_in.0, wanted.dates.check_out.0);
        let mut database = self.connection().await;
        let lock = database.prepare_cached(LOCK).await.expect("a statement");
        let count = database.prepare_cached(COUNT).await.expect("a statement");
        let insert = database.prepare_cached(INSERT).await.expect("a statement");
        let transaction = database.transaction().await.expect("a transaction");
        let nights = transaction.query(&lock, &[&wanted.room_type, &from, &to]).await.expect("rows");
        if nights.iter().any(|row| row.get::<_, i32>(2) >= row.get::<_, i32>(1)) {
            return None;
        }
        transaction.execute(&count, &[&wanted.room_type, &from, &to]).await.expect("counted");
        let row: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&wanted.room_type, &from, &to, &wanted.user.as_str(), &wanted.key];
        let id = transaction.query_one(&insert, &row).await.expect("a hold").get(0);
        transaction.commit().await.expect("a commit");
        Some(id)
    }
}

#[async_trait]
impl Handler for RowLocks {
    async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
        let Some(wanted) = read(request).await else {
            response.status_code(StatusCode::BAD_REQUEST);
            return;
        };
        let Some(id) = self.hold(&wanted).await else {
            response.status_code(StatusCode::CONFLICT);
            return;
        };
        let Wanted { user, room_type, dates, key } = wanted;
        let body = json!({ "success": true, "hold": {
            "holdId": format!("hr{room_type}-{id}"), "roomTypeId": room_type, "checkIn": dates.check_in.to_string(),
            "checkOut": dates.check_out.to_string(), "userId": user.as_str(), "clientHoldKey": key,
            "createdAt": "2026-11-15T00:00:00.000Z", "expiredAt": "2026-11-15T00:10:00.000Z", "state": "held",
            "secondsRemaining": 600,
        } });
        response.status_code(StatusCode::CREATED);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        *response.body_mut() = ResBody::Once(body.to_string().into());
    }
}

pub fn serve(database_url: &str) {
    super::serve(async { RowLocks::prepare(database_url).await });
}
