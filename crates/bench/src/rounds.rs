//! Alternates every contender with the ceiling, several times. A run is compared with the ceiling just
//! before and just after it, so a machine that slows down slows both.

use crate::figures::LoadFigures;

/// One contender over all rounds.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub connections: usize,
    pub rates: Vec<f64>,
    /// Relative to the ceiling beside it.
    pub ratios: Vec<f64>,
    /// Answered without a seat: overload. Not counted in the rate.
    pub refused: u64,
}

impl Series {
    pub fn rate(&self) -> f64 {
        Spread::of(&self.rates).median
    }

    pub fn ratio(&self) -> Spread {
        Spread::of(&self.ratios)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl Spread {
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Spread { min: f64::NAN, median: f64::NAN, max: f64::NAN };
        };
        Spread { min: *min, median: sorted[sorted.len() / 2], max: *max }
    }

    /// Without the lowest and the highest quarter, for many short rounds on a machine that stalls now and then.
    pub fn middle_half(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quarter = sorted.len() / 4;
        Spread::of(&sorted[quarter..sorted.len() - quarter])
    }
}

/// Runs all of `names` with this many connections, `rounds` times. `measure` of None is the ceiling. The
/// first series is the ceiling's own.
pub fn alternate(
    names: &[String],
    connections: usize,
    rounds: usize,
    mut measure: impl FnMut(Option<usize>) -> LoadFigures,
) -> Vec<Series> {
    let empty =
        |name: &str| Series { name: name.to_owned(), connections, rates: Vec::new(), ratios: Vec::new(), refused: 0 };
    let mut ceiling = empty("the ceiling");
    let mut all: Vec<Series> = names.iter().map(|name| empty(name)).collect();
    for _ in 0..rounds {
        let mut before = measure(None).rate();
        ceiling.rates.push(before);
        for (i, series) in all.iter_mut().enumerate() {
            let figures = measure(Some(i));
            let rate = figures.rate();
            series.refused += figures.other;
            let after = measure(None).rate();
            ceiling.rates.push(after);
            series.rates.push(rate);
            series.ratios.push(rate / ((before + after) / 2.0));
            before = after;
        }
    }
    let usual = ceiling.rate();
    ceiling.ratios = ceiling.rates.iter().map(|rate| rate / usual).collect();
    all.insert(0, ceiling);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_compared_with_the_ceiling_beside_them() {
        // A machine that gets slower: half as fast at every run.
        let mut speed = 4096.0;
        let names = ["half".to_owned(), "same".to_owned()];
        let all = alternate(&names, 8, 3, |who| {
            speed /= 2.0;
            let rate = if who == Some(0) { speed / 2.0 } else { speed };
            LoadFigures { ok: (rate * 1_000.0) as u64, seconds: 1_000.0, ..LoadFigures::default() }
        });
        assert_eq!(all.iter().map(|s| s.rates.len()).collect::<Vec<_>>(), [9, 3, 3]);
        // Between 2 and 1/2 of its own speed: the mean is 1.25.
        assert!((all[1].ratio().median - 0.4).abs() < 0.01, "{:?}", all[1].ratios);
        assert!((all[2].ratio().median - 0.8).abs() < 0.01, "{:?}", all[2].ratios);
    }

    #[test]
    fn spread_has_minimum_median_and_maximum() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { min: 1.0, median: 2.0, max: 3.0 });
        assert!(Spread::of(&[]).median.is_nan());
        let eight = [8.0, 1.0, 3.0, 2.0, 6.0, 5.0, 4.0, 7.0];
        assert_eq!(Spread::middle_half(&eight), Spread { min: 3.0, median: 5.0, max: 6.0 });
    }
}
