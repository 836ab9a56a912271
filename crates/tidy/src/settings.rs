//! Tests must not see the developer's own settings: `scripts/without-settings.sh` removes every setting in
//! the table.

use crate::tree::{File, files, none};

const TABLE: &str = "crates/server/src/settings/table.rs";
const REMOVES: &str = "scripts/without-settings.sh";

/// The first text of every `setting(...)` and `secret(...)`.
fn names(table: &str) -> Vec<&str> {
    let calls = table.split("setting(").flat_map(|part| part.split("secret(")).skip(1);
    let quoted = calls.filter_map(|call| call.trim_start().strip_prefix('"')?.split('"').next());
    quoted.filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_')).collect()
}

/// The script lists names, and prefixes of names with a star: `REDIS_*`.
fn removes(script: &str, name: &str) -> bool {
    script.split(|c: char| !(c.is_ascii_uppercase() || c == '_' || c == '*')).any(|word| match word.strip_suffix('*') {
        Some(beginning) => !beginning.is_empty() && name.starts_with(beginning),
        None => word == name,
    })
}

fn left_in(files: &[File]) -> Vec<String> {
    let text = |path| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let (names, script) = (names(text(TABLE)), text(REMOVES));
    if names.is_empty() {
        return vec![format!("{TABLE}: no settings were found in it")];
    }
    let left = names.into_iter().filter(|name| !removes(script, name));
    left.map(|name| format!("{REMOVES} leaves {name} in the environment of tests")).collect()
}

#[test]
fn tests_see_no_setting_from_outside() {
    none(&left_in(&files()));
}

#[test]
fn a_setting_that_stays_is_noticed() {
    let table = "setting(\"APP_PORT\", \"5800\", \"..\"),\n secret(\n \"FCFS_NEW\", \"..\")";
    let tree = |script: &str| [File::new(TABLE, table), File::new(REMOVES, script)];
    none(&left_in(&tree("APP_PORT | FCFS_*) unset")));
    assert_eq!(left_in(&tree("APP_PORT)")).len(), 1);
    assert_eq!(left_in(&tree("*)")).len(), 2, "a star alone is not a list");
    assert_eq!(left_in(&[]).len(), 1, "an empty table is a check that looks at nothing");
}
