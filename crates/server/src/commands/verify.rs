//! `tickettock verify`: the invariants of a ledger, one line each.

use clap::ArgMatches;
use stores::ledger::sqlite;

use super::{Broken, Ended, line};
use crate::rush::report::grouped;

pub fn run(given: &ArgMatches) -> Ended {
    let settings = line::settings(given).map_err(|e| e.to_string())?;
    let (looked, findings) = sqlite::verify(&settings.data_dir).map_err(|e| e.to_string())?;
    for finding in &findings {
        println!("{}  {}", if finding.holds() { "ok    " } else { "BROKEN" }, finding.name);
        for sentence in &finding.broken {
            println!("        {sentence}");
        }
    }
    println!(
        "{} events, {} reservations, {} rows of history",
        grouped(looked.events),
        grouped(looked.reservations),
        grouped(looked.history)
    );
    let broken = findings.iter().filter(|finding| !finding.holds()).count();
    if broken == 0 {
        Ok(())
    } else {
        Err(Broken::Proof(format!("{broken} of {} invariants are broken", findings.len())))
    }
}
