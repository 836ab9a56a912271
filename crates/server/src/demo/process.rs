//! The serving process of the demo: started, killed, and started again on the same port.

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::settings::SETTINGS;

const LOG_FILTER: &str = "RUST_LOG";

/// A start reads the ledger; more than this is a failure.
const STARTING: Duration = Duration::from_secs(30);
/// A stop answers what was accepted first.
const STOPPING: Duration = Duration::from_secs(10);

/// How the serving process is started.
pub struct ServerLaunch {
    pub data_dir: PathBuf,
    pub control: PathBuf,
    pub host: IpAddr,
    pub port: u16,
}

pub struct ServingProcess {
    child: Child,
    /// As reached from this machine.
    pub address: SocketAddr,
}

impl ServerLaunch {
    /// Starts it and waits until it listens. Later starts use the same port.
    pub async fn start(&mut self) -> Result<ServingProcess, String> {
        let mut child = self.command()?.spawn().map_err(|e| format!("the server cannot be started: {e}"))?;
        let (listens, heard) = oneshot::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || read(output, listens));
        }
        let Ok(Ok(port)) = tokio::time::timeout(STARTING, heard).await else {
            let _ = child.kill();
            let _ = child.wait();
            return Err("the server did not start; what it said is above".into());
        };
        self.port = port;
        let host = if self.host.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { self.host };
        Ok(ServingProcess { child, address: SocketAddr::new(host, port) })
    }

    fn command(&self) -> Result<Command, String> {
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new(program);
        command.arg("serve").arg("--demo-control").arg(&self.control);
        // The demo is the embedded server with its defaults, whatever this shell is used for otherwise.
        for setting in SETTINGS.iter().filter(|setting| setting.name != LOG_FILTER) {
            command.env_remove(setting.name);
        }
        command.env("DATA_DIR", &self.data_dir);
        command.env("APP_HOST", self.host.to_string()).env("APP_PORT", self.port.to_string());
        if self.host.is_loopback() {
            // Webhooks are tried with a receiver on the same machine.
            command.env("WEBHOOK_PRIVATE", "1");
        } else {
            command.env("ALLOW_TRUSTED_HEADER", "1");
        }
        if std::env::var_os(LOG_FILTER).is_none() {
            command.env(LOG_FILTER, "warn");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(command)
    }
}

/// Hears where it listens, and reads on, so that the process never waits for a reader.
fn read(output: impl Read, listens: oneshot::Sender<u16>) {
    let mut listens = Some(listens);
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(address) = line.split("listens on http://").nth(1)
            // With LOG_FORMAT=json more follows behind it.
            && let Some(address) = address.split('"').next()
            && let Ok(address) = address.trim().parse::<SocketAddr>()
            && let Some(listens) = listens.take()
        {
            let _ = listens.send(address.port());
        }
    }
}

impl ServingProcess {
    /// SIGKILL: the process gets no chance to say or write anything.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The serving process stops when its standard input ends.
    pub async fn stop(mut self) {
        drop(self.child.stdin.take());
        let deadline = tokio::time::Instant::now() + STOPPING;
        while !self.has_ended() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(printed: &str) -> Option<u16> {
        let (tell, hears) = oneshot::channel();
        read(printed.as_bytes(), tell);
        hears.blocking_recv().ok()
    }

    #[test]
    fn address_is_heard_as_text_and_as_json() {
        assert_eq!(heard("Tickettock listens on http://127.0.0.1:5800\nAdmin token: x\n"), Some(5_800));
        let event = crate::telemetry::as_event(rules::time::Moment(0), "Tickettock listens on http://127.0.0.1:5801");
        assert_eq!(heard(&event), Some(5_801));
        assert_eq!(heard("something else\n"), None);
    }
}
