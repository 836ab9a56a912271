//! Settings. Flags override the environment, which overrides the file, which overrides the defaults. The
//! command line, the file, the environment and the manual are all derived from one table.

mod copies;
pub mod gateway;
pub mod identity;
mod stores;
pub mod strength;
mod table;
mod typed;
mod watching;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

pub use self::identity::AuthMode;
pub use self::stores::{Redis, Stores};
pub use self::table::{SETTINGS, Setting};
pub use self::typed::{LogFormat, Settings};
pub use self::watching::{TraceSettings, WatchSettings};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag,
    Environment,
    File,
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Flag => "flag",
            Origin::Environment => "environment",
            Origin::File => "file",
            Origin::Default => "default",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub text: String,
    pub origin: Origin,
}

/// An invalid setting. The message names it.
#[derive(Debug, PartialEq, Eq)]
pub struct BadSetting(pub String);

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadSetting {}

/// The text of every setting, before parsing.
#[derive(Clone, Debug, Default)]
pub struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// `flags` and `environment` look up one setting.
    pub fn gather(
        flags: impl Fn(&Setting) -> Option<String>,
        environment: impl Fn(&str) -> Option<String>,
        file: Option<&Path>,
    ) -> Result<Values, BadSetting> {
        let file = file.map(read_file).transpose()?.unwrap_or_default();
        let mut values = BTreeMap::new();
        for setting in SETTINGS {
            let value = flags(setting)
                .map(|text| Value { text, origin: Origin::Flag })
                .or_else(|| environment(setting.name).map(|text| Value { text, origin: Origin::Environment }))
                .or_else(|| file.get(setting.name).map(|text| Value { text: text.clone(), origin: Origin::File }))
                .unwrap_or_else(|| Value { text: setting.default.to_owned(), origin: Origin::Default });
            values.insert(setting.name, value);
        }
        for setting in SETTINGS.iter().filter(|setting| setting.secret) {
            if let Some(value) = secret_from_file(&values, setting)? {
                values.insert(setting.name, value);
            }
        }
        Ok(Values(values))
    }

    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| unreachable!("{name} is not in the settings table"))
    }
}

/// The content of the file that `<NAME>_FILE` names.
fn secret_from_file(values: &BTreeMap<&'static str, Value>, setting: &Setting) -> Result<Option<Value>, BadSetting> {
    let named = format!("{}_FILE", setting.name);
    let Some(file) = values.get(named.as_str()).filter(|file| !file.text.is_empty()) else { return Ok(None) };
    if values.get(setting.name).is_some_and(|value| !value.text.is_empty()) {
        return Err(BadSetting(format!("{} and {named} are both set: set only one of them", setting.name)));
    }
    let text = std::fs::read_to_string(&file.text).map_err(|e| BadSetting(format!("{named} {}: {e}", file.text)))?;
    Ok(Some(Value { text: text.trim().to_owned(), origin: file.origin }))
}

/// Reads a TOML file with the names of the settings in lower case.
fn read_file(path: &Path) -> Result<BTreeMap<&'static str, String>, BadSetting> {
    let bad = |why: String| BadSetting(format!("the settings file {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
    // The error's own text quotes the line, which may hold a secret.
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| bad(place(&text, e.span())))?;
    let mut values = BTreeMap::new();
    for (key, value) in table {
        let known = SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(&key));
        let setting = known.ok_or_else(|| bad(format!("unknown setting {key:?}")))?;
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(on) => u8::from(on).to_string(),
            other => {
                return Err(bad(format!(
                    "{key} is a {}: expected a string, an integer or a boolean",
                    other.type_str()
                )));
            }
        };
        values.insert(setting.name, text);
    }
    Ok(values)
}

fn place(text: &str, at: Option<std::ops::Range<usize>>) -> String {
    let Some(before) = at.and_then(|at| text.get(..at.start)) else { return "it is not valid TOML".into() };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("it is not valid TOML at line {line}, column {column}")
}
