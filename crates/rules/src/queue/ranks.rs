//! Numbers with ranks: sorted, in chunks. Consecutive numbers fill one chunk after the other; drawn numbers fall
//! anywhere and split chunks that become full. A number may occur twice, because two users may draw the same one.

use crate::ids::Number;

const CHUNK: usize = 2_048;

/// No chunk is empty. `lens` is separate, so that counting the numbers before a chunk reads little memory.
#[derive(Debug, Default)]
pub struct Ranks {
    chunks: Vec<Vec<u64>>,
    lens: Vec<u32>,
    count: u64,
}

impl Ranks {
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first chunk whose last number is not lower.
    fn chunk_of(&self, number: u64) -> usize {
        self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| *last < number))
    }

    fn before(&self, chunk: usize) -> u64 {
        self.lens[..chunk].iter().map(|len| u64::from(*len)).sum()
    }

    pub fn insert(&mut self, Number(number): Number) {
        let mut at = self.chunk_of(number);
        if at == self.chunks.len() {
            // Beyond all other numbers.
            if self.chunks.last().is_none_or(|last| last.len() >= CHUNK) {
                self.chunks.push(Vec::with_capacity(CHUNK));
                self.lens.push(0);
            }
            at = self.chunks.len() - 1;
        }
        let within = self.chunks[at].partition_point(|other| *other < number);
        self.chunks[at].insert(within, number);
        self.lens[at] += 1;
        self.count += 1;
        if self.chunks[at].len() > CHUNK {
            let upper = self.chunks[at].split_off(CHUNK / 2);
            self.lens[at] = self.chunks[at].len() as u32;
            self.lens.insert(at + 1, upper.len() as u32);
            self.chunks.insert(at + 1, upper);
        }
    }

    pub fn remove(&mut self, Number(number): Number) {
        let at = self.chunk_of(number);
        let Some(chunk) = self.chunks.get_mut(at) else { return };
        let Ok(within) = chunk.binary_search(&number) else { return };
        chunk.remove(within);
        self.lens[at] -= 1;
        self.count -= 1;
        if chunk.is_empty() {
            self.chunks.remove(at);
            self.lens.remove(at);
        }
    }

    /// How many numbers are lower.
    pub fn below(&self, Number(number): Number) -> u64 {
        let at = self.chunk_of(number);
        let within = self.chunks.get(at).map_or(0, |chunk| chunk.partition_point(|other| *other < number));
        self.before(at) + within as u64
    }

    /// The number with this rank.
    pub fn nth(&self, mut n: u64) -> Option<Number> {
        for (chunk, len) in self.chunks.iter().zip(&self.lens) {
            if n < u64::from(*len) {
                return chunk.get(n as usize).map(|number| Number(*number));
            }
            n -= u64::from(*len);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of three generations, and drawn ones between two of them.
    #[test]
    fn ranks_agree_with_a_sorted_list() {
        let (mut ranks, mut sorted) = (Ranks::default(), Vec::new());
        let mut dice = 7u64;
        for _ in 0..40_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = match dice >> 60 & 3 {
                3 => Number::drawn(dice.rotate_left(17)),
                generation => Number(generation * 1_000_000_000 + (dice >> 30) % 5_000),
            };
            if dice >> 20 & 3 == 0 {
                ranks.remove(number);
                if let Ok(at) = sorted.binary_search(&number) {
                    sorted.remove(at);
                }
            } else {
                ranks.insert(number);
                sorted.insert(sorted.partition_point(|other| *other < number), number);
            }
            assert_eq!(ranks.count(), sorted.len() as u64);
        }
        assert!(ranks.chunks.len() > 5, "chunks were split");
        assert!(sorted.windows(2).any(|two| two[0] == two[1]), "numbers were there twice");
        for (rank, number) in sorted.iter().enumerate() {
            assert_eq!(ranks.nth(rank as u64), Some(*number));
            // Itself, and the next, which may not be among them.
            for asked in [*number, Number(number.0 + 1)] {
                assert_eq!(ranks.below(asked), sorted.partition_point(|other| *other < asked) as u64);
            }
        }
        assert_eq!(ranks.below(Number(u64::MAX)), sorted.len() as u64);
        assert_eq!(ranks.nth(sorted.len() as u64), None);
        for number in sorted {
            ranks.remove(number);
        }
        assert!(ranks.chunks.is_empty() && ranks.lens.is_empty());
    }
}
