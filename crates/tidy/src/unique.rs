//! A public type name means one thing: no two types of the workspace share one, in whatever module or
//! crate. A search for a name finds its one definition.

use std::collections::BTreeMap;

use crate::tree::{File, files, none};
use crate::words::code;

/// `pub struct Name`, `pub enum`, `pub trait`, `pub type`: the name.
fn defined(line: &str) -> Option<&str> {
    let rest = code(line).trim_start().strip_prefix("pub ")?;
    let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

/// The lines of a file with their numbers, without its test modules.
fn without_tests(text: &str) -> Vec<(usize, &str)> {
    let (mut kept, mut lines) = (Vec::new(), text.lines().enumerate().peekable());
    while let Some((i, line)) = lines.next() {
        let opens_tests = line.trim() == "#[cfg(test)]"
            && lines.peek().is_some_and(|(_, next)| next.trim_start().starts_with("mod ") && next.ends_with('{'));
        if opens_tests {
            // As rustfmt writes it: the module ends with a brace under its first line.
            let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
            lines.by_ref().find(|(_, line)| *line == end);
        } else {
            kept.push((i + 1, line));
        }
    }
    kept
}

/// The files that `mod name;` in this file refers to: `folder/name.rs`, and everything below
/// `folder/name/`.
fn module_of(file: &str, name: &str) -> String {
    let folder = ["/lib.rs", "/main.rs", "/mod.rs"].iter().find_map(|root| file.strip_suffix(root));
    format!("{}/{name}", folder.unwrap_or(file.trim_end_matches(".rs")))
}

/// Files that are compiled for tests only.
fn test_modules(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        for pair in lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]") {
            if let Some(name) =
                pair[1].trim_start_matches("pub ").strip_prefix("mod ").and_then(|m| m.strip_suffix(';'))
            {
                found.push(module_of(&file.path, name));
            }
        }
    }
    found
}

/// Every public type of the workspace, with the places that define it.
pub fn types(files: &[File]) -> BTreeMap<&str, Vec<String>> {
    let sources: Vec<&File> = files
        .iter()
        .filter(|f| f.path.starts_with("crates/") && f.path.contains("/src/") && f.has_extension(&["rs"]))
        .collect();
    let tests = test_modules(files);
    let in_tests = |path: &str| {
        tests.iter().any(|module| path == format!("{module}.rs") || path.starts_with(&format!("{module}/")))
    };
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in sources.into_iter().filter(|file| !in_tests(&file.path)) {
        for (line, text) in without_tests(&file.text) {
            if let Some(name) = defined(text) {
                found.entry(name).or_default().push(format!("{}:{line}", file.path));
            }
        }
    }
    found
}

fn twice(files: &[File]) -> Vec<String> {
    let shared = types(files).into_iter().filter(|(_, places)| places.len() > 1);
    shared.map(|(name, places)| format!("`{name}` is defined {} times: {}", places.len(), places.join(", "))).collect()
}

#[test]
fn public_type_names_are_unique() {
    none(&twice(&files()));
}

#[test]
fn a_name_defined_twice_is_noticed() {
    let one = File::new("crates/a/src/lib.rs", "pub struct Sale {\n");
    for other in ["pub struct Sale;", "    pub enum Sale {", "pub trait Sale: Send {", "pub type Sale<T> = Vec<T>;"] {
        let tree = [File::new(&one.path, &one.text), File::new("crates/b/src/deep/sale.rs", other)];
        assert_eq!(twice(&tree), ["`Sale` is defined 2 times: crates/a/src/lib.rs:1, crates/b/src/deep/sale.rs:1"]);
    }
    for fine in [
        "struct Sale;",
        "pub(crate) struct Sale;",
        "pub struct Sales;",
        "// pub struct Sale;",
        "#[cfg(test)]\nmod tests {\n    pub struct Sale;\n}\n",
    ] {
        none(&twice(&[File::new(&one.path, &one.text), File::new("crates/b/src/lib.rs", fine)]));
    }
    none(&twice(&[File::new(&one.path, &one.text), File::new("crates/a/tests/suite/main.rs", &one.text)]));
}

#[test]
fn what_follows_a_test_module_is_looked_at() {
    let text = "pub struct A;\n#[cfg(test)]\nmod tests {\n    fn x() {}\n}\npub struct A;\n";
    assert_eq!(
        twice(&[File::new("crates/a/src/lib.rs", text)]),
        ["`A` is defined 2 times: crates/a/src/lib.rs:1, crates/a/src/lib.rs:6"]
    );
}

#[test]
fn test_modules_in_files_do_not_count() {
    let tree = |declared: &str| {
        [
            File::new("crates/a/src/lib.rs", &format!("pub struct A;\n{declared}\nmod kit;\n")),
            File::new("crates/a/src/kit.rs", "pub struct A;"),
            File::new("crates/a/src/kit/part.rs", "pub struct A;"),
        ]
    };
    none(&twice(&tree("#[cfg(test)]")));
    assert_eq!(twice(&tree("")).len(), 1);
}
