//! A Redis of one's own per test: it starts in milliseconds, and can be killed, flushed and frozen.
//! And the run's Redis Cluster, for one test at a time.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use url::Url;

use crate::folder::TestFolder;
use crate::services::services;
use crate::{assert_loopback, free_port};

pub struct OwnRedis {
    pub port: u16,
    pub folder: PathBuf,
    arguments: Vec<String>,
    child: Option<Child>,
    /// Its log.
    _kept: TestFolder,
}

impl OwnRedis {
    pub fn start() -> OwnRedis {
        OwnRedis::start_with(&[])
    }

    pub fn start_with(arguments: &[&str]) -> OwnRedis {
        let kept = TestFolder::new("redis");
        let arguments = arguments.iter().map(|a| (*a).to_owned()).collect();
        let folder = kept.path().to_owned();
        let mut own = OwnRedis { port: free_port(), folder, arguments, child: None, _kept: kept };
        own.begin();
        own
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Starts it, and waits until it answers. Reads `dump.rdb` if there is one.
    pub fn begin(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.join("redis.log")).expect("a log");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "redis-server", "--port", &self.port.to_string()]);
        command.args(["--bind", "127.0.0.1", "--dir"]).arg(&self.folder);
        command.args(["--save", "", "--appendonly", "no", "--enable-debug-command", "local"]);
        command.args(&self.arguments);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("the log")).stderr(log);
        self.child = Some(command.spawn().expect("redis-server starts"));
        let began = Instant::now();
        while self.client().get_connection_with_timeout(Duration::from_millis(200)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "Redis does not start; see {:?}", self.folder);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    pub fn client(&self) -> redis::Client {
        redis::Client::open(self.url()).expect("a sound address")
    }

    /// One command, by hand.
    pub fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        ask(&self.client(), words)
    }
}

/// One command, by hand.
pub fn ask<T: redis::FromRedisValue>(client: &redis::Client, words: &[&str]) -> T {
    let mut connection = client.get_connection().expect("a connection");
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command.query(&mut connection).unwrap_or_else(|e| panic!("{words:?}: {e}"))
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The Redis that a test of answers runs on: one of its own, or `TEST_REDIS_URL`.
pub enum TestRedis {
    Own(OwnRedis),
    Given { url: String, _only_one: File },
}

impl TestRedis {
    pub fn start() -> TestRedis {
        let Some(url) = std::env::var("TEST_REDIS_URL").ok().filter(|url| !url.is_empty()) else {
            return TestRedis::Own(OwnRedis::start());
        };
        assert_loopback("TEST_REDIS_URL", &url);
        let only_one = only_one("given-redis");
        let mut connection = redis::Client::open(url.as_str()).and_then(|c| c.get_connection()).expect(&url);
        let keys: i64 = redis::cmd("DBSIZE").query(&mut connection).expect("DBSIZE");
        assert_eq!(keys, 0, "TEST_REDIS_URL is not empty: tests do not touch what they did not make");
        TestRedis::Given { url, _only_one: only_one }
    }

    pub fn url(&self) -> String {
        match self {
            TestRedis::Own(own) => own.url(),
            TestRedis::Given { url, .. } => url.clone(),
        }
    }
}

impl Drop for TestRedis {
    fn drop(&mut self) {
        if let TestRedis::Given { url, .. } = self
            && let Ok(mut connection) = redis::Client::open(url.as_str()).and_then(|c| c.get_connection())
        {
            let _: Result<(), _> = redis::cmd("FLUSHDB").query(&mut connection);
        }
    }
}

/// The run's Redis Cluster, for one test as long as this is held, and emptied when it is taken.
/// A test that takes it twice takes it from itself.
pub struct Cluster {
    pub url: String,
    _only_one: Arc<File>,
}

impl Cluster {
    pub fn take() -> Cluster {
        let services = services();
        static HELD: Mutex<Weak<File>> = Mutex::new(Weak::new());
        let mut held = HELD.lock().expect("no panic under it");
        let only_one = held.upgrade().unwrap_or_else(|| Arc::new(only_one("cluster")));
        *held = Arc::downgrade(&only_one);
        let url = services.cluster_url.clone();
        let first = Url::parse(&url).ok().and_then(|url| url.port()).expect("a port");
        for port in first..first + 3 {
            let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("a sound address");
            let mut connection = client.get_connection().expect("a node of the cluster");
            let _: () = redis::cmd("FLUSHALL").query(&mut connection).expect("FLUSHALL");
        }
        Cluster { url, _only_one: only_one }
    }
}

fn only_one(name: &str) -> File {
    let path = services().folder.join(format!("{name}.lock"));
    let file = File::options().create(true).truncate(false).write(true).open(path).expect("a lock file");
    file.lock().expect("the lock");
    file
}
