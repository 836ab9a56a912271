//! The open connections, counted in total and per address. Idle ones are closed when others need their place.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rules::ids::ClientAddress;
use tokio::sync::Notify;

/// A connection that has been idle for less keeps its place.
const IDLE_LEAST: Duration = Duration::from_secs(1);
/// When the server is full, up to one in this many of its connections is closed at once, if idle.
const CLOSED_AT_ONCE: usize = 16;
const BUSY: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub most: usize,
    /// Per client address, IPv6 by /64.
    pub per_address: usize,
    /// Exempts loopback from `per_address`: a proxy on this host connects for many clients.
    pub loopback_unlimited: bool,
}

#[derive(Debug)]
pub struct OpenConnections {
    limits: ConnectionLimits,
    began: Instant,
    places: Mutex<Places>,
    count: AtomicUsize,
    /// A connection has ended.
    ended: Notify,
    /// Connections that were closed because their address had too many.
    turned_away: AtomicU64,
}

#[derive(Debug, Default)]
struct Places {
    next: u64,
    open: HashMap<u64, Arc<Place>>,
    by_address: HashMap<ClientAddress, usize>,
}

/// What is known of one connection.
#[derive(Debug)]
struct Place {
    /// Milliseconds since the start, or `BUSY` while a request is served.
    idle_since: AtomicU64,
    requests: AtomicU64,
    /// The next request was called, and passes the gate.
    called: AtomicBool,
    /// The connection is asked to end.
    end: Notify,
}

