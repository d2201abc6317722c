//! How fast blocks came, were tested and went: the least, the mean and the most, as rngtest has it but by nanoseconds.

use std::time::Duration;

use tollway_entropy::engine::fips::BLOCK_BITS;

/// Times of blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    least: Option<f64>,
    most: f64,
    sum: f64,
    blocks: u64,
}

/// Bits a second, of the slowest block, of all, of the fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of the block that took longest.
    pub min: f64,
    /// Of all.
    pub avg: f64,
    /// Of the block that took least.
    pub max: f64,
}

impl Times {
    /// So many blocks took this long together, each an equal part.
    pub fn add(&mut self, together: Duration, blocks: u64) {
        if blocks == 0 {
            return;
        }
        // A clock that has not moved has a nanosecond at most to tell.
        let seconds = together.as_secs_f64().max(1e-9);
        let each = seconds / blocks as f64;
        self.least = Some(self.least.map_or(each, |least| least.min(each)));
        self.most = self.most.max(each);
        self.sum += seconds;
        self.blocks += blocks;
    }

    /// What they come to; `None` without a block.
    pub fn rates(&self) -> Option<Rates> {
        let bits = BLOCK_BITS as f64;
        let max = bits / self.least?;
        Some(Rates { min: bits / self.most, avg: bits * self.blocks as f64 / self.sum, max })
    }
}

impl Rates {
    /// In the largest unit that all three are at least one of: `(min=1.000; avg=2.000; max=3.000)Mibits`, as rngtest prints it.
    pub fn in_rngtests_words(of: Option<Rates>) -> String {
        let Rates { mut min, mut avg, mut max } = of.unwrap_or(Rates { min: 0.0, avg: 0.0, max: 0.0 });
        let mut unit = "bits";
        for larger in ["Kibits", "Mibits", "Gibits", "Tibits", "Pibits"] {
            if min < 1024.0 || avg < 1024.0 || max < 1024.0 {
                break;
            }
            (min, avg, max, unit) = (min / 1024.0, avg / 1024.0, max / 1024.0, larger);
        }
        format!("(min={min:.3}; avg={avg:.3}; max={max:.3}){unit}/s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_blocks() {
        let mut times = Times::default();
        assert_eq!(times.rates(), None);
        times.add(Duration::from_micros(10), 1);
        times.add(Duration::from_micros(10), 10);
        times.add(Duration::from_micros(5), 0);
        let rates = times.rates().unwrap();
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
        assert!(close(rates.min, 2e9) && close(rates.max, 2e10) && close(rates.avg, 11.0 * 1e9), "{rates:?}");
        assert_eq!(Rates::in_rngtests_words(times.rates()), "(min=1.863; avg=10.245; max=18.626)Gibits/s");
        assert_eq!(Rates::in_rngtests_words(None), "(min=0.000; avg=0.000; max=0.000)bits/s");
        let slow = Rates { min: 1000.0, avg: 1e6, max: 1e9 };
        assert_eq!(
            Rates::in_rngtests_words(Some(slow)),
            "(min=1000.000; avg=1000000.000; max=1000000000.000)bits/s"
        );
    }
}
