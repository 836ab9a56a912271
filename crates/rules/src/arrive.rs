//! The decisions of the door: whether this user already has a request in flight, whether the address's budget is spent,
//! and which number the request gets. The Redis script `arrive.lua` implements the same rules.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::ids::{ClientAddress, NUMBERS_PER_GENERATION, Number, RequestName, User};
use crate::time::Moment;

/// A mark outlives the longest deadline, and expires if its server died.
pub const MARK_MS: i64 = 5_000;

/// A request in flight ends within milliseconds, so a second is long enough to wait.
const ASK_AGAIN_S: u64 = 1;

#[derive(Clone, Debug)]
pub struct Arrival {
    pub name: RequestName,
    /// Anonymous requests leave no mark.
    pub user: Option<User>,
    pub address: ClientAddress,
    /// With an idempotency key, repeats are allowed: the ledger puts them in order.
    pub keyed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    Number(Number),
    AddressSpent {
        retry_after: u64,
    },
    AlreadyAsking {
        retry_after: u64,
    },
    /// The generation is unknown or used up, so no number can be given.
    NoNumber,
}

impl Arrived {
    /// The generation of the number that was given, if one was.
    pub fn generation(&self) -> Option<u64> {
        match self {
            Arrived::Number(number) => Some(number.0 / NUMBERS_PER_GENERATION),
            Arrived::AddressSpent { .. } | Arrived::AlreadyAsking { .. } | Arrived::NoNumber => None,
        }
    }
}

/// The budget of an address: at most `limit` requests per window. 0: no budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    pub limit: u32,
    pub window_ms: i64,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    name: RequestName,
    end: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Spent {
    count: u32,
    end: Moment,
}

/// The door of one event.
#[derive(Debug)]
pub struct Arrivals {
    generation: u64,
    counter: u64,
    marks: HashMap<User, Mark>,
    spent: HashMap<ClientAddress, Spent>,
    /// Windows in the order in which they end, so that expired ones are removed a few at a time.
    windows: VecDeque<(Moment, ClientAddress)>,
}

