//! Failed attempts at the admin token: logged with their address, counted, and slowed down. Only guesses wait;
//! the right token is never delayed, so that nobody can lock an operator out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rules::ids::ClientAddress;

/// An address may fail this often in a row before it has to wait.
const FREE: u32 = 10;
/// Then one guess at a time, whatever the number of connections.
const DELAY: Duration = Duration::from_millis(250);
/// After this long without a failure an address starts anew.
const FORGET: Duration = Duration::from_secs(60);
/// Addresses that are remembered. Beyond that all new ones share one turn.
const ADDRESSES_MOST: usize = 10_000;

#[derive(Default)]
pub struct FailedLogins(Mutex<HashMap<Option<ClientAddress>, Failures>>);

struct Failures {
    count: u32,
    last: Instant,
    /// Held by the one guess that waits.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl FailedLogins {
    /// Returns when the guess may be answered.
    pub async fn failed(&self, from: IpAddr) {
        let (count, turn) = self.note(from.into(), Instant::now());
        tracing::warn!(address = %from, count, "an admin token was refused");
        if count > FREE {
            let _turn = turn.lock().await;
            tokio::time::sleep(DELAY).await;
        }
    }

    /// How often this address has failed.
    fn note(&self, from: ClientAddress, now: Instant) -> (u32, Arc<tokio::sync::Mutex<()>>) {
        let mut addresses = self.addresses();
        if addresses.len() >= ADDRESSES_MOST {
            addresses.retain(|_, failures| now.duration_since(failures.last) < FORGET);
        }
        let known = addresses.contains_key(&Some(from));
        let key = (known || addresses.len() < ADDRESSES_MOST).then_some(from);
        let failures = addresses.entry(key).or_insert_with(|| Failures { count: 0, last: now, turn: Arc::default() });
        if now.duration_since(failures.last) >= FORGET {
            failures.count = 0;
        }
        failures.count += 1;
        failures.last = now;
        (failures.count, failures.turn.clone())
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<Option<ClientAddress>, Failures>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> ClientAddress {
        IpAddr::V4(n.into()).into()
    }

    #[test]
    fn failures_count_per_address_and_fade() {
        let (logins, now) = (FailedLogins::default(), Instant::now());
        assert_eq!((logins.note(address(1), now).0, logins.note(address(1), now).0), (1, 2));
        assert_eq!(logins.note(address(2), now).0, 1);
        assert_eq!(logins.note(address(1), now + FORGET).0, 1);
    }

    #[test]
    fn remembered_addresses_are_bounded() {
        let (logins, now) = (FailedLogins::default(), Instant::now());
        for n in 0..2 * ADDRESSES_MOST as u32 {
            logins.note(address(n), now);
        }
        assert!(logins.addresses().len() <= ADDRESSES_MOST + 1);
        logins.note(address(7_000_000), now + FORGET);
        assert!(logins.addresses().len() <= 2, "the old ones are forgotten");
    }
}
