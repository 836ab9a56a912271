//! What each crate must not use. Every sentence here is in ARCHITECTURE.md.

use crate::tree::{File, files, none};
use crate::words::{code, find};

struct Absence {
    says: &'static str,
    under: &'static str,
    /// Paths with these prefixes are exempt.
    but: &'static [&'static str],
    words: &'static [&'static str],
}

const ABSENCES: &[Absence] = &[
    Absence {
        says: "the rules know no async runtime and no threads",
        under: "crates/rules/src/",
        but: &[],
        words: &["tokio", "async", "await", "std::thread", "futures_util"],
    },
    Absence {
        says: "the rules open no file and no socket, and print nothing",
        under: "crates/rules/src/",
        but: &[],
        words: &[
            "std::fs",
            "std::io",
            "std::env",
            "std::process",
            "TcpStream",
            "TcpListener",
            "UdpSocket",
            "UnixStream",
            "println!",
            "eprintln!",
            "print!",
            "eprint!",
        ],
    },
    Absence {
        says: "the rules read no clock",
        under: "crates/rules/src/",
        but: &[],
        words: &["SystemTime", "Instant", "Timestamp", "Zoned", "jiff::tz", "chrono"],
    },
    Absence {
        says: "the rules draw no random number",
        under: "crates/rules/src/",
        but: &[],
        words: &["rand", "uuid", "getrandom", "RandomState::new"],
    },
    Absence {
        says: "no store knows HTTP",
        under: "crates/stores/src/",
        but: &[],
        words: &["salvo", "hyper", "http::", "StatusCode", "HeaderMap"],
    },
    Absence {
        says: "no store reads a clock: time is handed in",
        under: "crates/stores/src/",
        // The suite measures how long it waited; it makes no decision by it.
        // The log limit decides only which lines are written, and onlookers rest for as long as a call took.
        but: &[
            "crates/stores/src/conformance",
            "crates/stores/src/log_limit.rs",
            "crates/stores/src/door/redis/onlookers.rs",
        ],
        words: &["SystemTime::now", "Instant::now", "Timestamp::now"],
    },
    Absence {
        says: "status codes are named in http/respond only",
        under: "crates/server/src/",
        // Traces have an attribute of that name.
        but: &["crates/server/src/http/respond", "crates/server/src/telemetry/traces/otlp.rs"],
        words: &["StatusCode", "status_code"],
    },
    Absence {
        says: "SQL lives in the stores",
        under: "crates/server/src/",
        but: &[],
        words: &["rusqlite", "prepare_cached", "tokio_postgres"],
    },
    Absence {
        says: "the client names its routes once",
        under: "crates/client/src/",
        but: &["crates/client/src/api/routes.rs", "crates/client/src/tests.rs"],
        words: &["api/v1", "v1/holds", "fcfs"],
    },
    Absence {
        says: "the server prints in terminal.rs only: a closed pipe is no panic",
        under: "crates/server/src/",
        but: &["crates/server/src/terminal.rs"],
        words: &["println!", "eprintln!", "print!", "eprint!"],
    },
    Absence {
        says: "the wall clock is read in clock.rs only",
        under: "crates/server/src/",
        but: &["crates/server/src/clock.rs"],
        words: &["SystemTime", "Timestamp::now", "Zoned::now"],
    },
];

fn present(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for absence in ABSENCES {
        let here = files.iter().filter(|file| {
            file.has_extension(&["rs"])
                && file.path.starts_with(absence.under)
                && !absence.but.iter().any(|but| file.path.starts_with(but))
        });
        for file in here {
            for (i, line) in file.text.lines().enumerate() {
                if let Some(word) = find(code(line), absence.words) {
                    complaints.push(format!("{}:{}: `{word}`, but {}", file.path, i + 1, absence.says));
                }
            }
        }
    }
    complaints
}

#[test]
fn absences_hold() {
    none(&present(&files()));
}

#[test]
fn every_broken_absence_is_noticed() {
    for absence in ABSENCES {
        for word in absence.words {
            let planted = File::new(&format!("{}planted.rs", absence.under), &format!("fn f() {{}}\n    {word} ;\n"));
            let complaints = present(&[planted]);
            assert!(complaints.iter().any(|c| c.contains(absence.says)), "{word} was not noticed");
        }
    }
}

#[test]
fn allowed_uses_are_left_alone() {
    let allowed = [
        File::new("crates/rules/src/ids.rs", "use std::net::IpAddr; // no tokio\n//! reads no clock: SystemTime\n"),
        File::new("crates/stores/src/conformance/expiry.rs", "let began = Instant::now();"),
        File::new("crates/server/src/http/respond/v1_1.rs", "StatusCode::OK"),
        File::new("crates/server/tests/all/fcfs.rs", "StatusCode::OK"),
    ];
    none(&present(&allowed));
}

/// What a crate may depend on. The compiler forbids the rest.
const MAY_DEPEND: &[(&str, &str, &[&str])] = &[
    ("crates/rules/Cargo.toml", "dependencies", &["hex", "jiff", "serde", "subtle"]),
    ("crates/rules/Cargo.toml", "dev-dependencies", &["proptest", "stateright"]),
    ("crates/rules/Cargo.toml", "build-dependencies", &[]),
    (
        "crates/client/Cargo.toml",
        "dependencies",
        &[
            "http-body-util",
            "hyper",
            "hyper-util",
            "rustls",
            "rustls-native-certs",
            "serde",
            "serde_json",
            "tokio",
            "tokio-rustls",
            "url",
        ],
    ),
];

/// What a crate must not depend on.
const NEVER_DEPEND: &[(&str, &[&str])] =
    &[("crates/stores/Cargo.toml", &["salvo", "hyper", "http", "tickettock", "server", "clap"])];

fn dependencies<'a>(manifest: &'a str, section: &str) -> Vec<&'a str> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.trim_matches(['[', ']']) == section;
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            names.push(line.split(['.', '=', ' ']).next().unwrap_or_default());
        }
    }
    names
}

fn wrong_dependencies(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (path, section, allowed) in MAY_DEPEND.iter().filter(|(path, ..)| *path == file.path) {
            let others = dependencies(&file.text, section).into_iter().filter(|name| !allowed.contains(name));
            complaints.extend(others.map(|name| format!("{path}: [{section}] must not name {name}")));
        }
        for (path, never) in NEVER_DEPEND.iter().filter(|(path, _)| *path == file.path) {
            let found = dependencies(&file.text, "dependencies").into_iter().filter(|name| never.contains(name));
            complaints.extend(found.map(|name| format!("{path}: must not depend on {name}")));
        }
    }
    complaints
}

#[test]
fn crates_depend_only_on_what_they_may() {
    none(&wrong_dependencies(&files()));
}

#[test]
fn a_wrong_dependency_is_noticed() {
    let planted = [
        File::new("crates/rules/Cargo.toml", "[dependencies]\nserde.workspace = true\ntokio = \"1\"\n"),
        File::new("crates/stores/Cargo.toml", "[dependencies]\nsalvo.workspace = true\n"),
        File::new("crates/client/Cargo.toml", "[dependencies]\nhyper.workspace = true\nstores.workspace = true\n"),
    ];
    assert_eq!(wrong_dependencies(&planted).len(), 3);
}
