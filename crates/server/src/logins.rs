//! Failed attempts at the admin token: logged with their address, counted, and answered late. Only wrong tokens are
//! delayed, never the right one, so that no attacker can lock an operator out. The delay limits the rate of one
//! address; the length of the token is what prevents guessing. Each delayed attempt has a connection, so few may
//! wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rules::ids::ClientAddress;
use stores::limited;
use tokio::sync::Semaphore;

/// An address may fail this often in a row without a delay.
const FREE: u32 = 10;
/// After that its attempts are answered one at a time, whatever the number of connections.
const DELAY: Duration = Duration::from_millis(250);
/// Delayed attempts of one address. Further ones are answered at once, and their connection is closed.
const WAITING_OF_ONE: usize = 8;
/// Delayed attempts of all addresses: half of the connections of `ADMIN_LISTEN`.
pub const WAITING_OF_ALL: usize = 32;
/// After this long without a failure an address starts over.
const FORGET: Duration = Duration::from_secs(60);
/// Addresses tracked. Beyond this all new ones share one turn.
const ADDRESSES_MOST: usize = 10_000;

pub struct FailedLogins {
    addresses: Mutex<HashMap<Option<ClientAddress>, Failures>>,
    waiting: Semaphore,
    delay: Duration,
}

struct Failures {
    count: u32,
    last: Instant,
    guesses: Arc<WaitingGuesses>,
}

/// The delayed attempts of one address.
struct WaitingGuesses {
    places: Semaphore,
    /// Held by the attempt that is answered next.
    turn: tokio::sync::Mutex<()>,
}

/// What happens to the connection of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuessConnection {
    Kept,
    Closed,
}

impl Default for FailedLogins {
    fn default() -> FailedLogins {
        FailedLogins { addresses: Mutex::default(), waiting: Semaphore::new(WAITING_OF_ALL), delay: DELAY }
    }
}

impl FailedLogins {
    /// Returns when the attempt may be answered: in its turn, at once if there is no place to wait, or when its
    /// client has disconnected.
    pub async fn failed(&self, from: IpAddr, left: impl Future<Output = ()>) -> GuessConnection {
        let (count, guesses) = self.note(from.into(), Instant::now());
        limited!(warn, address = %from, count, "an admin token was refused");
        if count <= FREE {
            return GuessConnection::Kept;
        }
        let (Ok(_of_one), Ok(_of_all)) = (guesses.places.try_acquire(), self.waiting.try_acquire()) else {
            return GuessConnection::Closed;
        };
        let answered_late = async {
            let _turn = guesses.turn.lock().await;
            tokio::time::sleep(self.delay).await;
        };
        tokio::select! {
            () = answered_late => GuessConnection::Kept,
            () = left => GuessConnection::Closed,
        }
    }

    /// How often this address has failed.
    fn note(&self, from: ClientAddress, now: Instant) -> (u32, Arc<WaitingGuesses>) {
        let mut addresses = self.addresses();
        if addresses.len() >= ADDRESSES_MOST {
            addresses.retain(|_, failures| now.duration_since(failures.last) < FORGET);
        }
        let known = addresses.contains_key(&Some(from));
        let key = (known || addresses.len() < ADDRESSES_MOST).then_some(from);
        let failures = addresses.entry(key).or_insert_with(|| Failures::none(now));
        if now.duration_since(failures.last) >= FORGET {
            failures.count = 0;
        }
        failures.count += 1;
        failures.last = now;
        (failures.count, failures.guesses.clone())
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<Option<ClientAddress>, Failures>> {
        self.addresses.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Failures {
    fn none(now: Instant) -> Failures {
        let guesses = WaitingGuesses { places: Semaphore::new(WAITING_OF_ONE), turn: tokio::sync::Mutex::default() };
        Failures { count: 0, last: now, guesses: Arc::new(guesses) }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::Pin;

    use futures_util::FutureExt;

    use super::*;

    type Guess<'a> = Pin<Box<dyn Future<Output = GuessConnection> + 'a>>;

    fn address(n: u32) -> ClientAddress {
        ip(n).into()
    }

    fn ip(n: u32) -> IpAddr {
        IpAddr::V4(n.into())
    }

    fn with_delay(delay: Duration) -> FailedLogins {
        FailedLogins { delay, ..FailedLogins::default() }
    }

    /// A guess whose client stays. It is polled once, so that it waits if it has to.
    fn guess(logins: &FailedLogins, from: u32) -> (Guess<'_>, Option<GuessConnection>) {
        let mut guess: Guess<'_> = Box::pin(logins.failed(ip(from), pending()));
        let answered = (&mut guess).now_or_never();
        (guess, answered)
    }

    /// How many of so many guesses wait, and they themselves.
    fn waiting(logins: &FailedLogins, from: u32, count: usize) -> Vec<Guess<'_>> {
        let asked: Vec<_> = (0..count).map(|_| guess(logins, from)).collect();
        asked.into_iter().filter(|(_, answered)| answered.is_none()).map(|(guess, _)| guess).collect()
    }

    #[tokio::test]
    async fn few_guesses_wait_and_the_others_are_answered_at_once() {
        let logins = with_delay(Duration::from_secs(3_600));
        for _ in 0..FREE {
            assert_eq!(guess(&logins, 1).1, Some(GuessConnection::Kept));
        }
        let first = waiting(&logins, 1, 200);
        assert_eq!(first.len(), WAITING_OF_ONE);
        assert_eq!(guess(&logins, 1).1, Some(GuessConnection::Closed));
        let others: Vec<_> = (2..100).flat_map(|from| waiting(&logins, from, 20)).collect();
        assert_eq!(first.len() + others.len(), WAITING_OF_ALL);
        drop((first, others));
        assert_eq!(waiting(&logins, 1, 200).len(), WAITING_OF_ONE, "who no longer waits has no place");
    }

    #[tokio::test]
    async fn guess_whose_client_has_left_does_not_wait() {
        let logins = with_delay(Duration::from_secs(3_600));
        let before = waiting(&logins, 1, FREE as usize + WAITING_OF_ONE - 1);
        assert_eq!(before.len(), WAITING_OF_ONE - 1);
        for _ in 0..3 {
            assert_eq!(logins.failed(ip(1), ready(())).now_or_never(), Some(GuessConnection::Closed));
        }
        assert!(guess(&logins, 1).1.is_none(), "the last place is free again");
    }

    #[tokio::test]
    async fn guesses_are_answered_one_after_another() {
        let logins = with_delay(Duration::from_millis(10));
        assert!(waiting(&logins, 1, FREE as usize).is_empty());
        let began = Instant::now();
        let answered = futures_util::future::join_all(waiting(&logins, 1, 8)).await;
        assert_eq!(answered, [GuessConnection::Kept; 8]);
        assert!(began.elapsed() >= Duration::from_millis(80), "{:?}", began.elapsed());
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
