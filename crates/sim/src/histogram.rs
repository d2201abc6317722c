//! Quantiles of times without keeping them: a histogram whose bins follow the bits of a number, 256 between each power of
//! two and the next, so that a bin is at most 0.4 % wide.

/// Bits of the fraction that a bin keeps.
const FRACTION_BITS: u32 = 8;

/// What of a number's bits is below its bin.
const SHIFT: u32 = 52 - FRACTION_BITS;

/// The smallest number with a bin of its own, 2⁻⁸⁰, and the largest, 2⁶⁴: beyond what times can be told apart.
const LOWEST: u64 = (1023 - 80) << FRACTION_BITS;
const BINS: usize = (80 + 64) << FRACTION_BITS;

/// Counts of times.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// The first bin has all that is smaller, zero above all; the last one all that is larger.
    counts: Box<[u64; BINS + 2]>,
    /// The smallest and the largest time of all: no quantile is beyond them.
    smallest: f64,
    largest: f64,
}

/// A quantile, and the bin that it was read from: more exactly it is not known. Seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Quantile {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        // On the heap from the start: it is too large to pass through the stack.
        let counts = vec![0; BINS + 2].into_boxed_slice();
        Histogram {
            counts: counts.try_into().unwrap_or_else(|_| Box::new([0; BINS + 2])),
            smallest: f64::INFINITY,
            largest: 0.0,
        }
    }

    /// Counts one time, seconds.
    #[inline(always)]
    pub(crate) fn add(&mut self, time: f64) {
        let bin = (time.to_bits() >> SHIFT).saturating_sub(LOWEST - 1).min(BINS as u64 + 1);
        self.counts[bin as usize] += 1;
        self.smallest = if time < self.smallest { time } else { self.smallest };
        self.largest = if time > self.largest { time } else { self.largest };
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        (self.smallest, self.largest) = (f64::INFINITY, 0.0);
    }

    /// All that the other one counted, too.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(other.counts.iter()).for_each(|(mine, theirs)| *mine += theirs);
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// How many were counted.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The times that these shares of all do not exceed, seconds; linear within a bin. `None` of nothing. The shares
    /// must rise.
    pub(crate) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[Quantile; N]> {
        let count = self.count();
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut told = [Quantile::default(); N];
        let (mut next, mut below) = (0, 0.0);
        for (bin, inside) in filled {
            let inside = *inside as f64;
            // What is too small for a bin counts as nothing.
            let low = lower_end(bin).clamp(self.smallest, self.largest);
            let high = if bin == 0 { self.smallest } else { lower_end(bin + 1) };
            let high = if bin > BINS { self.largest } else { high.clamp(low, self.largest) };
            while next < N && shares[next] * count as f64 <= below + inside {
                let within = ((shares[next] * count as f64 - below) / inside).max(0.0);
                told[next] = Quantile { value: low + (high - low) * within, low, high };
                next += 1;
            }
            below += inside;
        }
        (count > 0).then_some(told)
    }
}

fn lower_end(bin: usize) -> f64 {
    match bin {
        0 => 0.0,
        _ => f64::from_bits((LOWEST - 1 + bin as u64) << SHIFT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn a_single_value_comes_back_within_the_resolution() {
        for value in [1e-15, 3.7e-6, 0.999, 1.0, 123.456, 1e15] {
            let mut histogram = Histogram::new();
            histogram.add(value);
            for told in histogram.quantiles([0.01, 0.5, 0.999]).unwrap() {
                assert_eq!(told, Quantile { value, low: value, high: value });
            }
        }
    }

    #[test]
    fn zeros_and_what_is_beyond_the_ends_are_counted() {
        let mut histogram = Histogram::new();
        for value in [0.0, 0.0, 0.0, 1e-300, 1e300] {
            histogram.add(value);
        }
        assert_eq!(histogram.count(), 5);
        assert_eq!(histogram.quantiles([0.5]), Some([Quantile::default()]));
        let beyond = histogram.quantiles([0.999]).unwrap()[0];
        assert!(beyond.value > 1e19 && beyond.high == 1e300, "{beyond:?}");
        histogram.clear();
        assert_eq!(histogram.quantiles([0.5]), None);
    }

    #[test]
    fn no_quantile_is_beyond_what_was_seen_nor_known_better_than_its_bin() {
        let mut histogram = Histogram::new();
        (0..1000).for_each(|i| histogram.add(if i < 400 { 0.5e-6 * f64::from(i) } else { 300e-6 }));
        (0..10).for_each(|_| histogram.add(100.05e-6));
        let [middle, last] = histogram.quantiles([0.1, 0.99]).unwrap();
        assert!(last.value <= 300e-6 && last.high == 300e-6 && last.low < 300e-6, "{last:?}");
        assert!(middle.low < middle.high && (middle.low..=middle.high).contains(&middle.value), "{middle:?}");
    }

    #[test]
    fn quantiles_of_an_exponential() {
        let mut histogram = Histogram::new();
        let mut stream = Stream::new(3, 0, 0);
        let n = 1_000_000;
        (0..n).for_each(|_| histogram.add(1e-6 * stream.exponential()));
        let shares = [0.5, 0.9, 0.99, 0.999];
        for (share, told) in shares.into_iter().zip(histogram.quantiles(shares).unwrap()) {
            let told = told.value;
            let exact = -1e-6 * (1.0f64 - share).ln();
            // The rank's standard error, through the density (1 − share) / 1e-6.
            let error = (share * (1.0 - share) / f64::from(n)).sqrt() / (1.0 - share) * 1e-6;
            assert!((told - exact).abs() < 5.0 * error + 1e-4 * exact, "{share}: {told} is not {exact}");
        }
    }
}
