//! How many customers to leave out at the beginning, while the system forgets that it began empty.
//!
//! MSER-5 (White 1997, Simulation 69:323): of all truncations of a series of batch means, the one whose remaining mean
//! has the smallest squared standard error. The batches have 5 customers, and twice as many each time that the series has
//! grown too long to keep. The series is a pilot's with random numbers of its own, and the number found in it is frozen
//! before anything counts.

/// Customers in the smallest batch: the 5 of MSER-5.
const BATCH: u64 = 5;

/// The most batch means that are kept.
const MOST: usize = 4000;

/// Response times in the order of leaving, as batch means.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    means: Vec<f64>,
    length: u64,
    sum: f64,
    count: u64,
}

impl Series {
    pub(crate) fn new() -> Self {
        Series { means: Vec::with_capacity(MOST), length: BATCH, sum: 0.0, count: 0 }
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        if self.count < self.length {
            return;
        }
        self.means.push(self.sum / self.length as f64);
        (self.sum, self.count) = (0.0, 0);
        if self.means.len() == MOST {
            self.means = self.means.chunks_exact(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
            self.length *= 2;
        }
    }

    /// Customers to leave out, and whether the series was long enough to tell: the truncation is not in its second half.
    pub(crate) fn truncation(&self) -> (u64, bool) {
        let n = self.means.len();
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        let mut best = (f64::INFINITY, 0);
        // From the end, with running moments; the last few have no variance to speak of.
        for (start, value) in self.means.iter().enumerate().rev() {
            count += 1.0;
            let off = value - mean;
            mean += off / count;
            squares += off * (value - mean);
            let score = squares / (count * count);
            if n - start >= 5 && score <= best.0 {
                best = (score, start);
            }
        }
        (best.1 as u64 * self.length, n >= 10 && 2 * best.1 < n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    fn series(n: usize, value: impl Fn(usize) -> f64) -> Series {
        let mut stream = Stream::new(5, 0, 0);
        let mut series = Series::new();
        (0..n).for_each(|i| series.push(value(i) + stream.exponential()));
        series
    }

    #[test]
    fn a_transient_is_cut_off_and_little_more() {
        let (cut, sure) = series(20_000, |i| if i < 1000 { 20.0 } else { 0.0 }).truncation();
        assert!(sure);
        assert!((1000..2000).contains(&cut), "{cut}");
    }

    #[test]
    fn a_series_without_one_is_kept_mostly() {
        let (cut, sure) = series(100_000, |_| 0.0).truncation();
        assert!(sure);
        assert!(cut < 50_000, "{cut}");
    }

    #[test]
    fn a_trend_to_the_end_is_not_long_enough() {
        assert!(!series(20_000, |i| i as f64).truncation().1);
    }

    #[test]
    fn memory_is_bounded() {
        let long = series(1_000_000, |_| 0.0);
        assert!(long.means.len() < MOST && long.means.capacity() <= 2 * MOST);
        assert_eq!(long.means.len() as u64 * long.length + long.count, 1_000_000);
    }
}
