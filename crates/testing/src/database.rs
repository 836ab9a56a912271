//! A private database: a clone of a template that was migrated once.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rules::time::Moment;
use stores::ledger::postgres::{PlantedBug, PostgresConfig, PostgresLedger};
use tokio_postgres::{Client, NoTls};
use url::Url;

use crate::assert_loopback;
use crate::clock::FixtureClock;
use crate::services::services;

/// Of everybody in a database.
const END_CONNECTIONS: &str = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1";

/// Named after its tables: a changed migration gets another template.
fn template() -> String {
    format!("tickettock_{:016x}", stores::ledger::postgres::format())
}

/// Cloned; gone with the services.
#[derive(Clone, Debug)]
pub struct Database {
    pub url: String,
    pub name: String,
}

impl Database {
    /// Empty, and with the tables of this version.
    pub async fn fresh() -> Database {
        Database::clone_of(&template()).await
    }

    /// Without any table.
    pub async fn bare() -> Database {
        Database::clone_of("template1").await
    }

    async fn clone_of(template: &str) -> Database {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = server_url().await;
        let name = format!("test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Two clones of one template at a time are refused.
        let _one_at_a_time = locked("cloning");
        let client = connect(&server).await;
        if template != "template1" {
            make_template(&client, &server, template).await;
        }
        drop_orphans(&client).await;
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await.expect("a clone");
        Database { url: at(&server, &name), name }
    }

    pub fn port(&self) -> u16 {
        Url::parse(&self.url).ok().and_then(|url| url.port()).expect("a URL with a port")
    }

    /// The same database through a proxy.
    pub fn url_through(&self, port: u16) -> String {
        crate::with_port(&self.url, port)
    }

    /// A copy beside it, whoever is connected: their connections break.
    pub async fn backup(&self) -> String {
        let copy = format!("{}_backup", self.name);
        self.alone(&[format!("CREATE DATABASE {copy} TEMPLATE {}", self.name)]).await;
        copy
    }

    /// Puts a copy in its place.
    pub async fn restore(&self, copy: &str) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        self.alone(&[drop, format!("ALTER DATABASE {copy} RENAME TO {}", self.name)]).await;
    }

    /// For so long there is no database of this name, as while a copy is put in its place.
    pub async fn away(&self, time: Duration) {
        let client = connect(&server_url().await).await;
        let (here, away) = (&self.name, format!("{}_away", self.name));
        // It is refused while somebody is connected, and they connect again at once.
        while client.batch_execute(&format!("ALTER DATABASE {here} RENAME TO {away}")).await.is_err() {
            client.execute(END_CONNECTIONS, &[here]).await.expect("nobody is left");
        }
        tokio::time::sleep(time).await;
        client.batch_execute(&format!("ALTER DATABASE {away} RENAME TO {here}")).await.expect("back again");
    }

    /// Nobody is connected meanwhile.
    async fn alone(&self, statements: &[String]) {
        let client = connect(&server_url().await).await;
        let allow = |yes| format!("ALTER DATABASE {} ALLOW_CONNECTIONS {yes}", self.name);
        client.batch_execute(&allow(false)).await.expect("nobody new");
        client.execute(END_CONNECTIONS, &[&self.name]).await.expect("nobody is left");
        for statement in statements {
            client.batch_execute(statement).await.unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        }
        client.batch_execute(&allow(true)).await.expect("open again");
    }

    /// A connection beside the ledger's own.
    pub async fn connect(&self) -> Client {
        connect(&self.url).await
    }
}

/// Clones are named after the process that made them: those of processes that ended can go.
async fn drop_orphans(client: &Client) {
    let clones = client.query("SELECT datname FROM pg_database WHERE datname LIKE 'test\\_%'", &[]).await;
    for row in clones.expect("the list of databases") {
        let name: &str = row.get(0);
        let made_by = name.split('_').nth(1).unwrap_or_default();
        if !std::path::Path::new("/proc").join(made_by).exists() {
            client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.expect("an old clone goes");
        }
    }
}

async fn make_template(client: &Client, server: &str, template: &str) {
    let known = client.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&template]).await;
    if known.expect("the list of databases").is_some() {
        return;
    }
    client.batch_execute("DROP DATABASE IF EXISTS tickettock_making").await.expect("half a template goes");
    client.batch_execute("CREATE DATABASE tickettock_making").await.expect("a new database");
    let ledger = ledger(&at(server, "tickettock_making"), PlantedBug::default());
    ledger.prepare().await.unwrap_or_else(|e| panic!("{e}"));
    drop(ledger);
    client
        .batch_execute(&format!("ALTER DATABASE tickettock_making RENAME TO {template}"))
        .await
        .expect("the template gets its name when it is whole");
}

/// `TEST_DATABASE_URL` if it is given, on loopback and empty; else the run's own server.
async fn server_url() -> String {
    let Some(given) = std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty()) else {
        return services().database_url.clone();
    };
    assert_loopback("TEST_DATABASE_URL", &given);
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
    let tables: i64 = connect(&given).await.query_one(tables, &[]).await.expect("the list of tables").get(0);
    assert_eq!(tables, 0, "TEST_DATABASE_URL is not empty: tests do not touch what they did not make");
    given
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap_or_else(|e| panic!("{url}: {e:?}"));
    tokio::spawn(connection);
    client
}

/// The same server, another database.
pub fn at(server: &str, name: &str) -> String {
    let mut url = Url::parse(server).unwrap_or_else(|e| panic!("{server}: {e}"));
    url.set_path(name);
    if url.query().is_none() {
        url.set_query(Some("sslmode=disable"));
    }
    url.into()
}

fn locked(name: &str) -> File {
    let path = std::env::temp_dir().join(format!("tickettock-{name}.lock"));
    let file = File::options().create(true).truncate(false).write(true).open(path).expect("a lock file");
    file.lock().expect("the lock");
    file
}

/// A ledger that was not prepared yet.
pub fn ledger(url: &str, planted: PlantedBug) -> PostgresLedger {
    // Stands still: tests that look at shown states move the database's own time.
    let clock = Arc::new(FixtureClock::at(Moment(0)));
    let place = PostgresConfig { url: url.to_owned(), pool: 8, key_ttl_ms: 86_400_000, clock, planted };
    PostgresLedger::new(&place).expect("a sound address")
}
