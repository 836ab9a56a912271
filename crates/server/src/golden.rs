//! Files in the repository that are written by the code and pinned by the suite: a change shows up
//! in review. `UPDATE_GOLDEN=1` writes them anew.

use std::path::Path;

/// Fails unless the file, named from the root of the repository, has exactly this text.
pub fn same_as_file(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).unwrap_or_else(|e| panic!("{file}: {e}"));
        }
        return std::fs::write(&path, text).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(text.lines()).position(|(kept, new)| kept != new);
    let at = differs.unwrap_or_else(|| kept.lines().count().min(text.lines().count()));
    let line = |text: &str| text.lines().nth(at).unwrap_or("(the end)").to_owned();
    assert!(
        kept == text,
        "{file} is not what the code says (line {}):\n  file: {}\n  code: {}\nUPDATE_GOLDEN=1 cargo test -p tickettock writes it anew",
        at + 1,
        line(&kept),
        line(text)
    );
}
