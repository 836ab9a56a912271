//! `tickettock openapi`: the API's description, as it is committed.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::http::openapi::{document, yaml};
use crate::terminal::{self, say};

pub fn command() -> Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON instead of YAML");
    Command::new("openapi").about("Print the OpenAPI document").arg(json)
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let document = document();
    if given.get_flag("json") {
        say!("{document:#}")
    } else {
        terminal::print(format_args!("{}", yaml(&document)))
    }
    Ok(())
}
