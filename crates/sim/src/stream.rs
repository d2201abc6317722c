//! Streams of random numbers: each part of each replication has one of its own, so that what one part draws does not
//! depend on what another one did.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// 2⁻⁵³: the distance of neighbours among the uniform numbers.
const STEP: f64 = 1.0 / (1u64 << 53) as f64;

/// One stream (xoshiro256++: Blackman and Vigna 2021, ACM TOMS 47:36).
#[derive(Clone, Debug)]
pub struct Stream {
    pub(crate) generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// The stream of one part of one replication.
    ///
    /// The three numbers are mixed one after the other by SplitMix64's finaliser, a bijection, so that streams of
    /// neighbouring numbers have nothing in common; the generator's 256 bits are then filled by SplitMix64 (Steele, Lea
    /// and Flood 2014, OOPSLA).
    pub fn new(seed: u64, replication: u64, part: u64) -> Self {
        let mixed = mix(mix(mix(seed) ^ replication) ^ part);
        Stream { generator: Xoshiro256PlusPlus::seed_from_u64(mixed) }
    }

    /// Uniform on (0, 1]: its logarithm is finite.
    #[inline(always)]
    pub fn uniform(&mut self) -> f64 {
        ((self.generator.next_u64() >> 11) + 1) as f64 * STEP
    }

    /// Exponential with mean 1: −ln u.
    #[inline(always)]
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }
}

fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_nothing_in_common() {
        let mut firsts = std::collections::BTreeSet::new();
        for seed in 0..20 {
            for replication in 0..20 {
                for part in 0..20 {
                    firsts.insert(Stream::new(seed, replication, part).generator.next_u64());
                }
            }
        }
        assert_eq!(firsts.len(), 8000);
    }

    #[test]
    fn exponentials_have_mean_and_variance_one() {
        let mut stream = Stream::new(7, 0, 0);
        let n = 1_000_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Five standard errors: 1/√n of the mean, √8/√n of the variance.
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!((variance - 1.0).abs() < 0.0142, "{variance}");
        assert!(draws.iter().all(|x| *x >= 0.0));
    }
}
