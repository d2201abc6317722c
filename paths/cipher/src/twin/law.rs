//! A step's times: equally likely values, as they were seen.

use rand::RngExt;
use rand::rngs::StdRng;

/// Times in nanoseconds, each as likely as any other.
#[derive(Clone, Debug, PartialEq)]
pub struct Law(Vec<f64>);

impl Law {
    /// Of these; of none, 0.
    pub fn of(values: Vec<f64>) -> Law {
        Law(if values.is_empty() { vec![0.0] } else { values })
    }

    /// Always the same.
    pub fn constant(value: f64) -> Law {
        Law(vec![value])
    }

    /// The same times, all longer by that factor.
    pub fn times(&self, factor: f64) -> Law {
        Law(self.0.iter().map(|value| value * factor).collect())
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Squared coefficient of variation.
    pub fn scv(&self) -> f64 {
        let mean = self.mean();
        let square = self.0.iter().map(|value| value * value).sum::<f64>() / self.0.len() as f64;
        (square / (mean * mean) - 1.0).max(0.0)
    }

    /// One of them.
    pub(super) fn draw(&self, random: &mut StdRng) -> f64 {
        match &self.0[..] {
            [only] => *only,
            values => values[random.random_range(0..values.len())],
        }
    }
}

impl Default for Law {
    fn default() -> Law {
        Law::constant(0.0)
    }
}
