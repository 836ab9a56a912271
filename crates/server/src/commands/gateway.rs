//! `tickettock gateway FOLDER`: writes the files of a gateway from the current settings.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};

use super::line;
use crate::gateway;
use crate::settings::gateway::GatewaySettings;
use crate::terminal::say;

pub fn command() -> Command {
    let folder = Arg::new("folder")
        .required(true)
        .value_name("FOLDER")
        .value_parser(clap::value_parser!(PathBuf))
        .help("Where its files go; made if it is not there");
    let command = Command::new("gateway")
        .about("Write the files of the gateway, an nginx with Lua in front of the servers")
        .arg(folder);
    line::with_settings_named(command, takes)
}

fn takes(name: &str) -> bool {
    let begins = ["GATEWAY_", "REDIS_", "FCFS_IP_"].iter().any(|beginning| name.starts_with(beginning));
    begins || ["TRUSTED_PROXIES", "FCFS_USER_HEADER", "AUTH_MODE", "DEFAULT_REGION", "CORS_ORIGINS"].contains(&name)
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let values = line::values(given).map_err(|e| e.to_string())?;
    let settings = GatewaySettings::understand(&values).map_err(|e| e.to_string())?;
    let folder = given.get_one::<PathBuf>("folder").ok_or("a folder is missing")?;
    gateway::write(folder, &settings).map_err(|e| format!("{}: {e}", folder.display()))?;
    let conf = folder.canonicalize().map_err(|e| e.to_string())?.join("nginx.conf");
    say!("nginx -c {}", conf.display());
    say!("starts the gateway on http://{}; with -s reload it takes over new files.", settings.listen);
    Ok(())
}
