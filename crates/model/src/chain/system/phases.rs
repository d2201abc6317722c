//! Times as chains: the distributions that are made of exponential stages.

use super::Unsuited;
use crate::Distribution;

/// The most stages of one time.
const MOST: u32 = 200;

/// A time as stages that are passed one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phases {
    /// Where it begins, and with what probability.
    pub starts: Vec<(u16, f64)>,
    /// The rate at which each stage ends, per second.
    pub rates: Vec<f64>,
    /// Whether stages follow each other; if not, the end of one is the end of the time.
    sequence: bool,
}

impl Phases {
    /// The stages of a distribution.
    pub(super) fn of(place: &str, distribution: &Distribution) -> Result<Self, Unsuited> {
        match &distribution.simplest() {
            Distribution::Exponential { mean } => {
                Ok(Self { starts: vec![(0, 1.0)], rates: vec![1.0 / mean], sequence: false })
            }
            Distribution::Erlang { shape, mean } if *shape <= MOST => {
                let rate = f64::from(*shape) / mean;
                Ok(Self { starts: vec![(0, 1.0)], rates: vec![rate; *shape as usize], sequence: true })
            }
            Distribution::Hyperexponential { branches } => {
                let taken: Vec<_> = branches.iter().filter(|(probability, _)| *probability > 0.0).collect();
                let starts = taken.iter().enumerate().map(|(i, (p, _))| (i as u16, *p)).collect();
                let rates = taken.iter().map(|(_, mean)| 1.0 / mean).collect();
                Ok(Self { starts, rates, sequence: false })
            }
            _ => Err(Unsuited::NotMarkovian { place: place.into(), what: distribution.to_string() }),
        }
    }

    /// The stage after this one; `None` at the end.
    pub(super) fn next(&self, phase: u16) -> Option<u16> {
        (self.sequence && usize::from(phase) + 1 < self.rates.len()).then_some(phase + 1)
    }

    /// Whether it has no memory.
    pub(super) fn is_exponential(&self) -> bool {
        self.rates.len() == 1
    }
}
