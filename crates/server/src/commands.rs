//! The command line.

mod api;
mod backup;
mod config;
mod demo;
mod doctor;
mod event;
mod export;
mod gateway;
mod line;
mod manual;
mod openapi;
mod reach;
mod room_type;
mod rush;
mod serve;
mod token;
mod verify;
mod webhook;

use std::process::ExitCode;

use crate::terminal::complain;

/// Runs the command that was asked for.
pub fn run() -> ExitCode {
    let matches = line::command().get_matches();
    let result = match matches.subcommand() {
        Some(("serve", given)) => return end(serve::run(given)),
        Some(("config", given)) => config::run(given),
        Some(("demo", given)) => demo::run(given),
        Some(("event", given)) => event::run(given),
        Some(("room-type", given)) => room_type::run(given),
        Some(("completions", given)) => manual::run_completions(given),
        Some(("man", given)) => manual::run_man(given),
        Some(("gateway", given)) => gateway::run(given),
        Some(("openapi", given)) => openapi::run(given),
        Some(("token", given)) => token::run(given),
        Some(("webhook", given)) => webhook::run(given),
        Some(("rush", given)) => return end(rush::run(given)),
        Some(("doctor", given)) => return doctor::run_doctor(given),
        Some(("healthcheck", given)) => return doctor::run_healthcheck(given),
        Some(("verify", given)) => return end(verify::run(given)),
        Some(("backup", given)) => return end(backup::run_backup(given)),
        Some(("restore", given)) => return end(backup::run_restore(given)),
        _ => unreachable!("clap asks for a subcommand"),
    };
    end(result.map_err(Broken::Command))
}

/// The result of a command that proves something.
type Ended = Result<(), Broken>;

enum Broken {
    /// The command failed.
    Command(String),
    /// The command ran, and what it should prove does not hold.
    Proof(String),
    /// The command failed, and its log says why.
    Logged,
}

impl<T: Into<String>> From<T> for Broken {
    fn from(why: T) -> Self {
        Broken::Command(why.into())
    }
}

fn end(ended: Ended) -> ExitCode {
    let (why, code) = match ended {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Broken::Command(why)) => (why, 2),
        Err(Broken::Proof(why)) => (why, 3),
        Err(Broken::Logged) => return ExitCode::from(2),
    };
    complain!("tickettock: {why}");
    ExitCode::from(code)
}
