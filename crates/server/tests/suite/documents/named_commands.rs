//! Commands that pages name without typing them: in the middle of a sentence, in blocks that need other machines, among
//! the examples of `--help`. The binary knows each of them, with its flags, and the settings in front of them.

use std::path::{Path, PathBuf};

use testing::process::binary;

use super::terminal::{blocks, page};

/// Beside `docs/`.
const OTHER_PAGES: [&str; 6] =
    ["README.md", "README.ko.md", "SECURITY.md", "CONTRIBUTING.md", "deploy/README.md", "gateway/README.md"];

fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut open: Vec<PathBuf> = vec![root.join("docs")];
    let mut pages: Vec<String> = OTHER_PAGES.map(str::to_owned).to_vec();
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    pages
}

/// `SETTING=value ... tickettock command ...`, if a line is one, as settings and words.
fn command(line: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let line = line.trim().trim_start_matches("$ ");
    let mut words = line.split_whitespace();
    let mut settings = Vec::new();
    loop {
        let word = words.next()?;
        if word == "tickettock" {
            break;
        }
        let (name, _) = word.split_once('=')?;
        let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || !name.bytes().all(upper) {
            // The rest of a value with spaces, such as `$(openssl rand -hex 32)`.
            return None;
        }
        settings.push(name);
    }
    Some((settings, words.collect()))
}

/// What is wrong with a command, if anything.
fn refused(settings: &[&str], words: &[&str]) -> Option<String> {
    if let Some(name) = settings.iter().find(|name| server::settings::SETTINGS.iter().all(|one| one.name != **name)) {
        return Some(format!("there is no setting {name}"));
    }
    let plain =
        |word: &&&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-');
    let names = words.iter().take_while(plain);
    let help = binary().args(names).arg("--help").output().unwrap();
    let text = String::from_utf8_lossy(&help.stdout);
    if !help.status.success() {
        return Some(String::from_utf8_lossy(&help.stderr).into_owned());
    }
    let flags = words.iter().filter(|word| word.starts_with("--")).map(|flag| flag.split('=').next().unwrap());
    let known = |flag: &str| text.split([' ', ',', '\n', ']']).any(|word| word == flag);
    flags.filter(|flag| !known(flag)).map(|flag| format!("there is no flag {flag}")).next()
}

#[test]
fn commands_that_pages_name_exist() {
    let (mut wrong, mut found) = (Vec::new(), 0);
    let mut check = |at: &str, line: &str| {
        let Some((settings, words)) = command(line) else { return };
        found += 1;
        wrong.extend(refused(&settings, &words).map(|why| format!("{at}: {line}: {why}")));
    };
    for file in pages() {
        let text = page(&file);
        for block in blocks(&text).iter().filter(|block| block.kind == "console") {
            block.text.replace("\\\n", " ").lines().for_each(|line| check(&file, line));
        }
        // Every second part lies between two marks, outside of blocks.
        let prose: String = text.split("\n```").step_by(2).collect();
        for line in prose.lines() {
            line.split('`').skip(1).step_by(2).for_each(|span| check(&file, span));
        }
    }
    let help = binary().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let examples = help.split("Examples:").nth(1).expect("examples");
    // Behind two spaces is what the command does.
    examples.lines().for_each(|line| check("--help", line.trim().split("  ").next().unwrap()));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(found > 60, "only {found} commands were found");
}

#[test]
fn wrong_commands_are_found() {
    let wrong = |line| command(line).and_then(|(settings, words)| refused(&settings, &words));
    assert_eq!(wrong("tickettock event create --name Gala --seats 500"), None);
    assert_eq!(wrong("$ AUTH_MODE=jwt tickettock serve --port 8000"), None);
    assert!(wrong("tickettock concert create").is_some());
    assert!(wrong("tickettock event make --name Gala").is_some());
    assert!(wrong("tickettock event create --title Gala").is_some());
    assert!(wrong("AUTH_MOOD=jwt tickettock serve").is_some());
}
