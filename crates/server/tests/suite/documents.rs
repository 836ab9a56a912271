//! The pages, run as printed: every shell block of the README's first five minutes, of `docs/holds.md`,
//! `docs/waiting-room.md` and `docs/guides/operators.md`, in the order of the pages, in one fresh folder; the other pages
//! each in a fresh folder of their own ([`guides`]).
//!
//! A JSON block behind a shell block is its answer: the last line that the block printed must have the
//! same fields, with values of the same kind; `success`, `status` and `reason` must be equal.
//! Blocks of the kind `console` start servers, or name other machines: [`consoles`] types them.

mod consoles;
mod guides;
mod named_commands;
mod terminal;

use std::path::Path;

use testing::folder::TestFolder;
use testing::process::ServerProcess;

use self::terminal::{Terminal, page};

#[tokio::test(flavor = "multi_thread")]
async fn heavy_documents_run_as_printed() {
    let folder = TestFolder::new("documents");
    let data = folder.path().join("tickettock-data");
    let process = ServerProcess::start(&data, &[]).await;
    let readme = page("README.md");
    let five_minutes = readme.split("## The first five minutes").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut terminal = Terminal::default();
    terminal.read(five_minutes);
    terminal.read(&page("docs/holds.md"));
    terminal.read(&page("docs/waiting-room.md"));
    terminal.read(&page("docs/guides/operators.md"));
    assert!(terminal.steps > 20 && terminal.expected.len() > 8, "{} steps", terminal.steps);

    terminal.run(&process, folder.path()).await;
    let everything = terminal.compared(folder.path());
    // Nothing was refused that the pages do not say is refused.
    let mut refused = terminal::reasons(&everything);
    refused.retain(|reason| *reason != "sold_out");
    assert_eq!(refused, ["duplicate", "hold_already_processed", "entry_required"], "{everything}");
    // On a busy machine some of the crowd gets 503 instead of `sold_out`.
    assert_eq!(everything.matches("1,000 sold, 0 sold twice, 0 lost, ").count(), 2, "{everything}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_korean_pages_run_as_printed() {
    let folder = TestFolder::new("documents");
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &[]).await;
    let mut terminal = Terminal::default();
    terminal.read(&page("docs/ko/first-five-minutes.md"));
    assert_eq!(terminal.steps, 4);
    terminal.run(&process, folder.path()).await;
    let everything = terminal.compared(folder.path());
    assert!(!everything.contains("\"success\":false") && everything.contains("0 sold twice, 0 lost"), "{everything}");
}

/// The table of contents has every page, so that none is forgotten.
#[test]
fn summary_names_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut open = vec![docs.clone()];
    let mut missing = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&docs).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.ends_with(".md") && !name.starts_with("decisions/0") && name != "SUMMARY.md" {
                missing.extend((!summary.contains(&format!("]({name})"))).then_some(name));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
