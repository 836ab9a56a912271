//! Files in the repository that the code writes and the suite pins: a change shows up in review.
//! `INSTA_UPDATE=always` rewrites them, as it does with the snapshots of insta.
//!
//! Output that only tests look at is a snapshot of insta. The files here are documents that people and
//! tools open where they are (`docs/outcomes.md`, `docs/configuration.md`, `openapi/tickettock.yaml`), so
//! they have no header of insta's and live outside of `snapshots/`.

use std::path::Path;

/// Fails unless the file, named from the root of the repository, has exactly this text.
pub fn same_as_file(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| matches!(update.as_str(), "always" | "1" | "force")) {
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
        "{file} is not what the code says (line {}):\n  file: {}\n  code: {}\nINSTA_UPDATE=always cargo test -p tickettock writes it anew",
        at + 1,
        line(&kept),
        line(text)
    );
}
