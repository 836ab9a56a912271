//! A temporary folder that is kept as evidence when the test fails.

use std::path::Path;

pub struct TestFolder(Option<tempfile::TempDir>);

impl TestFolder {
    /// Named after what is in it.
    pub fn new(what: &str) -> TestFolder {
        let prefix = format!("tickettock-{what}-");
        TestFolder(Some(tempfile::Builder::new().prefix(&prefix).tempdir().expect("a temporary folder")))
    }

    pub fn path(&self) -> &Path {
        self.0.as_ref().map(tempfile::TempDir::path).expect("a folder until it is dropped")
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(folder) = self.0.take()
        {
            eprintln!("evidence is kept in {:?}", folder.keep());
        }
    }
}
