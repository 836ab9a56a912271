//! The pages for beginners, run as printed: every shell block of the README's first five minutes, of
//! `docs/holds.md`, `docs/waiting-room.md` and `docs/guides/operators.md`, in the order of the pages, in one fresh folder.
//!
//! A JSON block behind a shell block is its answer: the last line that the block printed must have the
//! same fields, with values of the same kind; `success`, `status` and `reason` must be equal.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

/// A fenced block.
struct Block {
    kind: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced
        .map(|block| {
            let (kind, text) = block.split_once('\n').unwrap();
            Block { kind: kind.to_owned(), text: text.to_owned() }
        })
        .collect()
}

/// The beginner's terminal: one shell for all pages, so that variables stay.
struct Terminal {
    script: String,
    expected: Vec<(usize, Value)>,
    steps: usize,
}

impl Terminal {
    fn read(&mut self, page: &str) {
        for block in blocks(page) {
            match block.kind.as_str() {
                "sh" if block.text.starts_with("make ") => {}
                "sh" => {
                    self.steps += 1;
                    let step = self.steps;
                    self.script += &format!("{{\n{}\n}} > step-{step}.out || exit {step}\n", block.text);
                }
                "json" => self.expected.push((self.steps, serde_json::from_str(&block.text).unwrap())),
                _ => {}
            }
        }
    }

    /// Types everything into one shell. The port is the only thing that differs from what is printed.
    async fn run(&self, process: &ServerProcess, folder: &Path) {
        let url = format!("http://{}", process.address);
        let built = binary().get_program().to_str().unwrap().to_owned();
        let script = self.script.replace("http://127.0.0.1:5800", &url);
        let script = script.replace("cargo run --bin tickettock -- rush", &format!("{built} rush {url}"));
        let script = script.replace("cargo run --bin tickettock --", &built);
        let folder = folder.to_owned();
        let output = tokio::task::spawn_blocking(move || {
            let mut shell = Command::new("bash");
            shell.args(["-e", "-u", "-o", "pipefail"]).current_dir(folder).env_remove("ADMIN_TOKEN");
            let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            shell.wait_with_output().unwrap()
        });
        let output = output.await.unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "step {:?}: {complaint}", output.status.code());
    }
}

/// The same fields with values of the same kind.
fn alike(printed: &Value, told: &Value, path: &str) {
    match (printed, told) {
        (Value::Object(printed), Value::Object(told)) => {
            let names = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(printed), names(told), "{path}");
            for (name, value) in printed {
                if matches!(name.as_str(), "success" | "status" | "state" | "reason") {
                    assert_eq!(value, &told[name], "{path}.{name}");
                }
                alike(value, &told[name], &format!("{path}.{name}"));
            }
        }
        (Value::Array(printed), Value::Array(told)) => {
            assert_eq!(printed.len(), told.len(), "{path}");
            printed.iter().zip(told).for_each(|(printed, told)| alike(printed, told, path));
        }
        _ => assert_eq!(std::mem::discriminant(printed), std::mem::discriminant(told), "{path}: {printed} {told}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_documents_run_as_printed() {
    let folder = TestFolder::new("documents");
    let data = folder.path().join("tickettock-data");
    let process = ServerProcess::start(&data, &[]).await;
    let page = |file: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file));
    let readme = page("README.md").unwrap();
    let five_minutes = readme.split("## The first five minutes").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut terminal = Terminal { script: String::new(), expected: Vec::new(), steps: 0 };
    terminal.read(five_minutes);
    terminal.read(&page("docs/holds.md").unwrap());
    terminal.read(&page("docs/waiting-room.md").unwrap());
    terminal.read(&page("docs/guides/operators.md").unwrap());
    assert!(terminal.steps > 20 && terminal.expected.len() > 8, "{} steps", terminal.steps);

    terminal.run(&process, folder.path()).await;
    let said = |step: usize| std::fs::read_to_string(folder.path().join(format!("step-{step}.out"))).unwrap();
    for (step, printed) in &terminal.expected {
        let said = said(*step);
        let last = said.trim().lines().last().unwrap_or_default();
        let last = last.rfind("{\"success\"").map_or(last, |at| &last[at..]);
        let told: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("step {step}: {e}: {said}"));
        alike(printed, &told, &format!("step {step}"));
    }
    // Nothing was refused that the pages do not say is refused.
    let everything: String = (1..=terminal.steps).map(&said).collect();
    let mut refused: Vec<&str> =
        everything.split("\"reason\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    refused.retain(|reason| *reason != "sold_out");
    assert_eq!(refused, ["duplicate", "hold_already_processed", "entry_required"], "{everything}");
    // On a busy machine some of the crowd gets 503 instead of `sold_out`.
    assert_eq!(everything.matches("1,000 sold, 0 sold twice, 0 lost, ").count(), 2, "{everything}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_korean_pages_run_as_printed() {
    let folder = TestFolder::new("documents");
    let process = ServerProcess::start(&folder.path().join("tickettock-data"), &[]).await;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ko/first-five-minutes.md");
    let mut terminal = Terminal { script: String::new(), expected: Vec::new(), steps: 0 };
    terminal.read(&std::fs::read_to_string(page).unwrap());
    assert_eq!(terminal.steps, 4);
    terminal.run(&process, folder.path()).await;
    let everything: String =
        (1..=4).map(|step| std::fs::read_to_string(folder.path().join(format!("step-{step}.out"))).unwrap()).collect();
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
