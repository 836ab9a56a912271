//! A private PostgreSQL that a test can kill and restart.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls};

use crate::folder::TestFolder;
use crate::services::services;
use crate::{free_port, is_root};

pub struct OwnPostgres {
    pub port: u16,
    data: PathBuf,
    log: PathBuf,
    child: Option<Child>,
    /// Its data and its log.
    _folder: TestFolder,
}

impl OwnPostgres {
    pub async fn start() -> OwnPostgres {
        let folder = TestFolder::new("postgres");
        run(Command::new("chmod").arg("755").arg(folder.path()));
        let data = folder.path().join("data");
        run(Command::new("cp").arg("-a").arg(&services().empty_data).arg(&data));
        let log = folder.path().join("postgres.log");
        let mut own = OwnPostgres { port: free_port(), data, log, child: None, _folder: folder };
        own.begin().await;
        own
    }

    /// What an operator does on another machine with a backup made by `pg_basebackup` while this server
    /// runs: recovery to the end of the copied log, then a new timeline.
    pub async fn restored_elsewhere(&self) -> OwnPostgres {
        let folder = TestFolder::new("postgres");
        run(Command::new("chmod").arg("777").arg(folder.path()));
        let data = folder.path().join("data");
        let mut copy = as_postgres(&services().postgres_programs.join("pg_basebackup"));
        copy.args(["-h", "127.0.0.1", "-U", "postgres", "-c", "fast", "-X", "stream", "-p"]);
        run(copy.arg(self.port.to_string()).arg("-D").arg(&data));
        run(as_postgres(Path::new("touch")).arg(data.join("recovery.signal")));
        let log = folder.path().join("postgres.log");
        let mut own = OwnPostgres { port: free_port(), data, log, child: None, _folder: folder };
        own.begin().await;
        own
    }

    pub async fn connect(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client
    }

    /// A standby of this server, named `standby`, once it streams.
    pub async fn standby(&self) -> OwnPostgres {
        let folder = TestFolder::new("postgres");
        run(Command::new("chmod").arg("777").arg(folder.path()));
        let data = folder.path().join("data");
        let mut copy = as_postgres(&services().postgres_programs.join("pg_basebackup"));
        let primary = format!("host=127.0.0.1 port={} user=postgres application_name=standby", self.port);
        run(copy.args(["-c", "fast", "-X", "stream", "-R", "-d", &primary]).arg("-D").arg(&data));
        let log = folder.path().join("postgres.log");
        let mut own = OwnPostgres { port: free_port(), data, log, child: None, _folder: folder };
        own.begin().await;
        own
    }

    pub fn url(&self) -> String {
        self.url_through(self.port)
    }

    /// The same through a proxy.
    pub fn url_through(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    /// Starts it, and waits until it answers.
    pub async fn begin(&mut self) {
        self.begin_at_once();
        let began = Instant::now();
        while tokio_postgres::connect(&self.url(), NoTls).await.is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "PostgreSQL does not start; see {:?}", self.log);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn begin_at_once(&mut self) {
        // A killed server leaves its lock file behind; its process is known to be gone.
        let _ = std::fs::remove_file(self.data.join("postmaster.pid"));
        let log = std::fs::File::options().create(true).append(true).open(&self.log).expect("a log");
        let mut command = as_postgres(&services().postgres_programs.join("postgres"));
        command.arg("-D").arg(&self.data).arg("-p").arg(self.port.to_string());
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=100",
            "shared_buffers=32MB",
            "restart_after_crash=off",
            // Only read after a restore: there is no archive, all of the log is in the backup.
            "restore_command=false",
            "recovery_target_action=promote",
        ] {
            command.args(["-c", setting]);
        }
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().expect("the log")).stderr(log).spawn();
        self.child = Some(child.expect("postgres starts"));
    }

    /// SIGKILL to the postmaster; its children notice and end.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = child.kill();
        let _ = child.wait();
        self.wait_for_children();
    }

    /// Immediate shutdown, as an operator in a hurry does it.
    pub fn stop_immediately(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        run(Command::new("kill").arg("-QUIT").arg(child.id().to_string()));
        let _ = child.wait();
    }

    /// Copies the data folder of a server that was stopped: a snapshot of its disk.
    pub fn snapshot(&self) {
        run(Command::new("cp").arg("-a").arg(&self.data).arg(self.data.with_extension("snapshot")));
    }

    /// Puts the snapshot back.
    pub fn restore(&self) {
        run(Command::new("rm").arg("-rf").arg(&self.data));
        run(Command::new("cp").arg("-a").arg(self.data.with_extension("snapshot")).arg(&self.data));
    }

    /// Orphans of a killed postmaster still hold the shared memory for a moment.
    fn wait_for_children(&self) {
        let ours = self.data.display().to_string();
        for _ in 0..500 {
            let alive = Command::new("pgrep").args(["-f", &format!("{ours}|postgres: .*{}", self.port)]).output();
            if !alive.is_ok_and(|found| found.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = Command::new("kill").arg("-QUIT").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Where PostgreSQL's programs are.
pub fn postgres_programs() -> &'static Path {
    &services().postgres_programs
}

/// Ends with the test's process, however that ends.
pub fn as_postgres(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.args(["--pdeathsig", "QUIT", "--"]).arg(program);
    command
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(status.success(), "{command:?}: {status}");
}
