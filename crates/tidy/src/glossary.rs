//! Checks `docs/glossary.md`, which gives our nouns one line each and names the code that carries them: the
//! names it uses must exist.

use crate::tree::{File, files, none};
use crate::unique::types;

const GLOSSARY: &str = "docs/glossary.md";

/// Words that we use in exactly one meaning.
const NOUNS: &[&str] = &[
    "ledger",
    "door",
    "lane",
    "batch",
    "subject",
    "arrival number",
    "entry",
    "ticket",
    "generation",
    "dialect",
    "hold",
    "stay",
    "hall",
];

/// Rows of its table: noun, Korean, meaning, code.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| --"));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// Names between backticks.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// `stores::ledger` is `crates/stores/src/ledger.rs`, `Ledger` a public type.
fn exists(name: &str, files: &[File]) -> bool {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return types(files).contains_key(name);
    }
    let Some((of, module)) = name.split_once("::") else { return false };
    let path = format!("crates/{of}/src/{}.rs", module.replace("::", "/"));
    files.iter().any(|file| file.path == path)
}

fn wrong(files: &[File]) -> Vec<String> {
    let Some(glossary) = files.iter().find(|file| file.path == GLOSSARY) else {
        return vec![format!("{GLOSSARY} is missing")];
    };
    let mut complaints = Vec::new();
    let rows = rows(&glossary.text);
    for noun in NOUNS {
        let lines: Vec<_> = rows.iter().filter(|row| row[0] == *noun).collect();
        match lines[..] {
            [line] if line.len() == 4 && line.iter().all(|cell| !cell.is_empty()) => {
                if named(line[3]).next().is_none() {
                    complaints.push(format!("{GLOSSARY}: `{noun}` names no code"));
                }
            }
            [_] => complaints.push(format!("{GLOSSARY}: `{noun}` needs a Korean word, a meaning and code")),
            _ => complaints.push(format!("{GLOSSARY}: `{noun}` has {} lines, not one", lines.len())),
        }
    }
    let gone = rows.iter().flat_map(|row| row.iter().flat_map(|cell| named(cell))).filter(|name| !exists(name, files));
    complaints.extend(gone.map(|name| format!("{GLOSSARY}: there is no `{name}`")));
    complaints
}

#[test]
fn the_glossary_names_our_nouns_and_code_that_exists() {
    none(&wrong(&files()));
}

#[test]
fn a_wrong_glossary_is_noticed() {
    let row = |noun: &str| format!("| {noun} | \u{b9d0} | What it means. | `Thing`, `a::thing` |\n");
    let whole: String = NOUNS.iter().map(|noun| row(noun)).collect();
    let tree = |text: &str| {
        let code = File::new("crates/a/src/thing.rs", "pub struct Thing;");
        [File::new(GLOSSARY, &format!("| noun | Korean | meaning | code |\n| --- | --- | --- | --- |\n{text}")), code]
    };
    none(&wrong(&tree(&whole)));
    for (text, count) in [
        (whole.replace(&row("hold"), ""), 1),
        (format!("{whole}{}", row("hold")), 1),
        (whole.replace(&row("hold"), "| hold |  | What it means. | `Thing` |\n"), 1),
        (whole.replace(&row("hold"), "| hold | \u{b9d0} | What it means. | nothing |\n"), 1),
        (format!("{whole}| more | \u{b9d0} | `Gone`. | `a::gone`, `Thing` |\n"), 2),
    ] {
        assert_eq!(wrong(&tree(&text)).len(), count, "{text}");
    }
    assert_eq!(wrong(&[]).len(), 1, "no glossary at all");
}
