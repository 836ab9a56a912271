//! Names of running requests, which clients see as trace ids. They are random, so that they tell nobody
//! how many requests there were.

use std::cell::RefCell;

use rules::ids::RequestName;

/// Random bytes are asked of the system in blocks: once per request would be a system call each.
const BLOCK: usize = 4_096;
const NAME: usize = 16;

#[derive(Debug, Default)]
pub struct Names(());

struct Random {
    bytes: [u8; BLOCK],
    used: usize,
}

thread_local! {
    static RANDOM: RefCell<Random> = const { RefCell::new(Random { bytes: [0; BLOCK], used: BLOCK }) };
}

impl Names {
    pub fn next(&self) -> RequestName {
        RANDOM.with_borrow_mut(|random| {
            if random.used + NAME > BLOCK {
                if getrandom::fill(&mut random.bytes).is_err() {
                    // Also random, and it panics where the system has no random numbers at all.
                    return RequestName(uuid::Uuid::new_v4().as_u128());
                }
                random.used = 0;
            }
            let mut name = [0; NAME];
            let taken = random.used..random.used + NAME;
            name.copy_from_slice(&random.bytes[taken]);
            random.used += NAME;
            RequestName(u128::from_be_bytes(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_count() {
        let names = Names::default();
        let made: Vec<u128> = (0..10_000).map(|_| names.next().0).collect();
        let mut unique = made.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), made.len());
        // Half of the bits differ between neighbours, in the low half as in the high one.
        for half in [0, 64] {
            let bits = |two: &[u128]| ((two[0] ^ two[1]) >> half & u128::from(u64::MAX)).count_ones();
            let apart: u32 = made.windows(2).map(bits).sum();
            assert!((31 * 9_999..33 * 9_999).contains(&apart), "{apart}");
        }
    }
}
