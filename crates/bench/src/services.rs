//! A PostgreSQL and a Redis that the bench starts. Unlike those of the tests this PostgreSQL flushes: the
//! bench measures durable sales.

use std::cell::Cell;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls};

use crate::processor;

pub struct BenchServices {
    postgres: Child,
    redis: Child,
    postgres_port: u16,
    redis_port: u16,
    databases: Cell<u32>,
}

/// PostgreSQL's defaults, except where they would disturb a run of a few seconds by chance.
const POSTGRES: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "shared_buffers=256MB",
    "max_wal_size=4GB",
    "log_min_messages=warning",
];

impl BenchServices {
    /// Starts them in `folder`, which must outlive them.
    pub fn start(folder: &Path) -> BenchServices {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("a folder of ours");
        let data = folder.join("postgres");
        fs::create_dir(&data).expect("a new folder");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("a folder of ours");
        if is_root() {
            run(Command::new("chown").arg("postgres:postgres").arg(&data));
        }
        let programs = programs();
        let mut initdb = as_postgres(&programs.join("initdb"));
        run(initdb.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]));
        let (postgres_port, redis_port) = (free_port(), free_port());
        let mut postgres = as_postgres(&programs.join("postgres"));
        postgres.arg("-D").arg(&data).args(["-p", &postgres_port.to_string()]);
        for setting in POSTGRES {
            postgres.args(["-c", setting]);
        }
        let mut redis = Command::new("redis-server");
        redis.args(["--port", &redis_port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        redis.arg("--dir").arg(folder);
        let services = BenchServices {
            postgres: spawn(&mut postgres, &folder.join("postgres.log")),
            redis: spawn(&mut redis, &folder.join("redis.log")),
            postgres_port,
            redis_port,
            databases: Cell::new(0),
        };
        let began = Instant::now();
        while runtime().block_on(tokio_postgres::connect(&services.database("postgres"), NoTls)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "PostgreSQL does not start: {}", log(folder));
            std::thread::sleep(Duration::from_millis(20));
        }
        services
    }

    fn database(&self, name: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{name}?sslmode=disable", self.postgres_port)
    }

    pub fn pin(&self, core: usize) {
        self.ids().into_iter().for_each(|process| processor::pin(process, core));
    }

    pub fn ids(&self) -> [u32; 2] {
        [&self.postgres, &self.redis].map(Child::id)
    }

    pub fn redis_url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.redis_port)
    }

    /// Creates an empty database and drops the last one. Redis is emptied too.
    pub fn fresh(&self) -> String {
        let number = self.databases.replace(self.databases.get() + 1);
        let name = format!("bench_{number}");
        runtime().block_on(async {
            let server = connect(&self.database("postgres")).await;
            if let Some(last) = number.checked_sub(1) {
                let drop = format!("DROP DATABASE IF EXISTS bench_{last} WITH (FORCE)");
                server.batch_execute(&drop).await.expect("the last one goes");
            }
            server.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
            // A checkpoint now, so that none happens in the middle of a run.
            server.batch_execute("CHECKPOINT").await.expect("a checkpoint");
            let redis = redis::Client::open(self.redis_url()).expect("a sound address");
            let mut redis = redis.get_multiplexed_async_connection().await.expect("Redis");
            redis::cmd("FLUSHALL").exec_async(&mut redis).await.expect("FLUSHALL");
        });
        self.database(&name)
    }
}

impl Drop for BenchServices {
    fn drop(&mut self) {
        // Immediate shutdown: there is no data to keep, and no child process stays behind.
        let _ = Command::new("kill").args(["-QUIT", &self.postgres.id().to_string()]).status();
        let _ = self.postgres.wait();
        let _ = self.redis.kill();
        let _ = self.redis.wait();
    }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap_or_else(|e| panic!("{url}: {e}"));
    tokio::spawn(connection);
    client
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn programs() -> PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let versions = installed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    versions.max().map_or_else(PathBuf::new, |version| format!("/usr/lib/postgresql/{version}/bin").into())
}

pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// PostgreSQL refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command.current_dir("/");
    command
}

fn spawn(command: &mut Command, log: &Path) -> Child {
    let log = File::create(log).expect("a log");
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
    command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}; scripts/install-services.sh installs it"))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("postgres.log")).unwrap_or_default()
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}
