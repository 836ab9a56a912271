//! Token buckets in a table of fixed size. A bucket is the moment at which it is full again (the generic cell
//! rate algorithm), so a bucket that was not asked for a while is like one that was never there. A new bucket
//! takes the place of the fullest one in its set: forgetting that one gives away the least.

use std::sync::Mutex;

/// 131,072 buckets in about 2 MiB. A bucket matters until it is full again, which takes ten seconds at most.
const SETS: usize = 16_384;
const WAYS: usize = 8;

/// A bucket holds the tokens of so many seconds. The limit is for programs that ask all the time: fifty tabs that
/// are opened at once, or everybody behind one address at the opening of a sale, are not refused.
pub const BURST_SECONDS: u64 = 10;

/// Tokens per second, and how many may be spent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    token_ns: u64,
    /// How far ahead of now the moment may be at which a bucket is full again.
    ahead_ns: u64,
}

impl Rate {
    /// None: no limit.
    pub fn per_second(tokens: u32) -> Option<Rate> {
        let token_ns = 1_000_000_000u64.checked_div(tokens.into())?;
        Some(Rate { token_ns, ahead_ns: token_ns * (BURST_SECONDS * u64::from(tokens) - 1) })
    }
}

#[derive(Debug)]
pub struct TokenBuckets {
    sets: Box<[Mutex<[Bucket; WAYS]>]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    whose: u64,
    full_at: u64,
}

impl Default for TokenBuckets {
    fn default() -> Self {
        TokenBuckets { sets: (0..SETS).map(|_| Mutex::default()).collect() }
    }
}

impl TokenBuckets {
    /// Takes a token; or says in how many nanoseconds there is one. `whose` is a keyed hash.
    pub fn take(&self, whose: u64, rate: Rate, now: u64) -> Result<(), u64> {
        let set = &self.sets[whose as usize % SETS];
        let mut set = set.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = set.iter().position(|bucket| bucket.whose == whose);
        let place = known.unwrap_or_else(|| {
            let fullest = set.iter().enumerate().min_by_key(|(_, bucket)| bucket.full_at);
            fullest.map_or(0, |(place, _)| place)
        });
        let full_at = if known.is_some() { set[place].full_at.max(now) } else { now };
        let wait = (full_at - now).saturating_sub(rate.ahead_ns);
        if wait > 0 {
            return Err(wait);
        }
        set[place] = Bucket { whose, full_at: full_at + rate.token_ns };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn taken(buckets: &TokenBuckets, whose: u64, rate: Rate, now: u64) -> usize {
        (0..1_000).take_while(|_| buckets.take(whose, rate, now).is_ok()).count()
    }

    #[test]
    fn buckets_refill_at_their_rate_up_to_their_burst() {
        let (buckets, rate) = (TokenBuckets::default(), Rate::per_second(4).unwrap());
        assert_eq!(taken(&buckets, 7, rate, SECOND), 40);
        assert_eq!(buckets.take(7, rate, SECOND), Err(SECOND / 4), "the wait is true");
        assert_eq!(buckets.take(7, rate, SECOND + SECOND / 4 - 1), Err(1));
        assert_eq!(buckets.take(7, rate, SECOND + SECOND / 4), Ok(()));
        assert_eq!(taken(&buckets, 7, rate, 2 * SECOND), 3);
        assert_eq!(taken(&buckets, 7, rate, 90 * SECOND), 40, "never more than the burst");
        assert_eq!(taken(&buckets, 8, rate, SECOND), 40, "another bucket");
        assert_eq!(Rate::per_second(0), None);
    }

    /// Invented users take places of buckets that are fuller than the one of somebody who asks too often.
    #[test]
    fn a_million_users_neither_grow_the_table_nor_refill_a_spent_bucket() {
        let (buckets, rate) = (TokenBuckets::default(), Rate::per_second(20).unwrap());
        let before = (buckets.sets.len(), size_of_val(&*buckets.sets));
        assert!(before.1 < 4 << 20, "{} bytes", before.1);
        assert_eq!(taken(&buckets, 7, rate, 0), 200);
        for user in 0..1_000_000u64 {
            assert_eq!(buckets.take(user.wrapping_mul(0x9e37_79b9_7f4a_7c15), rate, user * 1_000), Ok(()));
        }
        assert_eq!(before, (buckets.sets.len(), size_of_val(&*buckets.sets)));
        assert_eq!(taken(&buckets, 7, rate, SECOND), 20, "one second's worth came back");
    }
}
