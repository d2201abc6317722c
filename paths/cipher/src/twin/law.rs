//! A step's times, as they were seen.

use rand::RngExt;
use rand::rngs::StdRng;

/// Times in nanoseconds, and how often each was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    values: Vec<f64>,
    /// How often each or one before it was seen.
    up_to: Vec<u64>,
}

impl Law {
    /// Of times that were seen so often each; of none, 0.
    pub fn seen(times: impl IntoIterator<Item = (f64, u64)>) -> Law {
        let (mut law, mut all) = (Law { values: Vec::new(), up_to: Vec::new() }, 0);
        for (value, often) in times.into_iter().filter(|(_, often)| *often > 0) {
            all += often;
            law.values.push(value);
            law.up_to.push(all);
        }
        if law.values.is_empty() { Law::constant(0.0) } else { law }
    }

    /// Always the same.
    pub fn constant(value: f64) -> Law {
        Law { values: vec![value], up_to: vec![1] }
    }

    /// The same times, all longer by that factor.
    pub fn times(mut self, factor: f64) -> Law {
        self.values.iter_mut().for_each(|value| *value *= factor);
        self
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.moment(|value| value)
    }

    /// Squared coefficient of variation.
    pub fn scv(&self) -> f64 {
        (self.moment(|value| value * value) / self.mean().powi(2) - 1.0).max(0.0)
    }

    /// The mean of what that makes of each.
    pub(super) fn moment(&self, of: impl Fn(f64) -> f64) -> f64 {
        let (mut sum, mut before) = (0.0, 0);
        for (value, up_to) in self.values.iter().zip(&self.up_to) {
            sum += of(*value) * (up_to - before) as f64;
            before = *up_to;
        }
        sum / before.max(1) as f64
    }

    /// One of them.
    pub(super) fn draw(&self, random: &mut StdRng) -> f64 {
        let (Some(all), [_, _, ..]) = (self.up_to.last(), &self.values[..]) else {
            return self.values.first().copied().unwrap_or_default();
        };
        let drawn = random.random_range(0..*all);
        self.values[self.up_to.partition_point(|up_to| *up_to <= drawn)]
    }
}

impl Default for Law {
    fn default() -> Law {
        Law::constant(0.0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn times_come_as_often_as_they_were_seen() {
        let law = Law::seen([(2.0, 3), (7.0, 0), (10.0, 1)]);
        assert_eq!(law.mean(), 4.0);
        assert!((law.scv() - (28.0 / 16.0 - 1.0)).abs() < 1e-12);
        let mut random = StdRng::seed_from_u64(1);
        let long = (0..10_000).filter(|_| law.draw(&mut random) == 10.0).count();
        assert!((2350..2650).contains(&long), "{long}");
        assert_eq!(law.clone().times(2.0).mean(), 8.0);
        assert_eq!(Law::seen([]).draw(&mut random), 0.0);
    }
}
