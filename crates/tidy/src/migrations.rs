//! Checks that migrations of PostgreSQL can run while servers sell: no statement that reads or rewrites a whole
//! table under an exclusive lock. docs/upgrades.md says what to write instead. A table that the same migration
//! makes is empty, and may be treated as it likes.

use crate::tree::{File, files, none};

/// The first format after the first release.
const FROM: u32 = 14;

/// What is refused, unless the statement also says the second.
const REFUSED: &[(&str, &str)] = &[
    ("CREATE INDEX", "CONCURRENTLY"),
    ("CREATE UNIQUE INDEX", "CONCURRENTLY"),
    ("ADD CONSTRAINT", "NOT VALID"),
    ("ADD CHECK", "NOT VALID"),
    (" TYPE ", "nothing allows it"),
    ("SET NOT NULL", "nothing allows it"),
    ("VACUUM FULL", "nothing allows it"),
    ("CLUSTER ", "nothing allows it"),
    ("UPDATE ", "LIMIT"),
    ("DELETE FROM", "LIMIT"),
];

fn number(path: &str) -> Option<u32> {
    path.rsplit_once("/V")?.1.split_once("__")?.0.parse().ok()
}

fn blocking(files: &[File]) -> Vec<String> {
    let migrations = files.iter().filter(|file| {
        file.path.contains("/postgres/migrations/") && number(&file.path).is_some_and(|number| number >= FROM)
    });
    let mut complaints = Vec::new();
    for file in migrations {
        let text: String = file
            .text
            .lines()
            .map(|line| line.split("--").next().unwrap_or_default())
            .fold(String::new(), |text, line| text + " " + line);
        let new: Vec<&str> =
            text.split("CREATE TABLE ").skip(1).filter_map(|rest| rest.split([' ', '(']).next()).collect();
        // Functions and triggers change the catalogue only.
        let statements =
            text.split(';').filter(|one| !one.contains("CREATE FUNCTION") && !one.contains("CREATE TRIGGER"));
        for statement in statements {
            let words: Vec<&str> = statement.split([' ', '(', ',']).collect();
            if new.iter().any(|table| words.contains(table)) {
                continue;
            }
            for (refused, unless) in REFUSED {
                if statement.contains(refused) && !statement.contains(unless) {
                    let shown = statement.split_whitespace().collect::<Vec<_>>().join(" ");
                    complaints.push(format!("{}: {shown:?} locks a table for long, see docs/upgrades.md", file.path));
                }
            }
        }
    }
    complaints
}

#[test]
fn migrations_lock_no_table_for_long() {
    none(&blocking(&files()));
}

#[test]
fn a_blocking_migration_is_noticed() {
    let planted = |version: u32, sql: &str| {
        blocking(&[File::new(&format!("crates/stores/src/ledger/postgres/migrations/V{version}__x.sql"), sql)]).len()
    };
    for bad in [
        "CREATE INDEX a ON taken (seat);",
        "ALTER TABLE taken ADD CONSTRAINT a CHECK (seat > 0);",
        "ALTER TABLE taken ALTER COLUMN seat TYPE bigint;",
        "ALTER TABLE taken ALTER COLUMN owner\n SET NOT NULL;",
        "UPDATE taken SET n = 1;",
    ] {
        assert_eq!(planted(FROM, bad), 1, "{bad}");
        assert_eq!(planted(FROM - 1, bad), 0, "{bad}");
    }
    for good in [
        "ALTER TABLE taken ADD COLUMN a text; -- SET NOT NULL comes later",
        "CREATE INDEX CONCURRENTLY a ON taken (seat);",
        "ALTER TABLE taken ADD CONSTRAINT a CHECK (seat > 0) NOT VALID;",
        "CREATE TABLE fresh (id bigint PRIMARY KEY); CREATE INDEX a ON fresh (id);",
    ] {
        assert_eq!(planted(FROM, good), 0, "{good}");
    }
}
