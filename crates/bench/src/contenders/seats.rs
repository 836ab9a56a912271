//! The table of seats from the first documents, and connections to it.

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::NoTls;

/// More than a run of these designs sells.
const SEATS: i32 = 300_000;

/// Four times what the product uses: these have one request per connection.
const CONNECTIONS: usize = 32;

#[derive(Clone)]
pub struct Seats {
    pool: Pool,
}

impl Seats {
    /// One row per seat, as those designs have it.
    pub async fn prepare(url: &str) -> Seats {
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(url.parse().expect("a sound address"), NoTls, config);
        let pool = Pool::builder(manager).max_size(CONNECTIONS).runtime(Runtime::Tokio1).build().expect("a pool");
        let seats = Seats { pool };
        seats
            .connection()
            .await
            .batch_execute(&format!(
                "CREATE TABLE seats (
                     id INTEGER PRIMARY KEY,
                     status BOOLEAN NOT NULL DEFAULT FALSE,
                     reserved_by TEXT,
                     phone TEXT,
                     created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
                     updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
                 );
                 INSERT INTO seats (id) SELECT generate_series(1, {SEATS});
                 CREATE INDEX seats_free ON seats (id) WHERE NOT status;
                 ANALYZE seats;
                 CHECKPOINT"
            ))
            .await
            .expect("a table of seats");
        seats
    }

    pub async fn connection(&self) -> Object {
        self.pool.get().await.expect("a connection")
    }
}
