//! A set of numbers with ranks: one bit per number, with counts per 1,024 and per million numbers.
//! Numbers are given one after another, so the bits are dense.

use std::collections::BTreeMap;

use crate::ids::Number;

const BLOCK: u64 = 1_024;
const BLOCKS: usize = 1_024;
const WORDS: usize = 16;
const SPAN: u64 = BLOCK * BLOCKS as u64;

#[derive(Debug, Default)]
pub struct Ranks {
    spans: BTreeMap<u64, Span>,
    count: u64,
}

#[derive(Debug)]
struct Span {
    count: u64,
    counts: Vec<u16>,
    /// None for a block without numbers.
    bits: Vec<Option<Box<[u64; WORDS]>>>,
}

impl Span {
    fn new() -> Span {
        Span { count: 0, counts: vec![0; BLOCKS], bits: vec![None; BLOCKS] }
    }
}

/// Span, block, word and bit of a number.
fn place(number: Number) -> (u64, usize, usize, u64) {
    let within = number.0 % SPAN;
    let (block, bit) = ((within / BLOCK) as usize, within % BLOCK);
    (number.0 / SPAN, block, (bit / 64) as usize, bit % 64)
}

impl Ranks {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn insert(&mut self, number: Number) {
        let (span, block, word, bit) = place(number);
        let span = self.spans.entry(span).or_insert_with(Span::new);
        let bits = span.bits[block].get_or_insert_with(Box::default);
        if bits[word] & 1 << bit == 0 {
            bits[word] |= 1 << bit;
            span.counts[block] += 1;
            span.count += 1;
            self.count += 1;
        }
    }

    pub fn remove(&mut self, number: Number) {
        let (key, block, word, bit) = place(number);
        let Some(span) = self.spans.get_mut(&key) else { return };
        let Some(bits) = &mut span.bits[block] else { return };
        if bits[word] & 1 << bit != 0 {
            bits[word] &= !(1 << bit);
            span.counts[block] -= 1;
            span.count -= 1;
            self.count -= 1;
            if span.counts[block] == 0 {
                span.bits[block] = None;
            }
            if span.count == 0 {
                self.spans.remove(&key);
            }
        }
    }

    /// How many are lower.
    pub fn below(&self, number: Number) -> u64 {
        let (key, block, word, bit) = place(number);
        let mut below: u64 = self.spans.range(..key).map(|(_, span)| span.count).sum();
        let Some(span) = self.spans.get(&key) else { return below };
        below += span.counts[..block].iter().map(|count| u64::from(*count)).sum::<u64>();
        if let Some(bits) = &span.bits[block] {
            below += bits[..word].iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            below += u64::from((bits[word] & ((1 << bit) - 1)).count_ones());
        }
        below
    }

    /// The number with this rank.
    pub fn nth(&self, mut n: u64) -> Option<Number> {
        for (key, span) in &self.spans {
            if n >= span.count {
                n -= span.count;
                continue;
            }
            for (block, count) in span.counts.iter().enumerate() {
                if n >= u64::from(*count) {
                    n -= u64::from(*count);
                    continue;
                }
                let within = span.bits[block].as_ref().and_then(|bits| nth_bit(bits, n))?;
                return Some(Number(key * SPAN + block as u64 * BLOCK + within));
            }
        }
        None
    }
}

fn nth_bit(bits: &[u64; WORDS], mut n: u64) -> Option<u64> {
    for (at, word) in bits.iter().enumerate() {
        let here = u64::from(word.count_ones());
        if n >= here {
            n -= here;
            continue;
        }
        let mut word = *word;
        for _ in 0..n {
            word &= word - 1;
        }
        return Some(at as u64 * 64 + u64::from(word.trailing_zeros()));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranks_agree_with_a_sorted_set() {
        let (mut ranks, mut sorted) = (Ranks::default(), BTreeSet::new());
        let mut dice = 7u64;
        for _ in 0..20_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let generation = (dice >> 60) % 3;
            let number = Number(generation * 1_000_000_000 + (dice >> 30) % 5_000);
            if dice >> 20 & 3 == 0 {
                ranks.remove(number);
                sorted.remove(&number);
            } else {
                ranks.insert(number);
                sorted.insert(number);
            }
            assert_eq!(ranks.count(), sorted.len() as u64);
        }
        for (rank, number) in sorted.iter().enumerate() {
            assert_eq!((ranks.below(*number), ranks.nth(rank as u64)), (rank as u64, Some(*number)));
        }
        assert_eq!(ranks.below(Number(u64::MAX)), sorted.len() as u64);
        assert_eq!(ranks.nth(sorted.len() as u64), None);
        for number in sorted {
            ranks.remove(number);
        }
        assert!(ranks.spans.is_empty());
    }
}
