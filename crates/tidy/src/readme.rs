//! Checks that README.ko.md says what README.md says: the same headings in the same order, the same commands, the
//! same links and pictures.

use std::path::Path;

use crate::tree::{everything, none};

/// Every heading of the README, and the Korean one.
const HEADINGS: [(&str, &str); 9] = [
    ("# Tickettock", "# Tickettock"),
    ("## Two commands", "## 두 가지 명령"),
    ("## What it looks like", "## 화면"),
    ("## The first five minutes", "## 처음 5분"),
    ("## More than one machine", "## 여러 대로"),
    ("## What it promises", "## 약속"),
    ("## When it says no", "## 거절할 때"),
    ("## Settings", "## 설정"),
    ("## Status", "## 상태"),
];

fn english(heading: &str) -> Option<&'static str> {
    HEADINGS.iter().find(|(_, korean)| *korean == heading).map(|(english, _)| *english)
}

/// What both languages have in common, in the order of the page: headings in English, steps (paragraphs that begin
/// in bold), fenced code without comments, table rows, and where links and pictures point.
fn outline(text: &str, korean: bool) -> Vec<String> {
    let (mut found, mut fence) = (Vec::new(), None::<&str>);
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(kind) };
            found.push(line.to_owned());
            continue;
        }
        match fence {
            // Its nodes are prose.
            Some("mermaid") => {}
            Some(_) => found.push(line.split(" # ").next().unwrap_or_default().trim_end().to_owned()),
            None => {
                if line.starts_with('#') {
                    let known = if korean { english(line).unwrap_or("not in HEADINGS") } else { line };
                    found.push(known.to_owned());
                } else if line.starts_with("**") {
                    found.push("a step".into());
                } else if line.starts_with("| ") {
                    found.push(format!("a row of {}", line.matches('|').count()));
                }
                let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
                let pictures = line.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
                found.extend(targets.chain(pictures).filter(|to| !to.starts_with("README")).map(str::to_owned));
            }
        }
    }
    found
}

fn differences(readme: &str, korean: &str) -> Vec<String> {
    let (ours, theirs) = (outline(readme, false), outline(korean, true));
    let both = ours.iter().zip(&theirs).find(|(a, b)| a != b);
    let first = both.map(|(a, b)| format!("README.md has {a:?} where README.ko.md has {b:?}"));
    let length = (ours.len() != theirs.len())
        .then(|| format!("README.md has {} parts, README.ko.md {}", ours.len(), theirs.len()));
    first.or(length).into_iter().collect()
}

#[test]
fn korean_readme_is_in_step() {
    let files = everything();
    let text =
        |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.clone()).unwrap_or_default();
    none(&differences(&text("README.md"), &text("README.ko.md")));
    assert!(outline(&text("README.md"), false).len() > 100);
}

#[test]
fn pictures_are_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let sizes = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let sum: u64 = sizes.sum();
    assert!(sum > 100_000 && sum < 1_500_000, "{sum} bytes");
}

#[test]
fn each_drift_is_noticed() {
    let readme = "# Tickettock\n\n## Settings\n\n**Run it.** See [a](b.md).\n\n```sh\nmake run # now\n```\n";
    let korean = "# Tickettock\n\n## 설정\n\n**실행합니다.** [가](b.md)를 보십시오.\n\n```sh\nmake run # 지금\n```\n";
    none(&differences(readme, korean));
    for (from, to) in [
        ("make run", "make test"),
        ("## 설정", "## 다른 제목"),
        ("b.md", "c.md"),
        ("**실행합니다.**", "실행합니다."),
        ("```sh\nmake run # 지금\n```\n", ""),
    ] {
        assert_eq!(differences(readme, &korean.replace(from, to)).len(), 1, "{from}");
    }
}
