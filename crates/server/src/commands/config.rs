//! `tickettock config`: the manual of the settings, written by the binary itself. Without flags,
//! environment and file its text is `docs/configuration.md`.

use std::fmt::Write;

use clap::ArgMatches;

use super::line;
use crate::settings::{SETTINGS, Settings, Values};
use crate::terminal;

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let values = line::values(given).map_err(|e| e.to_string())?;
    terminal::print(format_args!("{}", text(&values)));
    Settings::understand(&values).map(|_| ()).map_err(|e| e.to_string())
}

const INTRODUCTION: &str = "# Settings

Flags override environment variables, which override a TOML file (`--config FILE`, names in lower case), which overrides
the defaults. The server does not start with an invalid value, and names the setting. `tickettock config` prints this text
with the current value of each setting and its source; it does not show secrets.
Secrets have no flags, because flags show in the list of processes.
";

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
    }
}
