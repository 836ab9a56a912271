//! How the console reaches the demo: the serving process leaves a wish in a folder, and reads there how it goes.
//! A folder and no connection, because the serving process is the one that gets killed.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

const WISH: &str = "wish.json";
const STATE: &str = "state.json";

/// What the operator asks the demo for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "wish")]
pub enum DemoWish {
    Rush(DemoCrowd),
    /// Kill the serving process in the middle of a rush.
    Plug,
}

/// Who comes. Habits are shares in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DemoCrowd {
    pub buyers: u32,
    pub seats: u32,
    pub double_click: u32,
    pub lost_answers: u32,
    pub cancel: u32,
    /// The plug is pulled when a quarter of the seats is sold.
    pub pull_the_plug: bool,
}

impl Default for DemoCrowd {
    fn default() -> Self {
        DemoCrowd { buyers: 20_000, seats: 1_000, double_click: 5, lost_answers: 2, cancel: 0, pull_the_plug: false }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DemoPhase {
    #[default]
    Idle,
    Rushing,
    /// The plug is pulled: no server.
    Dark,
    Counting,
    Done,
    Failed,
}

/// How it goes, as the console shows it.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DemoState {
    pub phase: DemoPhase,
    /// Counts the rushes of this demo.
    pub run: u32,
    pub event_id: Option<i64>,
    pub crowd: Option<DemoCrowd>,
    pub arrived: u64,
    pub settled: u64,
    pub reserved: u64,
    /// Seats that had been acknowledged when the plug was pulled, and how long it was dark.
    pub plug: Option<PulledPlug>,
    pub verdict: Option<Value>,
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PulledPlug {
    pub sold_before: u64,
    pub dark_ms: Option<u64>,
}

/// The folder between the two processes.
#[derive(Clone, Debug)]
pub struct DemoControl(PathBuf);

impl DemoControl {
    pub fn at(folder: PathBuf) -> DemoControl {
        DemoControl(folder)
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    pub fn ask(&self, wish: DemoWish) -> io::Result<()> {
        self.put(WISH, &serde_json::to_vec(&wish)?)
    }

    /// The wish that was left, once.
    pub fn take(&self) -> Option<DemoWish> {
        let file = self.0.join(WISH);
        let wish = fs::read(&file).ok()?;
        fs::remove_file(&file).ok()?;
        serde_json::from_slice(&wish).ok()
    }

    pub fn tell(&self, state: &DemoState) -> io::Result<()> {
        self.put(STATE, &serde_json::to_vec(state)?)
    }

    pub fn told(&self) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.0.join(STATE)).ok()?).ok()
    }

    /// Whole or not at all: the other process may read at any moment.
    fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, content)?;
        fs::rename(new, self.0.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let control = DemoControl::at(folder.path().to_owned());
        assert_eq!(control.take(), None);
        let wish = DemoWish::Rush(DemoCrowd { pull_the_plug: true, ..DemoCrowd::default() });
        control.ask(wish).unwrap();
        assert_eq!((control.take(), control.take()), (Some(wish), None));
        control.tell(&DemoState { phase: DemoPhase::Dark, ..DemoState::default() }).unwrap();
        assert_eq!(control.told().unwrap()["phase"], "dark");
    }
}
