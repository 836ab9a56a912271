//! Reaching the running server: where it is, and the token to show.

use std::net::SocketAddr;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

use super::api::Api;
use super::line;
use crate::settings::Settings;
use crate::terminal::{self, say};
use crate::wiring;

/// A command that talks to the running server.
pub fn reaching(command: Command) -> Command {
    let needed = ["APP_HOST", "APP_PORT", "DATA_DIR", "ADMIN_TOKEN_FILE"];
    line::with_settings_named(command, |name| needed.contains(&name))
        .arg(Arg::new("url").long("url").help("The server, if not at APP_HOST and APP_PORT: http://host:port"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the server's answer as it is"))
}

/// What the server answered: as it is with `--json`, else as `text` writes it.
pub fn show(given: &ArgMatches, answer: &Value, text: impl Fn(&Value) -> String) {
    if given.get_flag("json") {
        say!("{answer:#}");
    } else {
        terminal::print(format_args!("{}", text(answer)));
    }
}

pub fn reach(given: &ArgMatches) -> Result<Api, String> {
    let settings = line::settings(given).map_err(|e| e.to_string())?;
    let url = match given.get_one::<String>("url") {
        Some(url) => url.clone(),
        None if settings.app_port == 0 => return Err("APP_PORT 0 means any port: say which with --url".into()),
        None => {
            // A server that listens everywhere also listens here.
            let host = if settings.app_host.is_unspecified() { [127, 0, 0, 1].into() } else { settings.app_host };
            format!("http://{}", SocketAddr::new(host, settings.app_port))
        }
    };
    Api::at(&url, token(&settings))
}

fn token(settings: &Settings) -> Option<String> {
    let kept = || std::fs::read_to_string(wiring::admin_token_file(&settings.data_dir)).ok();
    let token = settings.admin_token.clone().or_else(kept)?;
    let token = token.trim();
    token.bytes().all(|b| b.is_ascii_graphic()).then(|| token.to_owned()).filter(|token| !token.is_empty())
}
