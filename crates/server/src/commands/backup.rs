//! `tickettock backup` and `tickettock restore`: the embedded ledger as one file, and back.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use stores::ledger::sqlite::{self, BackupPace, CopyFault};
use stores::verify::Looked;

use super::{Broken, Ended, line};
use crate::backups::PACE;
use crate::rush::report::grouped;
use crate::settings::{Settings, Stores};
use crate::terminal::say;

pub fn backup() -> Command {
    let file = Arg::new("file").value_name("FILE").required(true).value_parser(value_parser!(PathBuf));
    let rate = Arg::new("rate").long("rate").value_name("MIB").value_parser(value_parser!(u32));
    let rate = rate.help(format!("MiB per second; 0: as fast as the disk is [default: {}]", PACE.mib_per_second));
    let command = Command::new("backup").about(
        "Copy the embedded ledger to a new file, also of a running server; exit 3 if an invariant is broken in it",
    );
    with_ledger(command.arg(file.help("File to make; it must not exist")).arg(rate))
}

pub fn restore() -> Command {
    let file = Arg::new("file").value_name("FILE").required(true).value_parser(value_parser!(PathBuf));
    let replace = Arg::new("replace").long("replace").action(ArgAction::SetTrue);
    let replace = replace.help("Replace the ledger that is there; it is kept as tickettock.db.replaced-1");
    let command = Command::new("restore")
        .about("Verify a backup and put it into the data folder of a stopped server; exit 3 if an invariant is broken");
    with_ledger(command.arg(file.help("File that backup made")).arg(replace))
}

fn with_ledger(command: Command) -> Command {
    line::with_settings_named(command, |name| matches!(name, "DATA_DIR" | "DATABASE_URL_FILE"))
}

pub fn run_backup(given: &ArgMatches) -> Ended {
    let (folder, file) = (embedded(given)?, file(given)?);
    let pace = given.get_one("rate").map_or(PACE, |mib| BackupPace { mib_per_second: *mib });
    let made = sqlite::backup(&folder, &file, pace).map_err(ended)?;
    say!("{} bytes in {}, verified: {}", grouped(made.bytes), file.display(), counted(made.looked));
    Ok(())
}

pub fn run_restore(given: &ArgMatches) -> Ended {
    let (folder, file) = (embedded(given)?, file(given)?);
    let restored = sqlite::restore(&file, &folder, given.get_flag("replace")).map_err(ended)?;
    say!("{} is restored to {}, verified: {}", file.display(), folder.display(), counted(restored.looked));
    if let Some(kept) = restored.kept {
        say!("The ledger that was there is kept as {}", kept.display());
    }
    Ok(())
}

fn file(given: &ArgMatches) -> Result<PathBuf, String> {
    given.get_one::<PathBuf>("file").cloned().ok_or_else(|| "FILE is missing".to_owned())
}

fn embedded(given: &ArgMatches) -> Result<PathBuf, String> {
    let values = line::values(given).map_err(|e| e.to_string())?;
    match Settings::ledger(&values).map_err(|e| e.to_string())? {
        (folder, Stores::Embedded) => Ok(folder),
        _ => Err("DATABASE_URL is set: back PostgreSQL up with pg_basebackup, see docs/backups.md".to_owned()),
    }
}

fn counted(looked: Looked) -> String {
    let [events, reservations, history] = [looked.events, looked.reservations, looked.history].map(grouped);
    format!("{events} events, {reservations} reservations, {history} rows of history")
}

fn ended(fault: CopyFault) -> Broken {
    match fault {
        CopyFault::Failed(why) => Broken::Command(why.to_string()),
        CopyFault::Broken(findings) => {
            let names: Vec<&str> = findings.iter().map(|finding| finding.name).collect();
            Broken::Proof(format!("these invariants are broken, nothing was written: {}", names.join("; ")))
        }
    }
}
