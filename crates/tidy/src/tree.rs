//! The files of the repository, as text.

use std::fs;
use std::path::Path;

pub struct File {
    /// From the root of the repository, with forward slashes.
    pub path: String,
    pub text: String,
}

impl File {
    pub fn new(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
    }
}

/// Generated or foreign files: builds, data and third-party packages.
const NOT_SOURCE: &[&str] = &[".git", "target", "tickettock-data", "node_modules", "dist"];
const TIDY_ITSELF: &str = "crates/tidy/";

/// Every text file of the repository but those of this crate.
pub fn files() -> Vec<File> {
    let mut found = everything();
    found.retain(|file| !file.path.starts_with(TIDY_ITSELF));
    found
}

/// Every text file of the repository; pictures are listed without their content, because documents link to them.
pub fn everything() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    collect(&root, "", &mut found);
    assert!(found.iter().any(|f| f.path == "crates/rules/src/decide.rs"), "this is not the source tree: {root:?}");
    found
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<File>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("a folder of the tree").flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        // In a second work tree `.git` is a file.
        if NOT_SOURCE.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{prefix}{name}/"), found);
        } else if kind.is_file() {
            let is_picture = name.ends_with(".png");
            // An editor's temporary file may be gone by now.
            let read = if is_picture { Ok(String::new()) } else { fs::read_to_string(entry.path()) };
            let Ok(text) = read else { continue };
            found.push(File { path: format!("{prefix}{name}"), text });
        }
    }
}

/// Fails with every complaint, one per line.
#[track_caller]
pub fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn an_extension_is_the_end_of_a_name() {
    assert!(File::new("a/b.rs", "").has_extension(&["rs"]));
    assert!(!File::new("a.rs/Makefile", "").has_extension(&["rs"]));
}
