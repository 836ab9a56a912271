//! A reader at a terminal: types the shell blocks of pages into one shell, so that variables stay, and compares what
//! they print with the JSON blocks behind them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testing::process::{ServerProcess, binary};

/// A file of the repository.
pub fn page(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// A fenced block.
pub struct Block {
    pub kind: String,
    pub text: String,
}

pub fn blocks(page: &str) -> Vec<Block> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced
        .map(|block| {
            let (kind, text) = block.split_once('\n').unwrap();
            Block { kind: kind.to_owned(), text: text.to_owned() }
        })
        .collect()
}

#[derive(Default)]
pub struct Terminal {
    script: String,
    pub expected: Vec<(usize, Value)>,
    pub steps: usize,
}

impl Terminal {
    pub fn read(&mut self, page: &str) {
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
    pub async fn run(&self, process: &ServerProcess, folder: &Path) {
        let url = format!("http://{}", process.address);
        let rush = format!("{} rush {url}", binary().get_program().to_str().unwrap());
        let replaced = [("http://127.0.0.1:5800", url.as_str()), ("cargo run --bin tickettock -- rush", &rush)];
        let port = process.address.port().to_string();
        self.typed(folder, &replaced, &[("APP_PORT", &port)]).await;
    }

    /// With these words in place of those, and these settings in the environment.
    pub async fn typed(&self, folder: &Path, replaced: &[(&str, &str)], settings: &[(&str, &str)]) {
        let built = binary().get_program().to_str().unwrap().to_owned();
        let mut script = self.script.clone();
        for (printed, typed) in replaced.iter().chain(&[("cargo run --bin tickettock --", built.as_str())]) {
            script = script.replace(printed, typed);
        }
        // `tickettock`, as where it is installed.
        let installed = Path::new(&built).parent().unwrap().to_str().unwrap();
        let path = format!("{installed}:{}", std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("bash");
        shell.args(["-e", "-u", "-o", "pipefail"]).current_dir(folder);
        for setting in server::settings::SETTINGS {
            shell.env_remove(setting.name);
        }
        shell.env("PATH", path).envs(settings.iter().copied());
        let output = tokio::task::spawn_blocking(move || {
            let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            shell.wait_with_output().unwrap()
        });
        let output = output.await.unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "step {:?}: {complaint}", output.status.code());
    }

    /// Everything that was printed, after it was compared with the pages.
    pub fn compared(&self, folder: &Path) -> String {
        let said = |step: usize| std::fs::read_to_string(folder.join(format!("step-{step}.out"))).unwrap();
        for (step, printed) in &self.expected {
            let said = said(*step);
            let last = said.trim().lines().last().unwrap_or_default();
            let last = last.rfind("{\"success\"").map_or(last, |at| &last[at..]);
            let told: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("step {step}: {e}: {said}"));
            alike(printed, &told, &format!("step {step}"));
        }
        (1..=self.steps).map(said).collect()
    }
}

/// The reasons of all refusals, in order.
pub fn reasons(said: &str) -> Vec<&str> {
    said.split("\"reason\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
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
