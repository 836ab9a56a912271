//! A private nginx per test, for the gateway. The caller writes its files.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::folder::TestFolder;
use crate::is_root;

/// An ordinary user, as in the images: started as root, nginx could not drop new connections.
const NOBODY: &str = "65534";

pub struct OwnNginx {
    pub address: SocketAddr,
    child: Child,
    /// Its files and its log.
    folder: TestFolder,
}

impl OwnNginx {
    /// Starts it with the `nginx.conf` in `folder`, which listens on loopback at `port`. An error holds its
    /// output if it ended: another process may have taken a port that was free a moment ago.
    pub fn start(folder: TestFolder, port: u16) -> Result<OwnNginx, String> {
        let log = File::create(folder.path().join("nginx.log")).expect("a log");
        // Ends with the test's process, however that ends, and its workers with it. It starts with as many files as a
        // system gives by default: what the gateway needs it asks for itself.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]);
        if is_root() {
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        }
        command.args(["--", "prlimit", "--nofile=1024:", "nginx", "-c"]);
        give_away(folder.path());
        command.arg(folder.path().join("nginx.conf"));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("the log")).stderr(log);
        let child = command.spawn().expect("setpriv, of util-linux");
        let address = ([127, 0, 0, 1], port).into();
        let mut own = OwnNginx { address, child, folder };
        let began = Instant::now();
        // The file is written when it has its port; then come the workers.
        while !own.path().join("nginx.pid").exists() || own.workers().len() < own.wanted_workers() {
            if own.child.try_wait().ok().flatten().is_some() {
                return Err(own.log());
            }
            assert!(began.elapsed() < Duration::from_secs(20), "nginx does not start:\n{}", own.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(own)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("nginx.log")).unwrap_or_default()
    }

    /// New workers with the files as they are now; the old ones finish what they have. Returns when
    /// nobody new comes to an old one any more.
    pub fn reload(&self) {
        let old = self.workers();
        give_away(self.path());
        self.signal(self.child.id(), "HUP");
        let takes_no_more = |worker: &u32| {
            let line = std::fs::read(format!("/proc/{worker}/cmdline")).unwrap_or_default();
            line.is_empty() || String::from_utf8_lossy(&line).contains("shutting down")
        };
        let began = Instant::now();
        while !old.iter().all(takes_no_more) {
            assert!(began.elapsed() < Duration::from_secs(10), "nginx does not reload:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// kill -9 to one of its workers.
    pub fn kill_a_worker(&self) {
        let worker = *self.workers().first().expect("a worker");
        self.signal(worker, "KILL");
    }

    pub fn workers(&self) -> Vec<u32> {
        let found = Command::new("pgrep").args(["-P", &self.child.id().to_string()]).output().expect("pgrep");
        String::from_utf8_lossy(&found.stdout).lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// As its configuration says; one, where that is left to nginx.
    fn wanted_workers(&self) -> usize {
        let conf = std::fs::read_to_string(self.path().join("nginx.conf")).unwrap_or_default();
        let said = conf.lines().find_map(|line| line.strip_prefix("worker_processes ")?.strip_suffix(';'));
        said.and_then(|count| count.parse().ok()).unwrap_or(1)
    }

    fn signal(&self, process: u32, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "{name} to {process}");
    }
}

/// The files are nginx's.
fn give_away(folder: &Path) {
    if is_root() {
        let owned = Command::new("chown").args(["-R", NOBODY]).arg(folder).status();
        assert!(owned.is_ok_and(|status| status.success()), "chown");
    }
}

impl Drop for OwnNginx {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}
