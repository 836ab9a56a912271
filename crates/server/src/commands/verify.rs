//! `tickettock verify`: the invariants of a ledger, one line each, or as JSON what `GET /api/v1/admin/audit` answers.

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches};
use rules::arrive::Budget;
use rules::entries::InsideDigest;
use rules::ids::EventId;
use stores::chain::walk::{ChainSeen, KeptHead};
use stores::door::redis::{RedisConfig, RedisDoor, STEP};
use stores::door::{Door, DoorFault};
use stores::ledger::{LedgerName, postgres, sqlite};
use stores::verify::{DOOR_AGREES, Finding, Looked, SHOWN_MOST};

use super::{Broken, Ended, line};
use crate::clock::{Hands, SystemHands};
use crate::http::resources::admin::history::place_read;
use crate::http::wire::records::AuditAnswer;
use crate::line::{INTERVAL, LOOKS, difference};
use crate::rush::report::grouped;
use crate::settings::{Redis, Settings, Stores};

use crate::terminal::{complain, say};

/// A little less than all the looks take.
const COMPARED_MS: i64 = (LOOKS as i64 - 1) * INTERVAL.as_millis() as i64 - 200;

pub fn arguments() -> [Arg; 2] {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue);
    [head(), json.help("Print JSON, as GET /api/v1/admin/audit answers it")]
}

fn head() -> Arg {
    Arg::new("head")
        .long("head")
        .value_name("ROW:HASH")
        .action(ArgAction::Append)
        .help("A head of a history that was kept, such as e1-43:1f...; it must still be there")
}

pub fn run(given: &ArgMatches) -> Ended {
    let values = line::values(given).map_err(|e| e.to_string())?;
    let (data_dir, stores) = Settings::ledger(&values).map_err(|e| e.to_string())?;
    let kept = kept_heads(given)?;
    let (looked, findings) = look(&data_dir, &stores, &kept)?;
    if given.get_flag("json") {
        let audit = AuditAnswer::of(&looked, &findings, SystemHands.wall());
        say!("{:#}", serde_json::to_value(audit).map_err(|e| e.to_string())?);
    } else {
        print(&looked, &findings);
    }
    let broken = findings.iter().filter(|finding| !finding.holds()).count();
    if broken == 0 {
        Ok(())
    } else {
        Err(Broken::Proof(format!("{broken} of {} invariants are broken", findings.len())))
    }
}

fn print(looked: &Looked, findings: &[Finding]) {
    for finding in findings {
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
    let ChainSeen { chained, before, erased } = looked.chain;
    say!("{} rows of history are in a chain of hashes", grouped(chained));
    if before > 0 {
        say!("{} are older than the chain: nothing shows whether they were altered", grouped(before));
    }
    if erased > 0 {
        say!("personal data was erased from {} of them", grouped(erased));
    }
}

/// `e1-43:HASH`, as `GET .../history/head` gives it in `kept`.
fn kept_heads(given: &ArgMatches) -> Result<Vec<KeptHead>, String> {
    let all = given.get_many::<String>("head").into_iter().flatten();
    all.map(|text| read_head(text).ok_or_else(|| format!("--head {text}: expected ROW:HASH, such as e1-43:1f...")))
        .collect()
}

fn read_head(text: &str) -> Option<KeptHead> {
    let (row, hash) = text.split_once(':')?;
    let (subject, n) = place_read(row)?;
    Some(KeptHead { subject, n, hash: hex::decode(hash).ok()?.try_into().ok()? })
}

fn look(data_dir: &Path, stores: &Stores, kept: &[KeptHead]) -> Result<(Looked, Vec<Finding>), String> {
    match stores {
        Stores::Embedded => sqlite::verify_with(data_dir, kept).map_err(|e| e.to_string()),
        Stores::Postgres { url, redis, .. } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|e| e.to_string())?;
            let (looked, mut findings) =
                runtime.block_on(postgres::verify_with(url, kept)).map_err(|e| format!("DATABASE_URL: {e}"))?;
            if let Some(redis) = redis {
                findings.extend(runtime.block_on(door_agrees(url, redis))?);
            }
            Ok((looked, findings))
        }
    }
}

/// Compares who is inside by the ledger and by the door in Redis. A difference that lasts is broken if some
/// server compared that line meanwhile; otherwise nobody asks it, and the next who does has it corrected. None:
/// the door could not be asked, which says nothing about the ledger.
async fn door_agrees(url: &str, redis: &Redis) -> Result<Option<Finding>, String> {
    let insiders = || async { postgres::insiders(url).await.map_err(|e| format!("DATABASE_URL: {e}")) };
    let (name, mut lines) = insiders().await?;
    let (redis_url, cluster, budget) = (redis.url.clone(), redis.cluster, Budget::default());
    let config = RedisConfig { url: redis_url, cluster, budget, ledger: LedgerName::from(&*name), step: STEP };
    let door = RedisDoor::new(config).map_err(|why| format!("REDIS_URL: {why}"))?;
    let mut broken = Vec::new();
    for look in 1..=LOOKS {
        if look > 1 {
            tokio::time::sleep(INTERVAL).await;
            lines = insiders().await?.1;
        }
        match differences(&door, &lines, look == LOOKS).await {
            Ok(found) => broken = found,
            Err(fault) => {
                complain!("tickettock: {fault}; who is inside was not compared");
                return Ok(None);
            }
        }
        if broken.is_empty() {
            break;
        }
    }
    broken.truncate(SHOWN_MOST);
    Ok(Some(Finding { name: DOOR_AGREES, broken }))
}

/// With `compared`, only those of lines that some server has compared during the looks.
async fn differences(
    door: &RedisDoor,
    lines: &[(EventId, InsideDigest)],
    compared: bool,
) -> Result<Vec<String>, DoorFault> {
    let mut found = Vec::new();
    for (event, ledger) in lines {
        if let Some(known) = door.inside(*event, None).await?
            && let Some(sentence) = difference(*event, &known, ledger)
            && !(compared && door.inside(*event, Some(COMPARED_MS)).await?.is_some())
        {
            found.push(sentence);
        }
    }
    Ok(found)
}
