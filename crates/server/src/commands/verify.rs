//! `tickettock verify`: the invariants of a ledger, one line each.

use clap::ArgMatches;
use stores::ledger::{postgres, sqlite};
use stores::verify::{Finding, Looked};

use super::{Broken, Ended, line};
use crate::rush::report::grouped;
use crate::settings::{Settings, Stores};

pub fn run(given: &ArgMatches) -> Ended {
    let settings = line::settings(given).map_err(|e| e.to_string())?;
    let (looked, findings) = look(&settings)?;
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

fn look(settings: &Settings) -> Result<(Looked, Vec<Finding>), String> {
    match &settings.stores {
        Stores::Embedded => sqlite::verify(&settings.data_dir).map_err(|e| e.to_string()),
        Stores::Postgres { url, .. } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|e| e.to_string())?;
            runtime.block_on(postgres::verify(url)).map_err(|e| format!("DATABASE_URL: {e}"))
        }
    }
}
