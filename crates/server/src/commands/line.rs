//! The command line's arguments, made from the table of settings.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};

use crate::settings::{BadSetting, SETTINGS, Settings, Values};

pub fn command() -> Command {
    Command::new("tickettock")
        .version(env!("CARGO_PKG_VERSION"))
        .about("First come, first served reservations: one binary, exact stock")
        .after_help(
            "Examples:\n  \
             tickettock demo                                  something to look at on http://127.0.0.1:5800\n  \
             tickettock serve                                 sell nine seats on http://127.0.0.1:5800\n  \
             tickettock serve --fcfs-seats 500 --port 0       500 seats on a free port\n  \
             FCFS_USER_TTL=60 tickettock serve                settings from the environment\n  \
             tickettock serve --config tickettock.toml        settings from a file\n  \
             tickettock config                                every setting, its value and where it comes from\n  \
             tickettock event create --name Gala --seats 500  an event, made through the running server\n  \
             tickettock event export 2 --output sold.csv      everything that was sold\n  \
             tickettock gateway ./gateway-files               the files of an nginx in front of the servers\n  \
             tickettock openapi                               the API's description, as YAML\n  \
             tickettock token mint --sub alice --ttl 1h       a token of a user, to try AUTH_MODE=jwt\n  \
             tickettock rush                                  20,000 buyers for 1,000 seats, and the proof\n  \
             tickettock verify                                every invariant of the ledger, one line each\n  \
             tickettock backup tonight.db                     a verified copy of the ledger, while it sells\n  \
             tickettock doctor --sale 50000/500               what to change before that many people come",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(super::demo::command())
        .subcommand(with_settings(super::serve::command()))
        .subcommand(with_settings(super::config::command()))
        .subcommand(super::event::command())
        .subcommand(super::room_type::command())
        .subcommand(super::gateway::command())
        .subcommand(super::openapi::command())
        .subcommand(super::rush::command())
        .subcommand(super::token::command())
        .subcommand(super::webhook::command())
        .subcommand(with_settings_named(
            Command::new("verify")
                .about("Check every invariant of the ledger, also of a running sale; exit 3 if one is broken")
                .args(super::verify::arguments()),
            |name| matches!(name, "DATA_DIR" | "DATABASE_URL_FILE"),
        ))
        .subcommand(with_settings(super::doctor::doctor()))
        .subcommand(with_settings_named(super::doctor::healthcheck(), |name| {
            matches!(name, "APP_HOST" | "APP_PORT" | "ADMIN_LISTEN")
        }))
        .subcommand(super::backup::backup())
        .subcommand(super::backup::restore())
        .subcommand(super::manual::completions())
        .subcommand(super::manual::man())
}

fn with_settings(command: Command) -> Command {
    with_settings_named(command, |_| true)
}

/// A command that takes some of the settings.
pub fn with_settings_named(command: Command, takes: impl Fn(&str) -> bool) -> Command {
    let file = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help("TOML file with settings, names in lower case");
    let flags = SETTINGS.iter().filter(|setting| takes(setting.name)).filter_map(|setting| {
        let help = if setting.default.is_empty() {
            setting.meaning.to_owned()
        } else {
            format!("{} [default: {}]", setting.meaning, setting.default)
        };
        let flag = setting.flag()?;
        let flag = Arg::new(setting.name).long(flag).value_name("VALUE").allow_hyphen_values(true).help(help);
        // What people type first.
        Some(match setting.name {
            "APP_PORT" => flag.visible_alias("port"),
            "APP_HOST" => flag.visible_alias("host"),
            _ => flag,
        })
    });
    command.arg(file).args(flags)
}

/// Flags override the environment, which overrides the file, which overrides the defaults.
pub fn values(given: &ArgMatches) -> Result<Values, BadSetting> {
    Values::gather(
        |setting| given.try_get_one::<String>(setting.name).ok().flatten().cloned(),
        |name| std::env::var(name).ok().filter(|text| !text.is_empty()),
        given.get_one::<PathBuf>("config").map(PathBuf::as_path),
    )
}

pub fn settings(given: &ArgMatches) -> Result<Settings, BadSetting> {
    Settings::understand(&values(given)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn command_line_is_valid() {
        super::command().debug_assert();
    }
}
