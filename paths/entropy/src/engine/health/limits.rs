//! Where each test's alarm begins, and how rarely a good source raises it.

use std::ops::RangeInclusive;

use tollway_core::Error;

use super::Test;
use super::binomial::{rare, upper_tail};
use super::{ones, proportion, recurrence};

/// The cut-offs of all tests of a source, derived from what it claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bits of min-entropy that a byte is to show: the H of SP 800-90B.
    pub evenness: f64,
    /// A good source raises an alarm with probability α = 2^-this, a sample and test.
    pub bits: f64,
    /// So many equal bytes in a row are an alarm: C = 1 + ⌈-log2 α / H⌉ (4.4.1).
    pub repetition: u64,
    /// So many bytes of a window of 512 that are its first are an alarm: C = 1 + critbinom(512, 2^-H, 1 - α) (4.4.2), or
    /// 512 where that is more.
    pub proportion: u32,
    /// Ones in 4096 bytes without an alarm.
    pub ones: RangeInclusive<u32>,
    /// So many equal 64-bit words in a row are an alarm: as of bytes, with eight times the entropy.
    pub words: u64,
    /// So many words of zeros or ones alone, in a row, are an alarm.
    pub constant: u64,
    /// So many bytes that come again within 4096 are an alarm.
    pub recurrence: usize,
}

/// No fewer bytes are looked for than a sample of RDRAND's generator has.
const SHORTEST_RECURRENCE: usize = 16;

/// Bits that a window of [`Test::Ones`] has.
const BITS: u32 = 8 * ones::WINDOW as u32;

impl Limits {
    /// The α that suits a service which runs for years, as the power of two that divides one.
    ///
    /// The standard recommends 20 to 40: at 250 MB/s, 2^-40 is a false alarm in little more than an hour; 2^-64 one in a
    /// thousand years or more ([`Limits::alarms_a_year`]). The price is small: 26 instead of 19 equal bytes of 512.
    pub const DEFAULT_BITS: f64 = 64.0;

    /// The cut-offs for bytes of so many bits of min-entropy (0.1 to 8) and α = 2^-`bits` (20 to 80).
    ///
    /// # Errors
    /// One of them is outside.
    pub fn new(evenness: f64, bits: f64) -> Result<Limits, Error> {
        let outside = |place: &str, value: f64, remedy: &str| Error::Input {
            place: place.into(),
            reason: format!("health tests cannot be derived from {value}"),
            remedy: remedy.into(),
        };
        if !(0.1..=8.0).contains(&evenness) {
            let remedy = "claim 0.1 to 8 bits of min-entropy a byte";
            return Err(outside("evenness", evenness, remedy));
        }
        if !(20.0..=80.0).contains(&bits) {
            return Err(outside("false alarms", bits, "give 20 to 80: one in 2^20 to 2^80 samples"));
        }
        let (p, word) = ((-evenness).exp2(), 8.0 * evenness);
        let run = |entropy: f64| (bits / entropy).ceil() as u64;
        let window = proportion::WINDOW as u32;
        let positions = (recurrence::SPAN as f64).log2();
        Ok(Limits {
            evenness,
            bits,
            repetition: 1 + run(evenness),
            proportion: rare(window, p, bits).min(window),
            ones: allowed_ones(evenness, bits),
            words: 1 + run(word),
            constant: run(word),
            recurrence: (((bits + positions) / evenness).ceil() as usize).max(SHORTEST_RECURRENCE),
        })
    }

    /// Bytes after which the start-up test is over: at least the 1024 samples of section 4.3, and as many whole windows
    /// as every test needs that can tell by itself.
    pub fn start_up(&self) -> usize {
        (recurrence::SPAN + self.recurrence).next_multiple_of(proportion::WINDOW)
    }

    /// The probability that a good source has an alarm of that test, for each byte: a bound, which sums over all places where
    /// one could begin. Nothing is assumed of the source but that its bytes are independent and none likelier than
    /// 2^-evenness.
    pub fn chance(&self, test: Test) -> f64 {
        let (h, p) = (self.evenness, (-self.evenness).exp2());
        match test {
            Test::Repetition => (-h * (self.repetition - 1) as f64).exp2(),
            // The first byte is there; of the others it takes one less.
            Test::Proportion => {
                upper_tail(proportion::WINDOW as u32 - 1, self.proportion - 1, p) / proportion::WINDOW as f64
            }
            Test::Ones if *self.ones.end() >= BITS => 0.0,
            Test::Ones if h == 8.0 => 2.0 * upper_tail(BITS, self.ones.end() + 1, 0.5) / ones::WINDOW as f64,
            Test::Ones => (-self.bits).exp2() / ones::WINDOW as f64,
            Test::Words => (-8.0 * h * (self.words - 1) as f64).exp2() / 8.0,
            Test::Constant => 2.0 * (-8.0 * h * self.constant as f64).exp2() / 8.0,
            Test::Recurrence => {
                let span = recurrence::SPAN as f64;
                span * (-h * self.recurrence as f64).exp2() / (span + self.recurrence as f64)
            }
            Test::Rate | Test::Supply => 0.0,
        }
    }

    /// The probability that a good source has any alarm within so many bytes: at most this.
    pub fn false_alarm(&self, bytes: u64) -> f64 {
        (self.a_byte() * bytes as f64).min(1.0)
    }

    /// False alarms that a good source raises in a year (365.25 days) at that rate: at most so many.
    pub fn alarms_a_year(&self, bytes_per_second: f64) -> f64 {
        self.a_byte() * bytes_per_second * 365.25 * 86_400.0
    }

    fn a_byte(&self) -> f64 {
        Test::ALL.iter().map(|test| self.chance(*test)).sum()
    }
}

/// How many ones 4096 bytes may have: outside is rarer than 2^-bits. For even bytes the binomial distribution says it; else
/// Hoeffding's inequality about the most that the mean can be (*Probability inequalities for sums of bounded random
/// variables*, 1963, theorem 2).
fn allowed_ones(evenness: f64, bits: f64) -> RangeInclusive<u32> {
    let most = if evenness == 8.0 {
        rare(BITS, 0.5, bits + 1.0) - 1
    } else {
        let window = ones::WINDOW as f64;
        let slack = (window * 64.0 * (bits + 1.0) * std::f64::consts::LN_2 / 2.0).sqrt();
        BITS.min((window * most_ones(evenness) + slack).ceil() as u32)
    };
    BITS - most..=most
}

/// The most ones that a byte can have on average if no value is likelier than 2^-evenness: the values with the most ones are
/// that likely, until nothing is left.
fn most_ones(evenness: f64) -> f64 {
    let (p, mut left, mut mean) = ((-evenness).exp2(), 1.0_f64, 0.0);
    let values = [1, 8, 28, 56, 70, 56, 28, 8, 1].into_iter().zip((0..=8).rev());
    for (many, ones) in values {
        let taken = left.min(f64::from(many) * p);
        mean += taken * f64::from(ones);
        left -= taken;
    }
    mean
}
