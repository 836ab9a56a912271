//! The binary that users get contains no test hook: no planted bug and no conformance suite.
//!
//! Test hooks are features of the stores and of the server. `cargo nextest` builds the workspace with the features of
//! the dev-dependencies, so the binary beside this test does contain them, and looking at it alone
//! would prove nothing.

use std::path::Path;
use std::process::Command;

/// A module of the stores and of the server that exists only with the feature `planted`. Its name is in the symbols of every
/// function of it, and symbols are not stripped.
const PLANTED: &str = "on_purpose";

/// The features of a crate, all of which are for tests.
fn test_features(manifest: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest);
    let text = std::fs::read_to_string(manifest).unwrap();
    let section = text.split("[features]\n").nth(1).expect("the crate has features");
    let section = section.split("\n[").next().unwrap();
    let names = section.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" ="));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// What cargo would build for `cargo build -p tickettock`, with its features.
fn tree(edges: &str) -> String {
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.args(["tree", "--package", "tickettock", "--locked", "--offline", "--prefix", "none", "--edges", edges]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Proves that a build without dev-dependencies enables none of the test features, by cargo's own
/// resolution. The same question with dev-dependencies must find every one of them: else the names or the
/// output have changed, and the test would pass for the wrong reason.
#[test]
fn plain_build_enables_no_test_feature() {
    let (plain, with_tests) = (tree("features,no-dev"), tree("features"));
    for (package, manifest) in [("tickettock-stores", "../stores/Cargo.toml"), ("tickettock", "Cargo.toml")] {
        let features = test_features(manifest);
        assert!(features.iter().any(|name| name == "planted"), "{features:?}");
        assert!(plain.contains(&format!("{package} v")), "{package} is part of it: {plain}");
        for name in features {
            let enabled = format!("{package} feature \"{name}\"");
            assert!(
                with_tests.contains(&enabled),
                "no test enables {name} of {package}, or cargo writes it differently"
            );
            assert!(!plain.contains(&enabled), "users would get {name} of {package}");
        }
    }
}

/// Proves that a release binary that was built here, by `make bench` or for a release, contains no
/// planted bug. The binary of the tests must contain them: else the mark is wrong. Where nobody has
/// built a release, only the test above speaks.
#[test]
fn release_binary_contains_no_planted_bug() {
    let of_tests = Path::new(env!("CARGO_BIN_EXE_tickettock"));
    assert!(contains(of_tests, PLANTED), "the mark of planted bugs is not where they are");
    let release = of_tests.ancestors().nth(2).unwrap().join("release/tickettock");
    if release.exists() {
        assert!(!contains(&release, PLANTED), "{release:?} has planted bugs");
    } else {
        println!("{release:?} was not built");
    }
}

/// By grep: a binary has a hundred megabytes and more.
fn contains(binary: &Path, mark: &str) -> bool {
    let found = Command::new("grep").args(["--quiet", "--text", "--fixed-strings", mark]).arg(binary).status().unwrap();
    assert!(matches!(found.code(), Some(0 | 1)), "grep {binary:?}: {found}");
    found.success()
}