impl OpenConnections {
    pub fn new(limits: ConnectionLimits) -> Arc<OpenConnections> {
        Arc::new(OpenConnections {
            limits,
            began: Instant::now(),
            places: Mutex::default(),
            count: AtomicUsize::new(0),
            ended: Notify::new(),
            turned_away: AtomicU64::new(0),
        })
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub fn most(&self) -> usize {
        self.limits.most
    }

    /// Connections closed because their address had too many.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Waits until another connection may be accepted. While the server is full, idle connections end.
    pub async fn room(&self) {
        loop {
            let ended = self.ended.notified();
            if self.count() < self.limits.most {
                return;
            }
            self.end_idle();
            // The time limit covers connections that become idle meanwhile.
            let _ = tokio::time::timeout(Duration::from_millis(100), ended).await;
        }
    }

    /// Waits until no connection is open.
    pub async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.count() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// A place for a connection; none if its address has too many.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<OpenConnection> {
        let unlimited = self.limits.loopback_unlimited && address.to_canonical().is_loopback();
        let address = ClientAddress::from(address);
        let mut places = self.lock();
        let of_address = places.by_address.entry(address).or_insert(0);
        if *of_address >= self.limits.per_address && !unlimited {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        *of_address += 1;
        let id = places.next;
        places.next += 1;
        let place = Arc::new(Place {
            idle_since: AtomicU64::new(self.now()),
            requests: AtomicU64::new(0),
            called: AtomicBool::new(false),
            end: Notify::new(),
        });
        places.open.insert(id, place.clone());
        self.count.store(places.open.len(), Ordering::Release);
        Some(OpenConnection { all: self.clone(), id, address, place })
    }

    /// Asks the connections that have been idle longest to end.
    fn end_idle(&self) {
        let before = self.now().saturating_sub(IDLE_LEAST.as_millis() as u64);
        let mut idle: Vec<(u64, Arc<Place>)> = {
            let places = self.lock();
            let since = |place: &Arc<Place>| (place.idle_since.load(Ordering::Relaxed), place.clone());
            places.open.values().map(since).filter(|(since, _)| *since <= before).collect()
        };
        idle.sort_unstable_by_key(|(since, _)| *since);
        let most = (self.limits.most / CLOSED_AT_ONCE).max(1);
        for (_, place) in idle.into_iter().take(most) {
            place.end.notify_one();
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub struct OpenConnection {
    all: Arc<OpenConnections>,
    id: u64,
    address: ClientAddress,
    place: Arc<Place>,
}

impl OpenConnection {
    /// A request is being served, until the guard is dropped.
    pub fn busy(self: &Arc<Self>) -> BusyConnection {
        self.place.idle_since.store(BUSY, Ordering::Relaxed);
        self.place.requests.fetch_add(1, Ordering::Relaxed);
        BusyConnection(self.clone())
    }

    /// A request has come and is not read yet: the connection is not idle.
    pub fn parked(&self) {
        self.place.idle_since.store(BUSY, Ordering::Relaxed);
    }

    /// The next request is read now, and passes the gate.
    pub fn called(&self) {
        self.place.idle_since.store(self.all.now(), Ordering::Relaxed);
        self.place.called.store(true, Ordering::Relaxed);
    }

    pub fn is_called(&self) -> bool {
        self.place.called.load(Ordering::Relaxed)
    }

    /// Whether the request that was just read was called.
    pub fn was_called(&self) -> bool {
        self.is_called() && self.place.called.swap(false, Ordering::Relaxed)
    }

    /// A request was refused before it became one for the router.
    pub fn refused(&self) {
        self.place.requests.fetch_add(1, Ordering::Relaxed);
        self.place.idle_since.store(self.all.now(), Ordering::Relaxed);
    }

    /// Completes when another connection needs the place.
    pub async fn asked_to_end(&self) {
        self.place.end.notified().await;
    }

    /// No request has come on it.
    pub fn unused(&self) -> bool {
        self.place.requests.load(Ordering::Relaxed) == 0
    }

    /// Whether more than three quarters of the places are taken.
    pub fn scarce(&self) -> bool {
        self.all.count() > self.all.limits.most / 4 * 3
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut places = self.all.lock();
        places.open.remove(&self.id);
        self.all.count.store(places.open.len(), Ordering::Release);
        if let Some(count) = places.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                places.by_address.remove(&self.address);
            }
        }
        drop(places);
        self.all.ended.notify_one();
    }
}

#[derive(Debug)]
pub struct BusyConnection(Arc<OpenConnection>);

impl Drop for BusyConnection {
    fn drop(&mut self) {
        self.0.place.idle_since.store(self.0.all.now(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn places_are_counted_per_address_and_given_back() {
        let all = OpenConnections::new(ConnectionLimits { most: 10, per_address: 2, loopback_unlimited: true });
        let first = all.enter(address(1)).unwrap();
        let _second = all.enter(address(1)).unwrap();
        assert!(all.enter(address(1)).is_none());
        let other = all.enter(address(2)).unwrap();
        assert_eq!((all.count(), all.turned_away()), (3, 1));
        drop((first, other));
        assert_eq!(all.count(), 1);
        assert!(all.enter(address(1)).is_some());
        let networks = ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map(|text| text.parse::<IpAddr>().unwrap());
        let inside: Vec<_> = networks.into_iter().map(|one| all.enter(one)).collect();
        assert_eq!(inside.iter().filter(|one| one.is_some()).count(), 2, "one /64 is one address");
    }

    #[tokio::test]
    async fn full_server_ends_idle_connections_only() {
        let mut all = OpenConnections::new(ConnectionLimits { most: 2, per_address: 2, loopback_unlimited: true });
        // A minute has passed since the start.
        Arc::get_mut(&mut all).unwrap().began = Instant::now() - Duration::from_secs(60);
        let (busy, idle) = (Arc::new(all.enter(address(1)).unwrap()), all.enter(address(1)).unwrap());
        idle.place.idle_since.store(1, Ordering::Relaxed);
        let _request = busy.busy();
        let room = tokio::spawn({
            let all = all.clone();
            async move { all.room().await }
        });
        idle.asked_to_end().await;
        drop(idle);
        room.await.unwrap();
        let asked = busy.asked_to_end().now_or_never();
        assert!(asked.is_none(), "a connection with a request keeps its place");
    }
}
