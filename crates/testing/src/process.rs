//! The server's binary as a process of its own, which a test can kill.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::http::TestClient;

pub struct ServerProcess {
    child: Child,
    pub address: SocketAddr,
    /// From start to the first `/readyz` that says yes.
    pub ready_after: Duration,
    data: PathBuf,
}

/// The binary that cargo built for the running test, with no setting in its environment. Cargo puts a
/// test into `deps`, below the folder of the binaries of its package.
pub fn binary() -> Command {
    let test = std::env::current_exe().expect("the path of the test");
    let folder = test.ancestors().nth(2).expect("the folder of the profile");
    let path = folder.join("tickettock");
    assert!(path.exists(), "{path:?} is not built: only tests of the server's package can start it");
    let mut command = Command::new(path);
    for setting in server::settings::SETTINGS {
        command.env_remove(setting.name);
    }
    command
}

impl ServerProcess {
    pub async fn start(data: &Path, settings: &[(&str, &str)]) -> ServerProcess {
        ServerProcess::spawn(data, settings, |command| command).await
    }

    pub async fn spawn(
        data: &Path,
        settings: &[(&str, &str)],
        with: impl FnOnce(&mut Command) -> &mut Command,
    ) -> ServerProcess {
        let began = Instant::now();
        let mut process = ServerProcess::begin(data, settings, with);
        while process.client().get("/readyz").await.status != 200 {
            tokio::task::yield_now().await;
        }
        process.ready_after = began.elapsed();
        process
    }

    /// As soon as it listens, ready or not.
    pub fn begin(
        data: &Path,
        settings: &[(&str, &str)],
        with: impl FnOnce(&mut Command) -> &mut Command,
    ) -> ServerProcess {
        let mut command = binary();
        command.arg("serve").env("DATA_DIR", data).env("APP_PORT", "0").env("RUST_LOG", "warn");
        command.envs(settings.iter().copied());
        with(&mut command);
        ServerProcess::attempt(command, data).expect("it prints where it listens")
    }

    /// As soon as it listens; none if it ends without.
    pub fn attempt(mut command: Command, data: &Path) -> Option<ServerProcess> {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let Some(Ok(first)) = lines.next() else {
            child.wait().unwrap();
            return None;
        };
        // In JSON more follows behind the address.
        let address = first.rsplit("http://").next().unwrap().split('"').next().unwrap().trim().parse().expect(&first);
        // Read on, so that the pipe never fills.
        std::thread::spawn(move || lines.for_each(drop));
        Some(ServerProcess { child, address, ready_after: Duration::ZERO, data: data.to_owned() })
    }

    pub fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn client(&self) -> TestClient {
        TestClient::new(self.address)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn admin_token(&self) -> String {
        std::fs::read_to_string(self.data.join("admin-token")).unwrap().trim().to_owned()
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// The exit code, if the process ends within this time.
    pub async fn ended_within(&mut self, most: Duration) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < most {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        None
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.end();
    }
}
