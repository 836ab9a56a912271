//! The seeded RNG of all suites: the same seed gives the same test.

/// An xorshift generator: fast, small, and good enough to mix up a test.
pub struct SeededRng(u64);

impl SeededRng {
    /// Prints the seed, which the runner shows when the test fails.
    pub fn new(seed: u64) -> SeededRng {
        println!("seeded RNG: seed {seed}");
        SeededRng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From 0 up to, not including, `below`.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

#[cfg(test)]
mod tests {
    use super::SeededRng;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut rng = SeededRng::new(seed);
            (0..1_000).map(|_| rng.below(10)).collect::<Vec<u64>>()
        };
        assert_eq!(numbers(8), numbers(8));
        assert_ne!(numbers(8), numbers(9));
        assert!((0..10).all(|digit| numbers(8).contains(&digit)));
    }
}
