//! A server in its own process beside the bench, until it is dropped.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use client::{ClientError, HttpRequest, HttpResponse};

pub struct Running {
    child: Child,
    pub address: SocketAddr,
}

impl Running {
    /// Starts it, and reads where it listens from the first line it prints.
    pub fn start(command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_else(|| panic!("{command:?} says nothing"));
        let address = first.rsplit("http://").next().and_then(|a| a.trim().parse().ok()).expect(&first);
        // Read on, so that the pipe never fills.
        std::thread::spawn(move || lines.for_each(drop));
        Running { child, address }
    }

    /// The process. `taskset` becomes the program that it starts.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// One request over a connection of its own.
    pub fn ask(&self, request: HttpRequest) -> Result<HttpResponse, ClientError> {
        client::blocking::ask_once(&self.address.into(), request, Duration::from_secs(60))
    }

    /// Current and peak resident memory, in MiB.
    pub fn memory_mib(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a process");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a known field");
            line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1024.0
        };
        (field("VmRSS:"), field("VmHWM:"))
    }
}

impl Drop for Running {
    /// kill -9: what must be durable survives it.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
