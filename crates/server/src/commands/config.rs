//! `tickettock config`: every setting, as a table, as JSON, or as the manual. Without flags, environment and
//! file the manual is `docs/configuration.md`.

use std::fmt::Write;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use super::line;
use crate::settings::{SETTINGS, Settings, Values};
use crate::terminal::{self, say};

pub fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    Command::new("config")
        .about("Print every setting with its value and origin")
        .arg(flag("markdown", "Print the manual, with meanings and defaults").conflicts_with("json"))
        .arg(flag("json", "Print them as JSON"))
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let values = line::values(given).map_err(|e| e.to_string())?;
    if given.get_flag("json") {
        say!("{:#}", machine(&values));
    } else if given.get_flag("markdown") {
        terminal::print(format_args!("{}", text(&values)));
    } else {
        terminal::print(format_args!("{}", table(&values)));
    }
    Settings::understand(&values).map(|_| ()).map_err(|e| e.to_string())
}

const INTRODUCTION: &str = "# Settings

Flags override environment variables, which override a TOML file (`--config FILE`, names in lower case), which overrides
the defaults. The server does not start with an invalid value, and names the setting. `tickettock config` prints the
current value of each setting and its source, `--markdown` this text with them, `--json` both; none of them shows secrets.
Secrets have no flags, because flags show in the list of processes.
";

/// One line per setting; those that are not at their default have a mark.
fn table(values: &Values) -> String {
    let wide = SETTINGS.iter().map(|setting| setting.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for setting in SETTINGS {
        let value = values.get(setting.name);
        let shown = match (value.text.as_str(), setting.secret) {
            ("", _) => "-".to_owned(),
            (_, true) => "(hidden)".to_owned(),
            (text, false) => text.escape_debug().to_string(),
        };
        let mark = if value.text == setting.default { ' ' } else { '*' };
        let _ = writeln!(text, "{mark} {:<wide$}  {shown:<28}  {}", setting.name, value.origin);
    }
    text.push_str("\n* differs from the default; --markdown says what each is for\n");
    text
}

fn machine(values: &Values) -> serde_json::Value {
    let all = SETTINGS.iter().map(|setting| {
        let value = values.get(setting.name);
        let shown = match (value.text.as_str(), setting.secret) {
            ("", _) | (_, true) => serde_json::Value::Null,
            (text, false) => text.into(),
        };
        let set = !value.text.is_empty();
        json!({
            "name": setting.name, "value": shown, "set": set, "default": setting.default, "secret": setting.secret,
            "origin": value.origin.to_string(), "meaning": setting.meaning,
        })
    });
    all.collect()
}

pub fn text(values: &Values) -> String {
    let mut text = INTRODUCTION.to_owned();
    for setting in SETTINGS {
        let value = values.get(setting.name);
        let shown = match (value.text.as_str(), setting.secret) {
            ("", _) => "unset".to_owned(),
            (_, true) => "(hidden)".to_owned(),
            (text, false) => format!("`{}`", text.escape_debug()),
        };
        let default = if setting.default.is_empty() { "unset".to_owned() } else { format!("`{}`", setting.default) };
        let name = setting.name;
        let file = name.to_ascii_lowercase();
        let flag = setting.flag().map_or(String::new(), |flag| format!("flag `--{flag}`, "));
        // Writing to memory does not fail.
        let _ = write!(
            text,
            "\n## {name}\n\n{}\n\n- {flag}environment `{name}`, file `{file}`\n- default: {default}\n- value: {shown} ({})\n",
            setting.meaning, value.origin,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::same_as_file;
    use crate::settings::Setting;

    #[test]
    fn committed_manual_matches_the_settings() {
        let values = Values::gather(|_| None, |_| None, None).unwrap();
        same_as_file("docs/configuration.md", &text(&values));
    }

    #[test]
    fn values_and_origins_are_shown_and_secrets_are_not() {
        let secret = "s".repeat(40);
        let flag = |setting: &Setting| (setting.name == "APP_PORT").then(|| "81".to_owned());
        let environment = |name: &str| match name {
            "ADMIN_TOKEN" | "GATEWAY_KEY" => Some(secret.clone()),
            "DATA_DIR" => Some("a\u{1b}[31m\nb".to_owned()),
            _ => None,
        };
        let text = text(&Values::gather(flag, environment, None).unwrap());
        assert!(!text.contains(&secret));
        assert_eq!(text.matches("- value: (hidden) (environment)").count(), 2);
        assert!(text.contains("- default: `5800`\n- value: `81` (flag)"), "{text}");
        assert!(text.contains(r"`a\u{1b}[31m\nb` (environment)"), "what a terminal would act on is escaped");
        let values = Values::gather(flag, environment, None).unwrap();
        let (table, machine) = (table(&values), machine(&values));
        assert!(!table.contains(&secret) && !machine.to_string().contains(&secret));
        assert!(table.contains(r"a\u{1b}[31m\nb") && !table.contains('\u{1b}'), "{table}");
        assert!(table.lines().any(|line| line.starts_with("* APP_PORT") && line.contains(" 81 ")), "{table}");
        let port = machine.as_array().unwrap().iter().find(|one| one["name"] == "APP_PORT").unwrap();
        assert_eq!((&port["value"], &port["origin"]), (&json!("81"), &json!("flag")));
    }
}
