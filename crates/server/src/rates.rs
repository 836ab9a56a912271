//! Rate limits per user and per client address: token buckets for requests that reserve, cancel, hold or join. They
//! are checked once the caller is known and before the request costs anything: no queue, door or ledger has seen it.

mod buckets;

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rules::ids::{ClientAddress, User};
use rules::outcome::Refusal;

use self::buckets::{Rate, TokenBuckets};
use crate::gate::RequestKind;

const SECOND_NS: u64 = 1_000_000_000;

/// Requests of each kind per second, with a burst of ten times that; 0: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    pub user: u32,
    pub address: u32,
    /// Exempts loopback: load generators and proxies on this host send for many users.
    pub loopback_unlimited: bool,
}

#[derive(Debug)]
pub struct RequestRates {
    began: Instant,
    user: Option<Rate>,
    address: Option<Rate>,
    loopback_unlimited: bool,
    /// Randomly keyed, so that clients cannot choose users that collide in the table.
    hasher: RandomState,
    buckets: TokenBuckets,
    limited_users: AtomicU64,
    limited_addresses: AtomicU64,
}

impl RequestRates {
    pub fn new(limits: RateLimits) -> RequestRates {
        RequestRates {
            began: Instant::now(),
            user: Rate::per_second(limits.user),
            address: Rate::per_second(limits.address),
            loopback_unlimited: limits.loopback_unlimited,
            hasher: RandomState::new(),
            buckets: TokenBuckets::default(),
            limited_users: AtomicU64::new(0),
            limited_addresses: AtomicU64::new(0),
        }
    }

    /// Takes one token of the user and one of the address. The user comes first: a user over the limit does not spend
    /// the tokens of others behind the same address.
    pub fn spend(&self, kind: RequestKind, user: Option<&User>, address: Option<IpAddr>) -> Result<(), Refusal> {
        if let Some(user) = user {
            self.spend_user(kind, user)?;
        }
        let (Some(rate), Some(address)) = (self.address, address) else { return Ok(()) };
        if self.loopback_unlimited && address.to_canonical().is_loopback() {
            return Ok(());
        }
        self.take(rate, (kind as u8, ClientAddress::from(address)), &self.limited_addresses)
    }

    pub fn spend_user(&self, kind: RequestKind, user: &User) -> Result<(), Refusal> {
        let Some(rate) = self.user else { return Ok(()) };
        self.take(rate, (kind as u8, user.as_str()), &self.limited_users)
    }

    fn take(&self, rate: Rate, whose: impl Hash, limited: &AtomicU64) -> Result<(), Refusal> {
        let now = self.began.elapsed().as_nanos() as u64;
        self.buckets.take(self.hasher.hash_one(whose), rate, now).map_err(|wait_ns| {
            limited.fetch_add(1, Ordering::Relaxed);
            Refusal::RateLimited { retry_after: wait_ns.div_ceil(SECOND_NS).max(1) }
        })
    }

    /// Requests refused so far, of users and of addresses.
    pub fn limited(&self) -> (u64, u64) {
        (self.limited_users.load(Ordering::Relaxed), self.limited_addresses.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(user: u32, address: u32) -> RequestRates {
        RequestRates::new(RateLimits { user, address, loopback_unlimited: true })
    }

    fn passed(rates: &RequestRates, kind: RequestKind, user: Option<&User>, from: &str) -> usize {
        let from = Some(from.parse().unwrap());
        (0..25).filter(|_| rates.spend(kind, user, from).is_ok()).count()
    }

    #[test]
    fn kinds_users_and_addresses_have_buckets_of_their_own() {
        let (alice, bob) = (User::stored("alice"), User::stored("bob"));
        let rates = rates(1, 2);
        assert_eq!(passed(&rates, RequestKind::Hold, Some(&alice), "192.0.2.1"), 10);
        assert_eq!(passed(&rates, RequestKind::Cancel, Some(&alice), "192.0.2.1"), 10, "another kind");
        assert_eq!(passed(&rates, RequestKind::Hold, Some(&bob), "192.0.2.1"), 10, "another user");
        assert_eq!(passed(&rates, RequestKind::Hold, None, "192.0.2.1"), 0, "the address has twenty");
        assert_eq!(passed(&rates, RequestKind::Join, None, "2001:db8::1"), 20);
        assert_eq!(passed(&rates, RequestKind::Join, None, "2001:db8::2"), 0, "one /64 is one address");
        assert_eq!(passed(&rates, RequestKind::Join, None, "127.0.0.1"), 25);
        assert_eq!(rates.limited(), (15 + 15 + 15, 25 + 5 + 25));
        let refused = rates.spend(RequestKind::Hold, Some(&alice), None);
        assert_eq!(refused, Err(Refusal::RateLimited { retry_after: 1 }));
    }

    #[test]
    fn zero_is_no_limit() {
        let alice = User::stored("alice");
        assert_eq!(passed(&rates(0, 0), RequestKind::Hold, Some(&alice), "192.0.2.1"), 25);
    }
}
