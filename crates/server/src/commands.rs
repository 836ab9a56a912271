//! The command line.

mod api;
mod config;
mod event;
mod line;
mod openapi;
mod serve;

use std::process::ExitCode;

/// Runs the command that was asked for.
pub fn run() -> ExitCode {
    let matches = line::command().get_matches();
    let result = match matches.subcommand() {
        Some(("serve", given)) => serve::run(given),
        Some(("config", given)) => config::run(given),
        Some(("event", given)) => event::run(given),
        Some(("openapi", given)) => openapi::run(given),
        _ => unreachable!("clap asks for a subcommand"),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tickettock: {why}");
            ExitCode::from(2)
        }
    }
}
