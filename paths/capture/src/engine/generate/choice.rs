//! One of several, by weights.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::GenerateError;

/// Draws indices by weights, each within 2^-53 of its share.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Index i is drawn below threshold i, and not below the one before; the last takes the rest.
    thresholds: Vec<u64>,
}

impl Choice {
    pub(super) fn by_weights(place: &str, weights: &[f64]) -> Result<Choice, GenerateError> {
        let total: f64 = weights.iter().sum();
        let proper = weights.iter().all(|w| w.is_finite() && *w >= 0.0) && total.is_finite() && total > 0.0;
        if !proper {
            return Err(GenerateError::input(
                place,
                format!("the weights {weights:?} are none"),
                "give numbers from 0 up, one of them above 0",
            ));
        }
        let mut sum = 0.0;
        let threshold = |weight: &f64| {
            sum += weight;
            (sum / total * 2f64.powi(64)) as u64
        };
        Ok(Choice { thresholds: weights.iter().map(threshold).collect() })
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut Xoshiro256PlusPlus) -> usize {
        let Some((_, before_last)) = self.thresholds.split_last().filter(|(_, before)| !before.is_empty())
        else {
            return 0;
        };
        let drawn = random.next_u64();
        before_last.iter().position(|threshold| drawn < *threshold).unwrap_or(before_last.len())
    }
}

/// A number below `count`, from 32 random bits: within 2^-32 × count of its share. 0 if there is none.
#[inline]
pub(super) fn below(count: u32, bits: u32) -> u32 {
    ((u64::from(count) * u64::from(bits)) >> 32) as u32
}
