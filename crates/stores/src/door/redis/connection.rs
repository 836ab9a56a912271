//! The shared connection to Redis. It is checked before its first use and reopened when it breaks. A Redis that may
//! evict keys is refused.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, FromRedisValue, IntoConnectionInfo, RedisError, RedisResult, ScriptInvocation, Value,
};
use tokio::sync::Mutex;

use super::keys;
use super::trouble::{breaks_connection, fault};
use crate::door::DoorFault;

/// For this long after a failure, callers get the same fault without a new attempt.
const COOLING: Duration = Duration::from_millis(100);
const OLDEST_SERVER: u32 = 7;

#[derive(Clone)]
enum Link {
    One(MultiplexedConnection),
    Many(ClusterConnection),
}

enum ClientKind {
    One(Box<Client>),
    Many(Box<ClusterClient>),
}

#[derive(Clone)]
pub struct RedisConnection {
    link: Link,
    /// The `run_id` of the Redis. Empty for a cluster: the scripts query its nodes.
    pub run_id: Arc<str>,
    count: u64,
}

#[derive(Default)]
struct ConnectionState {
    connected: Option<RedisConnection>,
    failed: Option<DoorFault>,
    count: u64,
}

pub struct RedisConnections {
    client: ClientKind,
    /// Timeout for connecting, and for a reply.
    step: Duration,
    state: Arc<Mutex<ConnectionState>>,
}

/// Disables Nagle's algorithm. Calls are small and wait for their replies: otherwise they would wait for the peer's
/// delayed acknowledgement, 40 ms.
fn at_once() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

impl RedisConnections {
    /// One address, or several of one cluster separated by commas.
    pub fn new(url: &str, cluster: bool, step: Duration) -> Result<RedisConnections, String> {
        let words = |e: RedisError| e.to_string();
        let client = if cluster {
            let nodes: Vec<&str> = url.split(',').map(str::trim).collect();
            let builder = ClusterClient::builder(nodes).connection_timeout(step).response_timeout(step);
            let builder = builder.tcp_settings(at_once());
            let cluster = builder.retries(3).min_retry_wait(10).max_retry_wait(50).build().map_err(words)?;
            ClientKind::Many(Box::new(cluster))
        } else {
            let address = url.into_connection_info().map_err(words)?.set_tcp_settings(at_once());
            ClientKind::One(Box::new(Client::open(address).map_err(words)?))
        };
        Ok(RedisConnections { client, step, state: Arc::default() })
    }

    pub async fn get(&self) -> Result<RedisConnection, DoorFault> {
        let mut state = self.state.lock().await;
        if let Some(connected) = &state.connected {
            return Ok(connected.clone());
        }
        if let Some(failed) = &state.failed {
            return Err(failed.clone());
        }
        state.count += 1;
        let count = state.count;
        let result = match tokio::time::timeout(self.step, self.connect(count)).await {
            Ok(result) => result,
            Err(_) => Err(DoorFault::Unreachable("Redis does not answer".into())),
        };
        match result {
            Ok(connected) => {
                state.connected = Some(connected.clone());
                Ok(connected)
            }
            Err(fault) => {
                state.failed = Some(fault.clone());
                let state = self.state.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(COOLING).await;
                    state.lock().await.failed = None;
                });
                Err(fault)
            }
        }
    }

    async fn connect(&self, count: u64) -> Result<RedisConnection, DoorFault> {
        let link = match &self.client {
            ClientKind::One(client) => {
                let (config, step) = (AsyncConnectionConfig::new(), Some(self.step));
                let config = config.set_connection_timeout(step).set_response_timeout(step);
                let connection = client.get_multiplexed_async_connection_with_config(&config).await;
                Link::One(connection.map_err(|e| fault(&e))?)
            }
            ClientKind::Many(client) => Link::Many(client.get_async_connection().await.map_err(|e| fault(&e))?),
        };
        let mut connected = RedisConnection { link, run_id: "".into(), count };
        let run_id = connected.look().await?;
        if matches!(connected.link, Link::One(_)) {
            connected.run_id = run_id.into();
        }
        Ok(connected)
    }

    /// Runs a script. If the connection breaks meanwhile, it is not used again.
    pub async fn run<T: FromRedisValue>(
        &self,
        connected: &mut RedisConnection,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, DoorFault> {
        let answered = tokio::time::timeout(self.step, connected.invoke(script)).await;
        match answered {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                if breaks_connection(&error) {
                    self.forget(connected).await;
                }
                Err(fault(&error))
            }
            Err(_) => {
                self.forget(connected).await;
                Err(DoorFault::Unreachable("Redis does not answer".into()))
            }
        }
    }

    pub async fn forget(&self, broken: &RedisConnection) {
        let mut state = self.state.lock().await;
        if state.connected.as_ref().is_some_and(|connected| connected.count == broken.count) {
            state.connected = None;
        }
    }
}

