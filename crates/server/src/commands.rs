//! The command line.

mod config;
mod line;
mod serve;

use std::process::ExitCode;

/// Runs the command that was asked for.
pub fn run() -> ExitCode {
    let matches = line::command().get_matches();
    let result = match matches.subcommand() {
        Some(("serve", given)) => serve::run(given),
        Some(("config", given)) => config::run(given),
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
