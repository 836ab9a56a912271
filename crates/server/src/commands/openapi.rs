//! `tickettock openapi`: the API's description, as it is committed.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::http::openapi::{document, yaml};
use crate::http::respond::Dialect;
use crate::terminal::{self, say};

pub fn command() -> Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON instead of YAML");
    let dialect = Arg::new("dialect")
        .long("dialect")
        .value_parser(Dialect::ALL.map(Dialect::name))
        .default_value(Dialect::V1_1.name())
        .help("The dialect that it describes; v1 is that of the paths below /v1");
    Command::new("openapi").about("Print the OpenAPI document").arg(json).arg(dialect)
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let asked = given.get_one::<String>("dialect");
    let dialect = Dialect::ALL.into_iter().find(|dialect| asked.is_some_and(|asked| asked == dialect.name()));
    let document = document(dialect.unwrap_or(Dialect::V1_1));
    if given.get_flag("json") {
        say!("{document:#}")
    } else {
        terminal::print(format_args!("{}", yaml(&document)))
    }
    Ok(())
}
