//! A server on PostgreSQL: a single one with a door in the process, or one of many with Redis. Either
//! store may be unreachable when the process starts: it listens, reports what is missing, and connects
//! when it can.

use std::sync::Arc;
use std::time::Duration;

use rules::time::Clock;
use stores::door::Door;
use stores::door::local::LocalDoor;
use stores::door::redis::{self, RedisDoor};
use stores::ledger::postgres::{self, NotPrepared, PostgresLedger};

use super::{Parts, admin_token, first_event};
use crate::app::App;
use crate::clock::EmbeddedClock;
use crate::settings::{Settings, Stores};
use crate::terminal::complain;

/// Pause between attempts to reach PostgreSQL.
const AGAIN: Duration = Duration::from_millis(500);

/// Exit code when the database belongs to another server or has another version.
const UNFIT: i32 = 2;

/// The adapters of one server, with their concrete types.
pub struct Scaled {
    pub ledger: Arc<PostgresLedger>,
    pub door: Outside,
}

#[derive(Clone)]
pub enum Outside {
    Local(Arc<LocalDoor>),
    Redis(Arc<RedisDoor>),
}

impl Scaled {
    /// Connects to nothing yet. `clock` is for the local door.
    pub fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Scaled, String> {
        let Stores::Postgres { url, pool, redis } = &settings.stores else {
            return Err("DATABASE_URL is unset".into());
        };
        let place = postgres::PostgresConfig {
            url: url.clone(),
            pool: *pool,
            key_ttl_ms: settings.terms.key_ttl_ms,
            clock: clock.clone(),
            planted: postgres::PlantedBug::default(),
        };
        let ledger = Arc::new(PostgresLedger::new(&place).map_err(|why| format!("DATABASE_URL: {why}"))?);
        let door = match redis {
            None => Outside::Local(Arc::new(LocalDoor::new(clock, settings.budget))),
            Some(at) => {
                let (url, cluster) = (at.url.clone(), at.cluster);
                let place = redis::RedisConfig {
                    url,
                    cluster,
                    budget: settings.budget,
                    ledger: ledger.named(),
                    step: redis::STEP,
                };
                Outside::Redis(Arc::new(RedisDoor::new(place).map_err(|why| format!("REDIS_URL: {why}"))?))
            }
        };
        Ok(Scaled { ledger, door })
    }

    pub fn parts(&self) -> Parts {
        let door: Arc<dyn Door> = match &self.door {
            Outside::Local(door) => door.clone(),
            Outside::Redis(door) => door.clone(),
        };
        Parts { ledger: self.ledger.clone(), door }
    }

    /// Migrates the tables. With a door in the process, also claims to be the only server.
    pub async fn prepare(&self) -> Result<(), NotPrepared> {
        self.ledger.prepare().await?;
        let Outside::Local(door) = &self.door else { return Ok(()) };
        let door = door.clone();
        let changed = move |ours: bool| {
            if !ours {
                // The ledger has logged why.
                std::process::exit(UNFIT);
            }
            // Another server may have issued numbers meanwhile, so a new generation is needed.
            door.close();
        };
        self.ledger.claim(changed).await
    }
}

/// Assembles the server. If PostgreSQL is unreachable, it is retried in the background. What waiting will
/// not fix is an error.
pub async fn start(settings: Settings) -> Result<Arc<App>, String> {
    let clock = Arc::new(EmbeddedClock::starting(rules::time::Moment(0)));
    let scaled = Scaled::new(&settings, clock)?;
    let token = admin_token(&settings).map_err(|e| e.to_string())?;
    let Parts { ledger, door } = scaled.parts();
    let app = App::new(settings, token, ledger, door);
    match prepare(&scaled, &app).await {
        Ok(()) => Ok(app),
        Err(NotPrepared::Unfit(why)) => Err(why),
        Err(NotPrepared::Unreachable(why)) => {
            tracing::warn!(why, "PostgreSQL is unreachable; trying again");
            tokio::spawn(prepare_later(scaled, app.clone()));
            Ok(app)
        }
    }
}

async fn prepare(scaled: &Scaled, app: &App) -> Result<(), NotPrepared> {
    scaled.prepare().await?;
    first_event(app).await.map_err(|fault| NotPrepared::Unreachable(fault.to_string()))
}

async fn prepare_later(scaled: Scaled, app: Arc<App>) {
    loop {
        tokio::time::sleep(AGAIN).await;
        match prepare(&scaled, &app).await {
            Ok(()) => return tracing::info!("PostgreSQL is reachable"),
            Err(NotPrepared::Unreachable(why)) => tracing::debug!(why, "PostgreSQL is still unreachable"),
            Err(NotPrepared::Unfit(why)) => {
                tracing::error!(why, "this server cannot run on its database");
                complain!("tickettock: {why}");
                std::process::exit(UNFIT);
            }
        }
    }
}
