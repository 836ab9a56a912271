//! PostgreSQL as the ledger: version, durability, standbys, connections, clock, and how long a commit takes.

use std::time::Instant;

use stores::ledger::postgres::{PostgresFacts, PostgresProbe};

use super::{CallTimes, Diagnosis, Severity};
use crate::clock::{Hands, SystemHands};

const OLDEST: i32 = 150_000;
const COMMITS: usize = 32;
const SLOW_MS: f64 = 20.0;
const LAG_MOST_MS: i64 = 5_000;
/// Holds end by the clock of the database.
pub const SKEW_MOST_MS: i64 = 500;

/// Also the times of commits, if there are any.
pub async fn examine(url: &str, pool: usize) -> (Vec<Diagnosis>, Option<CallTimes>) {
    match asked(url, pool).await {
        Ok((all, times)) => (all, Some(times)),
        Err(why) => {
            let found = Diagnosis::bad("PostgreSQL", Severity::Critical, why, "see DATABASE_URL, and whether it runs");
            (vec![found], None)
        }
    }
}

async fn asked(url: &str, pool: usize) -> Result<(Vec<Diagnosis>, CallTimes), String> {
    let probe = PostgresProbe::connect(url).await?;
    let facts = probe.facts().await?;
    let mut all = judged(&facts, pool);
    let (before, began) = (SystemHands.wall(), Instant::now());
    let there = probe.clock_ms().await?;
    let half = began.elapsed().as_millis() as i64 / 2;
    all.push(skew("clock of PostgreSQL", there - before.0 - half));
    let mut times = CallTimes::default();
    if !facts.standby {
        for _ in 0..COMMITS {
            let began = Instant::now();
            probe.commit().await?;
            times.add(began.elapsed());
        }
        all.push(commits(&times));
    }
    Ok((all, times))
}

pub fn skew(check: &'static str, ms: i64) -> Diagnosis {
    let found = format!("{ms} ms from this machine's");
    if ms.abs() <= SKEW_MOST_MS {
        return Diagnosis::ok(check, found);
    }
    Diagnosis::bad(check, Severity::Warning, found, "run chrony on both: sales open and tokens end by different clocks")
}

fn commits(times: &CallTimes) -> Diagnosis {
    let (median, late) = (times.at(0.5), times.at(0.99));
    let found = format!("{median:.2} ms, 99 % within {late:.2} ms, over {COMMITS}");
    if median <= SLOW_MS {
        return Diagnosis::ok("commit in PostgreSQL", found);
    }
    let change = "every batch waits for one: look at its disk, the network, and the synchronous standby";
    Diagnosis::bad("commit in PostgreSQL", Severity::Warning, found, change)
}

fn judged(facts: &PostgresFacts, pool: usize) -> Vec<Diagnosis> {
    let version = format!("{}.{}", facts.version / 10_000, facts.version % 10_000);
    let mut all = vec![if facts.version >= OLDEST {
        Diagnosis::ok("PostgreSQL", version)
    } else {
        Diagnosis::bad("PostgreSQL", Severity::Critical, version, "version 15 or later is needed")
    }];
    if facts.standby {
        let change = "connect to the primary, or promote it";
        all.push(Diagnosis::bad("primary", Severity::Critical, "this is a standby: it takes no writes", change));
    }
    for (check, on) in [("fsync", facts.fsync), ("full_page_writes", facts.full_page_writes)] {
        all.push(if on {
            Diagnosis::ok(check, "on")
        } else {
            let change = format!("{check} = on: otherwise a crash can lose or destroy what was confirmed");
            Diagnosis::bad(check, Severity::Critical, "off", change)
        });
    }
    if !facts.autovacuum {
        let change = "autovacuum = on: the rows of events change with every batch";
        all.push(Diagnosis::bad("autovacuum", Severity::Warning, "off", change));
    }
    all.push(Diagnosis::ok("synchronous_commit", format!("{}; our sessions set it to on", facts.synchronous_commit)));
    all.extend(standby(facts));
    all.push(connections(facts, pool));
    all
}

