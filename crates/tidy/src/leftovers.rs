//! Finds leftovers: unfinished work, tests that do not run, files too long to read, and paths of a
//! developer's machine.

use crate::tree::{File, files, none};
use crate::words::find;

const SOURCE: &[&str] = &["rs", "sql", "lua", "sh", "py", "js", "ts", "svelte", "css", "html"];
const LINES_MOST: usize = 500;

const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!", "FIXME", "XXX", "#[ignore]", "#[ignore ="];

fn unfinished(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(SOURCE)) {
        for (i, line) in file.text.lines().enumerate() {
            if let Some(word) = find(line, UNFINISHED) {
                complaints.push(format!("{}:{}: `{word}`: finish it or take it out", file.path, i + 1));
            }
        }
    }
    complaints
}

/// Checked in every file, including documents and tool settings.
const MACHINE_PATHS: &[&str] = &["/root/", "/home/", "/work/", "/Users/"];

fn machine_paths(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (i, line) in file.text.lines().enumerate() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| begins_there(line, path)) {
                complaints.push(format!("{}:{}: `{path}`: a path of one machine", file.path, i + 1));
            }
        }
    }
    complaints
}

/// `docs/work/` and `example.org/home/` do not begin at the root.
fn begins_there(line: &str, path: &str) -> bool {
    let part_of_longer = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}');
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(part_of_longer))
}

/// Made from the OpenAPI document; the suite fails if it is not what that says.
const GENERATED: &[&str] = &["sdk/typescript/src/schema.ts"];

fn too_long(files: &[File]) -> Vec<String> {
    let written = |file: &&File| file.has_extension(SOURCE) && !GENERATED.contains(&file.path.as_str());
    let sources = files.iter().filter(written);
    let long = sources.map(|file| (file, file.text.lines().count())).filter(|(_, lines)| *lines > LINES_MOST);
    long.map(|(file, lines)| format!("{}: {lines} lines; give its second noun a file", file.path)).collect()
}

#[test]
fn nothing_is_unfinished() {
    none(&unfinished(&files()));
}

#[test]
fn no_path_of_a_machine() {
    none(&machine_paths(&files()));
}

#[test]
fn files_are_short() {
    none(&too_long(&files()));
}

#[test]
fn unfinished_work_is_noticed() {
    for word in
        ["todo!()", "unimplemented!()", "dbg!(x)", "// FIXME later", "-- XXX", "#[ignore]", "#[ignore = \"slow\"]"]
    {
        assert_eq!(unfinished(&[File::new("a.rs", word)]).len(), 1, "{word}");
    }
    none(&unfinished(&[File::new("a.sh", "mktemp -d /tmp/XXXXXX"), File::new("a.png", "todo!")]));
}

#[test]
fn a_machine_path_is_noticed() {
    for text in ["see /root/notes", "cd \"/home/someone\"", "`/work/main`", "=/Users/x"] {
        assert_eq!(machine_paths(&[File::new("README.md", text)]).len(), 1, "{text}");
    }
    none(&machine_paths(&[File::new("README.md", "docs/work/a.md, https://example.org/home/, ${root}/work/")]));
}

#[test]
fn a_long_file_is_noticed() {
    assert_eq!(too_long(&[File::new("a.rs", &"\n".repeat(LINES_MOST + 1))]).len(), 1);
    none(&too_long(&[File::new("a.rs", &"\n".repeat(LINES_MOST)), File::new("Cargo.lock", &"\n".repeat(9_999))]));
}
