//! Redis as the door: version, policy, memory, persistence, clock, and how long a call takes.

use std::time::{Duration, Instant};

use stores::door::redis::{RedisFacts, RedisProbe};

use super::ledger::skew;
use super::{CallTimes, Diagnosis, Severity};
use crate::clock::{Hands, SystemHands};
use crate::settings::Redis;

const OLDEST: u32 = 7;
const CALLS: usize = 64;
const SLOW_MS: f64 = 5.0;
const STEP: Duration = Duration::from_secs(2);

/// Every address that REDIS_URL names.
pub async fn examine(redis: &Redis) -> Vec<Diagnosis> {
    let mut all = Vec::new();
    for url in redis.url.split(',') {
        match asked(url).await {
            Ok(found) => all.extend(found),
            Err(why) => {
                let change = "see REDIS_URL, and whether it runs; reservations are refused without it";
                all.push(Diagnosis::bad("Redis", Severity::Critical, why, change));
            }
        }
    }
    all
}

async fn asked(url: &str) -> Result<Vec<Diagnosis>, String> {
    let mut probe = RedisProbe::connect(url, STEP).await?;
    let mut all = judged(&probe.facts().await?);
    let (before, began) = (SystemHands.wall(), Instant::now());
    let there = probe.clock_ms().await?;
    let half = began.elapsed().as_millis() as i64 / 2;
    all.push(skew("clock of Redis", there - before.0 - half));
    let mut times = CallTimes::default();
    for _ in 0..CALLS {
        let began = Instant::now();
        probe.ping().await?;
        times.add(began.elapsed());
    }
    let found = format!("{:.2} ms, 99 % within {:.2} ms, over {CALLS}", times.at(0.5), times.at(0.99));
    all.push(if times.at(0.5) <= SLOW_MS {
        Diagnosis::ok("call to Redis", found)
    } else {
        let change = "every arrival waits for one: put Redis into the same network";
        Diagnosis::bad("call to Redis", Severity::Warning, found, change)
    });
    Ok(all)
}

fn judged(facts: &RedisFacts) -> Vec<Diagnosis> {
    let major: u32 = facts.version.split('.').next().and_then(|text| text.parse().ok()).unwrap_or_default();
    let mut all = vec![if major >= OLDEST {
        Diagnosis::ok("Redis", facts.version.clone())
    } else {
        Diagnosis::bad("Redis", Severity::Critical, facts.version.clone(), "version 7 or later is needed")
    }];
    all.push(if facts.policy == "noeviction" {
        Diagnosis::ok("maxmemory-policy", facts.policy.clone())
    } else {
        let change = "CONFIG SET maxmemory-policy noeviction: the servers refuse reservations until then";
        Diagnosis::bad("maxmemory-policy", Severity::Critical, facts.policy.clone(), change)
    });
    if !facts.primary {
        let change = "connect to the primary";
        all.push(Diagnosis::bad("role of Redis", Severity::Critical, "a replica: it takes no writes", change));
    }
    let (used, most) = (facts.memory_used >> 20, facts.memory_most >> 20);
    all.push(if most > 0 && used * 10 > most * 8 {
        Diagnosis::bad("memory of Redis", Severity::Warning, format!("{used} of {most} MiB"), "raise maxmemory")
    } else {
        let limit = if most == 0 { "no limit".to_owned() } else { format!("{most} MiB") };
        Diagnosis::ok("memory of Redis", format!("{used} MiB used, {limit}"))
    });
    all.push(if !facts.snapshots_work {
        let change = "Redis may refuse writes after a failed snapshot: make room, or CONFIG SET save \"\"; nothing of \
                      value is in it";
        Diagnosis::bad("persistence of Redis", Severity::Warning, "the last snapshot failed", change)
    } else if facts.append_only {
        let change = "appendonly no: the door may be lost at any moment, and the log costs every arrival a write";
        Diagnosis::bad("persistence of Redis", Severity::Advice, "appendonly is on", change)
    } else {
        Diagnosis::ok("persistence of Redis", "none is needed")
    });
    if facts.clients_most > 0 && facts.clients * 10 > facts.clients_most * 8 {
        let found = format!("{} of {}", facts.clients, facts.clients_most);
        all.push(Diagnosis::bad("connections of Redis", Severity::Warning, found, "raise maxclients"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> RedisFacts {
        RedisFacts {
            version: "7.0.15".into(),
            policy: "noeviction".into(),
            snapshots_work: true,
            primary: true,
            clients_most: 10_000,
            ..RedisFacts::default()
        }
    }

    fn worst(facts: &RedisFacts) -> Severity {
        judged(facts).iter().map(|one| one.severity).max().unwrap()
    }

    #[test]
    fn faults_of_redis_are_found() {
        assert_eq!(worst(&good()), Severity::Ok);
        assert_eq!(worst(&RedisFacts { policy: "allkeys-lru".into(), ..good() }), Severity::Critical);
        assert_eq!(worst(&RedisFacts { version: "6.2.0".into(), ..good() }), Severity::Critical);
        assert_eq!(worst(&RedisFacts { primary: false, ..good() }), Severity::Critical);
        assert_eq!(worst(&RedisFacts { snapshots_work: false, ..good() }), Severity::Warning);
        let full = RedisFacts { memory_most: 100 << 20, memory_used: 90 << 20, ..good() };
        assert_eq!(worst(&full), Severity::Warning);
        assert_eq!(worst(&RedisFacts { append_only: true, ..good() }), Severity::Advice);
    }
}
