//! `tickettock verify`: the invariants of a ledger, one line each.

use std::path::Path;

use clap::ArgMatches;
use stores::ledger::{postgres, sqlite};
use stores::verify::{Finding, Looked};

use super::{Broken, Ended, line};
use crate::rush::report::grouped;
use crate::settings::{Settings, Stores};
use crate::terminal::say;

pub fn run(given: &ArgMatches) -> Ended {
    let values = line::values(given).map_err(|e| e.to_string())?;
    let (data_dir, stores) = Settings::ledger(&values).map_err(|e| e.to_string())?;
    let (looked, findings) = look(&data_dir, &stores)?;
    for finding in &findings {
        say!("{}  {}", if finding.holds() { "ok    " } else { "BROKEN" }, finding.name);
        for sentence in &finding.broken {
            say!("        {sentence}");
        }
    }
    say!(
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

fn look(data_dir: &Path, stores: &Stores) -> Result<(Looked, Vec<Finding>), String> {
    match stores {
        Stores::Embedded => sqlite::verify(data_dir).map_err(|e| e.to_string()),
        Stores::Postgres { url, .. } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|e| e.to_string())?;
            runtime.block_on(postgres::verify(url)).map_err(|e| format!("DATABASE_URL: {e}"))
        }
    }
}
