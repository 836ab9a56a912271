//! Checks that links between documents and files of the repository resolve.

use crate::tree::{File, everything, none};

/// `[text](target)` outside code, without links that leave the repository.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Odd parts are between backticks.
        for prose in line.split('`').step_by(2) {
            for rest in prose.split("](").skip(1) {
                let target = rest.split([')', ' ']).next().unwrap_or_default();
                found.push((i + 1, target));
            }
        }
        // A link whose text is code is cut by the split above: [`file`](file).
        for rest in line.split("`](").skip(1) {
            found.push((i + 1, rest.split([')', ' ']).next().unwrap_or_default()));
        }
    }
    found.retain(|(_, target)| !target.contains("://") && !target.starts_with("mailto:") && !target.starts_with('#'));
    found.sort_unstable();
    found.dedup();
    found
}

/// The path that a link in `from` points to, from the root of the repository. None: outside of it.
fn resolve(from: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').collect(),
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn broken(files: &[File]) -> Vec<String> {
    let leads_somewhere = |path: &str| {
        let folder = format!("{path}/");
        files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    };
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["md"])) {
        for (line, target) in targets(&file.text) {
            if !resolve(&file.path, target).is_some_and(|path| leads_somewhere(&path)) {
                complaints.push(format!("{}:{line}: the link to {target} leads nowhere", file.path));
            }
        }
    }
    complaints
}

#[test]
fn every_link_leads_somewhere() {
    none(&broken(&everything()));
}

#[test]
fn a_broken_link_is_noticed() {
    let tree = |text: &str| [File::new("docs/a.md", text), File::new("crates/rules/src/lib.rs", "")];
    for good in [
        "[rules](../crates/rules/src/lib.rs)",
        "[`rules`](../crates/rules)",
        "[here](#there) [out](https://example.org/a.md) [me](a.md#part)",
        "[root](/crates/rules/src/lib.rs)",
        "`[code](gone.md)`",
        "```\n[code](gone.md)\n```",
    ] {
        none(&broken(&tree(good)));
    }
    for bad in ["[gone](gone.md)", "[`gone`](gone.md)", "a [x](a.md) and [y](../gone.md#part)", "[out](../../a.md)"] {
        assert_eq!(broken(&tree(bad)).len(), 1, "{bad}");
    }
}
