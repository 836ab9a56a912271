//! `tickettock config`: the manual of the settings, written by the binary itself.

use clap::ArgMatches;

use super::line;
use crate::settings::{SETTINGS, Settings};

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let values = line::values(given).map_err(|e| e.to_string())?;
    for setting in SETTINGS {
        let value = values.get(setting.name);
        let shown = match (value.text.as_str(), setting.secret) {
            ("", _) => "(unset)",
            (_, true) => "(hidden)",
            (text, false) => text,
        };
        println!("{} = {shown}  [{}]\n    {}", setting.name, value.origin, setting.meaning);
    }
    Settings::understand(&values).map(|_| ()).map_err(|e| e.to_string())
}
