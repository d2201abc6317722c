//! Where an actor writes its latencies: memory that was allocated before the window opened.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Ticks};

/// A tick is recorded in so many parts, so that operations of a few ticks keep their decimals.
pub const SUB_TICKS: u64 = 256;

/// The longest sample, in ticks: 2^38 (a minute and a half at 3 GHz). Longer ones are recorded as this.
const LONGEST: u64 = 1 << 38;

/// Takes samples without allocating, locking or calling the system.
///
/// A sample is the time of one operation, or of a batch divided by the number of operations in it.
#[derive(Clone, Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    ops: u64,
    ticks: u64,
    batch: u32,
    stretch: Option<Ticks>,
}

impl Recorder {
    /// An empty recorder. Relative resolution 1e-3, as of [`Histogram`] with three significant digits.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST * SUB_TICKS, 3)
            .expect("the bounds are constants that hdrhistogram accepts");
        Recorder { histogram, ops: 0, ticks: 0, batch: 1, stretch: None }
    }

    /// Says how many operations a sample covers from here on.
    pub fn set_batch(&mut self, batch: u32) {
        self.batch = batch.max(1);
    }

    /// Records one sample: the ticks that a batch of operations took.
    #[inline]
    pub fn sample(&mut self, ticks: Ticks) {
        let ticks = ticks.min(LONGEST);
        self.ops += u64::from(self.batch);
        self.ticks += ticks;
        self.histogram.saturating_record(((ticks * SUB_TICKS) / u64::from(self.batch)).max(1));
    }

    /// Takes over what another thread of the same actor recorded.
    pub fn merge(&mut self, other: &Recorder) {
        self.histogram += &other.histogram;
        self.ops += other.ops;
        self.ticks += other.ticks;
        self.batch = self.batch.max(other.batch);
        self.stretch = self.stretch.max(other.stretch);
    }

    /// Says that what was recorded took so long, where that is not the window: an operation that is longer than it, or a
    /// program that keeps its own time.
    pub fn took(&mut self, ticks: Ticks) {
        self.stretch = Some(ticks);
    }

    /// How long what was recorded took, where that is not the window.
    pub fn stretch(&self) -> Option<Ticks> {
        self.stretch
    }

    /// Operations so far, and the ticks that they took, all together; allocates nothing.
    pub fn total(&self) -> (u64, Ticks) {
        (self.ops, self.ticks)
    }

    /// What was recorded.
    pub fn spread(&self) -> Spread {
        Spread {
            ops: self.ops,
            ticks: self.ticks,
            batch: self.batch,
            counts: self
                .histogram
                .iter_recorded()
                .map(|v| {
                    (self.histogram.median_equivalent(v.value_iterated_to()), v.count_since_last_iteration())
                })
                .collect(),
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

/// A recorded distribution: samples per operation, in [`SUB_TICKS`]ths of a tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Operations in the window.
    pub ops: u64,
    /// Ticks they took, all together.
    pub ticks: u64,
    /// Operations that one sample covers: with more than one, quantiles are those of batches.
    pub batch: u32,
    /// Value and number of samples, by value, ascending.
    pub counts: Vec<(u64, u64)>,
}

impl Spread {
    /// How many samples there are.
    pub fn samples(&self) -> u64 {
        self.counts.iter().map(|(_, n)| n).sum()
    }

    /// The `q`-quantile in ticks per operation (the smallest value that at least `q` of the samples do not exceed);
    /// `None` where there is no sample.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((self.samples() as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        for (value, n) in &self.counts {
            seen += n;
            if seen >= rank {
                return Some(*value as f64 / SUB_TICKS as f64);
            }
        }
        None
    }

    /// Ticks per operation, all together; `None` where there is no operation.
    pub fn mean(&self) -> Option<f64> {
        (self.ops > 0).then(|| self.ticks as f64 / self.ops as f64)
    }

    /// Ticks that samples took beyond the median, counting only samples that exceed it by more than `slack` ticks:
    /// time that something else took.
    ///
    /// Of samples that cover fewer operations than [`batch`](Spread::batch) says it is no more than what is left of all ticks
    /// once each operation has what it took in the mean of samples, those beyond counted as the median.
    pub fn excess(&self, slack: f64) -> f64 {
        let Some(median) = self.quantile(0.5) else { return 0.0 };
        let batch = f64::from(self.batch);
        let (mut beyond, mut kept) = (0.0, 0.0);
        for (value, n) in &self.counts {
            let (value, n) = (*value as f64 / SUB_TICKS as f64, *n as f64);
            let more = (value - median) * batch;
            if more > slack {
                beyond += more * n;
                kept += median * n;
            } else {
                kept += value * n;
            }
        }
        let left = self.ticks as f64 - self.ops as f64 * kept / self.samples() as f64;
        f64::min(beyond, left.max(0.0))
    }

    /// Joins the samples of another actor of the same role.
    pub fn merge(&mut self, other: &Spread) {
        let mut counts = std::collections::BTreeMap::new();
        for (value, n) in self.counts.iter().chain(&other.counts) {
            *counts.entry(*value).or_insert(0) += n;
        }
        self.counts = counts.into_iter().collect();
        self.ops += other.ops;
        self.ticks += other.ticks;
        self.batch = self.batch.max(other.batch);
    }

    /// A compact form for storage: LEB128 numbers (DWARF 5, section 7.6) of ops, ticks, batch, then each value as the
    /// difference from the one before, and its count.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + 4 * self.counts.len());
        for n in [self.ops, self.ticks, u64::from(self.batch)] {
            put(&mut out, n);
        }
        let mut last = 0;
        for (value, n) in &self.counts {
            put(&mut out, value.wrapping_sub(last));
            put(&mut out, *n);
            last = *value;
        }
        out
    }

    /// Reads what [`Spread::to_bytes`] wrote; anything else is an error.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Spread> {
        let damaged = || Error::Input {
            place: "stored distribution".into(),
            reason: "its bytes are damaged".into(),
            remedy: "restore the store from a copy, or measure again".into(),
        };
        // A value and its count take two bytes at least.
        let room = bytes.len() / 2;
        let mut take = || take(&mut bytes);
        let ops = take().ok_or_else(damaged)?;
        let ticks = take().ok_or_else(damaged)?;
        let batch = take().and_then(|n| u32::try_from(n).ok()).ok_or_else(damaged)?;
        let mut counts = Vec::with_capacity(room);
        let mut last = 0u64;
        let mut samples = 0u64;
        while let Some(step) = take() {
            let value = last.checked_add(step).ok_or_else(damaged)?;
            let n = take().ok_or_else(damaged)?;
            samples = samples.checked_add(n).ok_or_else(damaged)?;
            if n == 0 || (step == 0 && !counts.is_empty()) {
                return Err(damaged());
            }
            counts.push((value, n));
            last = value;
        }
        if !bytes.is_empty() {
            return Err(damaged());
        }
        Ok(Spread { ops, ticks, batch, counts })
    }
}

fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for (i, byte) in bytes.iter().enumerate().take(10) {
        let part = u64::from(byte & 0x7f);
        if i == 9 && part > 1 {
            return None;
        }
        n |= part << (7 * i);
        if byte & 0x80 == 0 {
            *bytes = &bytes[i + 1..];
            return Some(n);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_batch_keeps_its_decimals() {
        let mut r = Recorder::new();
        r.set_batch(1000);
        r.sample(2370);
        let median = r.spread().quantile(0.5).unwrap();
        assert!((median - 2.37).abs() < 0.005, "{median}");
        assert_eq!(r.spread().mean(), Some(2.37));
    }

    #[test]
    fn quantiles_agree_with_sorting() {
        let mut r = Recorder::new();
        for t in 1..=1000u64 {
            r.sample(t * 10);
        }
        for (q, want) in [(0.5, 5000.0), (0.99, 9900.0), (1.0, 10000.0)] {
            let got = r.spread().quantile(q).unwrap();
            assert!((got / want - 1.0).abs() < 1e-3, "{q}: {got} for {want}");
        }
    }

    #[test]
    fn nothing_recorded_is_not_zero() {
        let spread = Recorder::new().spread();
        assert_eq!((spread.quantile(0.5), spread.mean()), (None, None));
    }

    #[test]
    fn an_interruption_shows_as_excess() {
        let mut r = Recorder::new();
        for _ in 0..999 {
            r.sample(100);
        }
        r.sample(50_100);
        let excess = r.spread().excess(4200.0);
        assert!((excess / 50_000.0 - 1.0).abs() < 2e-3, "{excess}");
    }

    #[test]
    fn an_interruption_of_one_operation_is_not_that_of_a_whole_batch() {
        // Stretches of 1000 operations, and one of a single operation that was interrupted for as long as ten of them.
        let mut r = Recorder::new();
        r.set_batch(1);
        r.sample(1_000_000);
        r.set_batch(1000);
        (0..10).for_each(|_| r.sample(100_000));
        let spread = r.spread();
        let work = (spread.ticks as f64 - spread.excess(4200.0)) / spread.ops as f64;
        assert!((work / 100.0 - 1.0).abs() < 1e-2, "{work}: {}", spread.batch);
    }

    proptest! {
        #[test]
        fn bytes_read_back(samples in prop::collection::vec(0u64..1 << 40, 0..60), batch in 1u32..5000) {
            let mut r = Recorder::new();
            r.set_batch(batch);
            samples.iter().for_each(|t| r.sample(*t));
            let spread = r.spread();
            prop_assert_eq!(Spread::from_bytes(&spread.to_bytes()).unwrap(), spread);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Spread::from_bytes(&bytes);
        }
    }
}
