//! The services that all tests of a run share. nextest runs every test in its own process, so the tests
//! share a folder: one lock to start the services under, and one that shows that they are in use.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::free_port;

#[derive(Debug)]
pub struct SharedServices {
    /// The server's own database; tests get clones beside it.
    pub database_url: String,
    pub cluster_url: String,
    /// An initialised data folder that nobody has written to.
    pub empty_data: PathBuf,
    pub postgres_programs: PathBuf,
    pub folder: PathBuf,
    /// Shared; as long as it is held the services stay.
    _users: File,
}

/// Starts them if nobody has. Blocks for some seconds the first time.
pub fn services() -> &'static SharedServices {
    static SERVICES: OnceLock<SharedServices> = OnceLock::new();
    SERVICES.get_or_init(start)
}

fn start() -> SharedServices {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace");
    let folder = folder_of(&root);
    fs::create_dir_all(&folder).expect("a folder for the services");
    let starting = lock_file(&folder, "starting");
    starting.lock().expect("the lock to start under");
    let users = lock_file(&folder, "users");
    let values = join(&root, &folder, &users);
    let value = |name: &str| values.get(name).cloned().unwrap_or_else(|| panic!("{name} is missing in {folder:?}/env"));
    SharedServices {
        database_url: value("DATABASE_URL"),
        cluster_url: value("REDIS_CLUSTER_URL"),
        empty_data: value("EMPTY_DATA").into(),
        postgres_programs: value("PG_BIN").into(),
        folder,
        _users: users,
    }
}

/// One per checkout, so that two checkouts do not meet.
fn folder_of(root: &Path) -> PathBuf {
    let name: String = root.display().to_string().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    std::env::temp_dir().join(format!("tickettock-services{name}"))
}

fn lock_file(folder: &Path, name: &str) -> File {
    let file = File::options().create(true).truncate(false).read(true).write(true).open(folder.join(name));
    file.unwrap_or_else(|e| panic!("{name} in {folder:?}: {e}"))
}

/// Uses what runs, or starts it. Called under the lock to start.
fn join(root: &Path, folder: &Path, users: &File) -> HashMap<String, String> {
    let mut spawned = 0;
    loop {
        let running = lock_file(folder, "running");
        if running.try_lock().is_ok() {
            drop(running);
            spawn(root, folder);
            spawned += 1;
        }
        match users.try_lock_shared() {
            Ok(()) => {
                if let Some(values) = wait_for_env(folder, spawned < STARTS) {
                    return values;
                }
                users.unlock().expect("a lock of ours");
            }
            // The supervisor is checking whether the services are in use, or is shutting down.
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(50)),
            Err(TryLockError::Error(e)) => panic!("users in {folder:?}: {e}"),
        }
    }
}

fn spawn(root: &Path, folder: &Path) {
    let _ = fs::remove_file(folder.join("env"));
    let log = File::create(folder.join("services.log")).expect("a log");
    // `flock` keeps the lock as long as the script lives; `setsid`, because it outlives this test.
    let mut command = Command::new("setsid");
    command.arg("--fork").arg("flock").arg("--no-fork").arg(folder.join("running")).arg("sh");
    command.arg(root.join("scripts/services.sh")).arg("run").arg(folder);
    let cluster = three_free_ports();
    let [database, redis] = beside(cluster);
    command.env("PG_PORT", database.to_string()).env("REDIS_PORT", redis.to_string());
    command.env("CLUSTER_PORT", cluster.to_string());
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("the log")).stderr(log);
    let status = command.status().expect("setsid, of util-linux");
    assert!(status.success(), "scripts/services.sh: {status}");
    while lock_file(folder, "running").try_lock().is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Two more that are free, neither each other's nor the cluster's: nobody holds those yet.
fn beside(cluster: u16) -> [u16; 2] {
    let clusters = |port: u16| (0..3).any(|i| port == cluster + i || port == cluster + i + 10_000);
    let mut others = std::iter::repeat_with(free_port).filter(|&port| !clusters(port));
    let first = others.next().expect("a free port");
    [first, others.find(|&port| port != first).expect("another")]
}

/// Three in a row, whose bus ports (10,000 above) are ports too.
pub fn three_free_ports() -> u16 {
    (0..1_000)
        .map(|_| free_port())
        .find(|&port| {
            let all = [port, port + 1, port + 2];
            port < 50_000 && all.iter().all(|&p| is_free(p) && is_free(p + 10_000))
        })
        .unwrap_or_else(|| {
            (20_001..50_000)
                .step_by(7)
                .find(|&p| (p..p + 3).all(|p| is_free(p) && is_free(p + 10_000)))
                .expect("three free ports")
        })
}

fn is_free(port: u16) -> bool {
    std::net::TcpListener::bind(("127.0.0.1", port)).is_ok()
}

/// Another process may take a port that was free a moment ago.
const STARTS: usize = 3;

/// None: the services ended before they were ready, and may be started once more.
fn wait_for_env(folder: &Path, again: bool) -> Option<HashMap<String, String>> {
    for _ in 0..1_200 {
        if let Ok(text) = fs::read_to_string(folder.join("env")) {
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            return Some(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        }
        if lock_file(folder, "running").try_lock().is_ok() {
            if again {
                return None;
            }
            let log = fs::read_to_string(folder.join("services.log")).unwrap_or_default();
            panic!("the services did not start (scripts/install-services.sh installs them):\n{log}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the services were not ready within a minute; see {folder:?}")
}
