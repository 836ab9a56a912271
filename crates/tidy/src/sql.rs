//! Checks that SQL statements are in files of their own, and that every file is used: an unused one
//! misleads.

use crate::tree::{File, files, none};

/// `.../queries/free_seat.sql` must be named by `.../queries.rs`.
fn unused(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["sql"])) {
        let Some((folder, name)) = file.path.rsplit_once('/') else { continue };
        if !folder.ends_with("/queries") {
            continue;
        }
        let named = format!("\"{}\"", name.trim_end_matches(".sql"));
        let index = format!("{folder}.rs");
        let used = files.iter().any(|other| other.path == index && other.text.contains(&named));
        if !used {
            complaints.push(format!("{}: {index} does not use it", file.path));
        }
    }
    complaints
}

#[test]
fn every_statement_is_used() {
    none(&unused(&files()));
}

#[test]
fn an_unused_statement_is_noticed() {
    let index = || File::new("crates/s/src/queries.rs", "queries! { SALE = \"sale\" }");
    none(&unused(&[index(), File::new("crates/s/src/queries/sale.sql", "")]));
    assert_eq!(unused(&[index(), File::new("crates/s/src/queries/sal.sql", "")]).len(), 1);
    assert_eq!(unused(&[File::new("crates/s/src/queries/sale.sql", "")]).len(), 1, "there is no index");
}
