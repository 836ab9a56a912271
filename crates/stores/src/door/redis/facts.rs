//! The facts about a Redis before a sale: its settings, its clock, and the latency of a call.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client};

pub struct RedisProbe {
    connection: MultiplexedConnection,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisFacts {
    pub version: String,
    pub policy: String,
    /// Bytes; 0: no limit.
    pub memory_most: u64,
    pub memory_used: u64,
    /// Whether the append-only file is enabled.
    pub append_only: bool,
    /// Whether the last snapshot was written.
    pub snapshots_work: bool,
    pub primary: bool,
    pub clients: u64,
    pub clients_most: u64,
}

impl RedisProbe {
    /// Connects to one node.
    pub async fn connect(url: &str, step: Duration) -> Result<RedisProbe, String> {
        let client = Client::open(url.trim()).map_err(|e| e.to_string())?;
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(step)).set_response_timeout(Some(step));
        let connection = client.get_multiplexed_async_connection_with_config(&config).await;
        Ok(RedisProbe { connection: connection.map_err(|e| e.to_string())? })
    }

    pub async fn facts(&mut self) -> Result<RedisFacts, String> {
        let text: String =
            redis::cmd("INFO").arg("all").query_async(&mut self.connection).await.map_err(|e| e.to_string())?;
        Ok(read(&text))
    }

    /// Its wall clock, in milliseconds since 1970.
    pub async fn clock_ms(&mut self) -> Result<i64, String> {
        let (seconds, micros): (i64, i64) =
            redis::cmd("TIME").query_async(&mut self.connection).await.map_err(|e| e.to_string())?;
        Ok(seconds * 1_000 + micros / 1_000)
    }

    pub async fn ping(&mut self) -> Result<(), String> {
        redis::cmd("PING").query_async::<()>(&mut self.connection).await.map_err(|e| e.to_string())
    }
}

fn read(info: &str) -> RedisFacts {
    let lines: HashMap<&str, &str> = info.lines().filter_map(|line| line.trim().split_once(':')).collect();
    let text = |name: &str| lines.get(name).copied().unwrap_or_default();
    let number = |name: &str| text(name).parse().unwrap_or_default();
    RedisFacts {
        version: text("redis_version").to_owned(),
        policy: text("maxmemory_policy").to_owned(),
        memory_most: number("maxmemory"),
        memory_used: number("used_memory"),
        append_only: text("aof_enabled") == "1",
        snapshots_work: text("rdb_last_bgsave_status") != "err",
        primary: text("role") == "master",
        clients: number("connected_clients"),
        clients_most: number("maxclients"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_from_info() {
        let facts = read(
            "# Server\r\nredis_version:7.0.15\r\nmaxclients:10000\r\nconnected_clients:3\r\nrole:master\r\n\
             maxmemory:0\r\nmaxmemory_policy:noeviction\r\nused_memory:1000\r\naof_enabled:0\r\n\
             rdb_last_bgsave_status:err\r\n",
        );
        assert!(facts.primary && !facts.append_only && !facts.snapshots_work);
        assert_eq!((facts.version.as_str(), facts.clients_most, facts.memory_used), ("7.0.15", 10_000, 1_000));
    }
}