fn standby(facts: &PostgresFacts) -> Vec<Diagnosis> {
    let check = "standby";
    if facts.replicas.is_empty() && facts.hidden > 0 {
        let found = format!("{} connections that this role may not look at", facts.hidden);
        let change = "GRANT pg_monitor to the role of DATABASE_URL, and ask again";
        return vec![Diagnosis::bad(check, Severity::Advice, found, change)];
    }
    let synchronous = facts.replicas.iter().filter(|one| matches!(one.sync_state.as_str(), "sync" | "quorum")).count();
    let found = format!("{} connected, {synchronous} of them synchronous", facts.replicas.len());
    let mut all = vec![if !facts.synchronous_standbys.is_empty() && synchronous == 0 {
        let change = "commits wait for a standby that is not there: start it, or empty synchronous_standby_names";
        Diagnosis::bad(check, Severity::Critical, found, change)
    } else if facts.replicas.is_empty() {
        let change = "without one, the loss of this machine is the loss of everything since the last backup";
        Diagnosis::bad(check, Severity::Advice, found, change)
    } else if synchronous == 0 {
        let change = "a failover can lose confirmed sales of the last moments: set synchronous_standby_names";
        Diagnosis::bad(check, Severity::Advice, found, change)
    } else {
        Diagnosis::ok(check, found)
    }];
    // Without anything to catch up with there is no lag.
    if let Some(lag) = facts.replicas.iter().map(|one| one.lag_ms.unwrap_or_default()).max() {
        let found = format!("{lag} ms behind");
        all.push(if lag <= LAG_MOST_MS {
            Diagnosis::ok("replication lag", found)
        } else {
            let change = "look at the standby's disk and the network";
            Diagnosis::bad("replication lag", Severity::Warning, found, change)
        });
    }
    all
}

fn connections(facts: &PostgresFacts, pool: usize) -> Diagnosis {
    let (most, used) = (facts.connections_most.max(0) as usize, facts.connections.max(0) as usize);
    let found = format!("{used} of {most} (max_connections) in use; each server takes up to {} (DB_POOL)", pool + 2);
    if most.saturating_sub(used) >= pool + 2 {
        return Diagnosis::ok("connections", found);
    }
    Diagnosis::bad("connections", Severity::Warning, found, "raise max_connections, or lower DB_POOL")
}

#[cfg(test)]
mod tests {
    use stores::ledger::postgres::ReplicaFacts;

    use super::*;

    fn good() -> PostgresFacts {
        PostgresFacts {
            version: 150_004,
            fsync: true,
            full_page_writes: true,
            autovacuum: true,
            synchronous_commit: "on".into(),
            synchronous_standbys: "standby".into(),
            connections_most: 97,
            connections: 5,
            standby: false,
            replicas: vec![ReplicaFacts { sync_state: "sync".into(), lag_ms: Some(3) }],
            hidden: 0,
        }
    }

    fn worst(facts: &PostgresFacts) -> Severity {
        judged(facts, 8).iter().map(|one| one.severity).max().unwrap()
    }

    #[test]
    fn faults_of_postgresql_are_found() {
        assert_eq!(worst(&good()), Severity::Ok);
        assert_eq!(worst(&PostgresFacts { fsync: false, ..good() }), Severity::Critical);
        assert_eq!(worst(&PostgresFacts { standby: true, ..good() }), Severity::Critical);
        assert_eq!(worst(&PostgresFacts { version: 140_000, ..good() }), Severity::Critical);
        assert_eq!(worst(&PostgresFacts { replicas: Vec::new(), ..good() }), Severity::Critical);
        let alone = PostgresFacts { replicas: Vec::new(), synchronous_standbys: String::new(), ..good() };
        assert_eq!(worst(&alone), Severity::Advice);
        let hidden = PostgresFacts { replicas: Vec::new(), hidden: 1, ..good() };
        assert_eq!(worst(&hidden), Severity::Advice, "not seen is not absent");
        assert_eq!(worst(&PostgresFacts { connections: 90, ..good() }), Severity::Warning);
        let behind = vec![ReplicaFacts { sync_state: "sync".into(), lag_ms: Some(60_000) }];
        assert_eq!(worst(&PostgresFacts { replicas: behind, ..good() }), Severity::Warning);
        assert_eq!(skew("x", -2_000).severity, Severity::Warning);
    }
}