impl Arrivals {
    pub fn new(generation: u64) -> Arrivals {
        Arrivals { generation, counter: 0, marks: HashMap::new(), spent: HashMap::new(), windows: VecDeque::new() }
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A higher generation begins at number 1; a lower one is out of date and is ignored.
    pub fn raise(&mut self, generation: u64) {
        if generation > self.generation {
            self.generation = generation;
            self.counter = 0;
        }
    }

    /// Fewer numbers than `wanted` are left in this generation.
    pub fn spent(&self, wanted: usize) -> bool {
        self.counter + wanted as u64 >= NUMBERS_PER_GENERATION
    }

    pub fn arrive(&mut self, arrival: &Arrival, budget: Budget, now: Moment) -> Arrived {
        if let Some(retry_after) = self.spend(arrival.address, budget, now) {
            return Arrived::AddressSpent { retry_after };
        }
        if let Some(user) = arrival.user.as_ref().filter(|_| !arrival.keyed) {
            // The request's own mark does not block it: a call whose reply was lost is retried.
            let new = Mark { name: arrival.name, end: now.plus_ms(MARK_MS) };
            match self.marks.entry(user.clone()) {
                Entry::Occupied(known) if known.get().end > now && known.get().name != arrival.name => {
                    return Arrived::AlreadyAsking { retry_after: ASK_AGAIN_S };
                }
                mark => mark.insert_entry(new),
            };
        }
        self.counter += 1;
        if self.counter >= NUMBERS_PER_GENERATION {
            return Arrived::NoNumber;
        }
        Arrived::Number(Number(self.generation * NUMBERS_PER_GENERATION + self.counter))
    }

    /// Removes the mark if that request set it.
    pub fn release(&mut self, user: &User, name: RequestName) {
        // The mark is nearly always its own, so this uses one lookup. Another request's mark is put back.
        if let Some((user, mark)) = self.marks.remove_entry(user)
            && mark.name != name
        {
            self.marks.insert(user, mark);
        }
    }

    /// Every request counts, and none is refunded. Returns the seconds to wait if the budget is spent.
    fn spend(&mut self, address: ClientAddress, budget: Budget, now: Moment) -> Option<u64> {
        if budget.limit == 0 {
            return None;
        }
        self.forget_windows(now);
        let spent = self.spent.entry(address).or_insert(Spent { count: 0, end: Moment(i64::MIN) });
        if spent.end <= now {
            *spent = Spent { count: 0, end: now.plus_ms(budget.window_ms) };
            self.windows.push_back((spent.end, address));
        }
        spent.count = spent.count.saturating_add(1);
        (spent.count > budget.limit).then(|| now.seconds_until(spent.end).max(1))
    }

    fn forget_windows(&mut self, now: Moment) {
        for _ in 0..2 {
            match self.windows.front() {
                Some(&(end, address)) if end <= now => {
                    self.windows.pop_front();
                    if self.spent.get(&address).is_some_and(|spent| spent.end <= now) {
                        self.spent.remove(&address);
                    }
                }
                _ => return,
            }
        }
    }

    /// The number of entries in memory, for the gauge.
    pub fn remembered(&self) -> usize {
        self.marks.len() + self.spent.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(user: &str, name: u128) -> Arrival {
        Arrival {
            name: RequestName(name),
            user: User::new(user),
            address: ClientAddress::V4([127, 0, 0, 1]),
            keyed: false,
        }
    }

    const FREE: Budget = Budget { limit: 0, window_ms: 5_000 };

    #[test]
    fn numbers_rise_and_generations_do_not_overlap() {
        let mut door = Arrivals::new(0);
        assert_eq!(door.arrive(&arrival("a", 1), FREE, Moment(0)), Arrived::Number(Number(1)));
        assert_eq!(door.arrive(&arrival("b", 2), FREE, Moment(0)), Arrived::Number(Number(2)));
        door.raise(1);
        assert_eq!(door.arrive(&arrival("c", 3), FREE, Moment(0)), Arrived::Number(Number(1_000_000_001)));
        door.raise(0);
        assert_eq!(door.arrive(&arrival("d", 4), FREE, Moment(0)), Arrived::Number(Number(1_000_000_002)));
    }

    #[test]
    fn one_running_request_per_user() {
        let mut door = Arrivals::new(0);
        let alice = User::new("alice").unwrap();
        assert!(matches!(door.arrive(&arrival("alice", 1), FREE, Moment(0)), Arrived::Number(_)));
        assert_eq!(door.arrive(&arrival("alice", 2), FREE, Moment(0)), Arrived::AlreadyAsking { retry_after: 1 });
        door.release(&alice, RequestName(2));
        assert!(
            matches!(door.arrive(&arrival("alice", 3), FREE, Moment(1)), Arrived::AlreadyAsking { .. }),
            "another's name releases nothing"
        );
        door.release(&alice, RequestName(1));
        assert!(matches!(door.arrive(&arrival("alice", 4), FREE, Moment(1)), Arrived::Number(_)));
        let late = Moment(1 + MARK_MS);
        assert!(
            matches!(door.arrive(&arrival("alice", 5), FREE, late), Arrived::Number(_)),
            "a dead server's mark ends"
        );
        let keyed = Arrival { keyed: true, ..arrival("alice", 6) };
        assert!(matches!(door.arrive(&keyed, FREE, late), Arrived::Number(_)), "a key is not marked");
    }

    #[test]
    fn every_request_spends_the_budget_until_the_window_ends() {
        let mut door = Arrivals::new(0);
        let two = Budget { limit: 2, window_ms: 5_000 };
        assert!(matches!(door.arrive(&arrival("a", 1), two, Moment(0)), Arrived::Number(_)));
        assert!(
            matches!(door.arrive(&arrival("a", 2), two, Moment(0)), Arrived::AlreadyAsking { .. }),
            "it counts all the same"
        );
        assert_eq!(door.arrive(&arrival("c", 3), two, Moment(1_000)), Arrived::AddressSpent { retry_after: 4 });
        assert!(matches!(door.arrive(&arrival("d", 4), two, Moment(5_000)), Arrived::Number(_)));
    }

    #[test]
    fn old_windows_are_forgotten() {
        let mut door = Arrivals::new(0);
        let one = Budget { limit: 1, window_ms: 10 };
        for i in 0..10_000u32 {
            let from =
                Arrival { address: ClientAddress::V4(i.to_be_bytes()), user: None, ..arrival("x", u128::from(i)) };
            door.arrive(&from, one, Moment(i64::from(i)));
        }
        assert!(door.remembered() <= 12, "{}", door.remembered());
    }
}