impl RedisConnection {
    async fn invoke<T: FromRedisValue>(&mut self, script: &ScriptInvocation<'_>) -> RedisResult<T> {
        match &mut self.link {
            Link::One(connection) => script.invoke_async(connection).await,
            Link::Many(connection) => script.invoke_async(connection).await,
        }
    }

    /// Checks every Redis of the connection. Returns the `run_id` of the last one.
    pub async fn look(&mut self) -> Result<String, DoorFault> {
        let mut run_id = String::new();
        for text in &self.info().await? {
            run_id = fit(text)?;
        }
        Ok(run_id)
    }

    /// Whether Redis accepts writes now. A full Redis answers reads, and so looks healthy.
    pub async fn writes(&mut self) -> Result<(), DoorFault> {
        for text in &self.info().await? {
            fit(text)?;
            not_full(text)?;
        }
        let mut set = redis::cmd("SET");
        set.arg(keys::probe()).arg(1).arg("PX").arg(1_000);
        let written: RedisResult<()> = match &mut self.link {
            Link::One(connection) => set.query_async(connection).await,
            Link::Many(connection) => set.query_async(connection).await,
        };
        written.map_err(|e| fault(&e))
    }

    async fn info(&mut self) -> Result<Vec<String>, DoorFault> {
        let mut info = redis::cmd("INFO");
        info.arg("server").arg("memory").arg("replication");
        let mut texts: Vec<String> = Vec::new();
        match &mut self.link {
            Link::One(connection) => texts.push(info.query_async(connection).await.map_err(|e| fault(&e))?),
            Link::Many(connection) => {
                let masters = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                let said = connection.route_command(info, masters).await.map_err(|e| fault(&e))?;
                let Value::Map(said) = said else { return Err(DoorFault::Failed("INFO of a cluster".into())) };
                for (_, text) in said {
                    texts.push(String::from_redis_value(text).map_err(|e| DoorFault::Failed(e.to_string()))?);
                }
            }
        }
        Ok(texts)
    }
}

/// A value of INFO.
fn value<'a>(info: &'a str, name: &str) -> &'a str {
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim).unwrap_or_default()
}

/// Checked on every node of a cluster: a write reaches only one of them.
fn not_full(info: &str) -> Result<(), DoorFault> {
    let bytes = |name: &str| value(info, name).parse::<u64>().unwrap_or_default();
    let (used, most) = (bytes("used_memory"), bytes("maxmemory"));
    if most > 0 && used >= most {
        return Err(DoorFault::Failed(format!("Redis is full: it uses {used} bytes of maxmemory {most}")));
    }
    Ok(())
}

/// Parses INFO. Returns the `run_id`, or the reason why this Redis cannot be a door.
fn fit(info: &str) -> Result<String, DoorFault> {
    let value = |name: &str| value(info, name);
    let version = value("redis_version");
    let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or_default();
    if major < OLDEST_SERVER {
        return Err(DoorFault::Unreachable(format!("Redis 7 or later is needed, this is {version:?}")));
    }
    let policy = value("maxmemory_policy");
    if policy != "noeviction" {
        return Err(DoorFault::Unreachable(format!(
            "Redis has maxmemory-policy {policy}, which throws keys away; it must be noeviction"
        )));
    }
    if value("role") != "master" {
        return Err(DoorFault::Unreachable("this Redis is a replica and cannot be written to".into()));
    }
    Ok(value("run_id").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfit_redis_is_refused_with_the_reason() {
        let info = |version, policy, role| {
            format!("# Server\r\nredis_version:{version}\r\nrun_id:abc\r\nmaxmemory_policy:{policy}\r\nrole:{role}\r\n")
        };
        assert_eq!(fit(&info("7.0.15", "noeviction", "master")), Ok("abc".into()));
        for (bad, word) in [
            (info("6.2.1", "noeviction", "master"), "6.2.1"),
            (info("7.2.0", "allkeys-lru", "master"), "allkeys-lru"),
            (info("8.0.0", "noeviction", "slave"), "replica"),
            (String::new(), "7 or later"),
        ] {
            let DoorFault::Unreachable(why) = fit(&bad).unwrap_err() else { panic!("{bad}") };
            assert!(why.contains(word), "{why}");
        }
    }
}
