//! How much a numerical chain may cost, and who may stop it.
//!
//! What it may cost is counted in steps, not in seconds: the same specification has the same answer on every machine.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{ModelError, Result};

/// Steps of a whole chain, unless something else is said: a few seconds. A step is a multiplication, about a nanosecond.
const STEPS: f64 = 4e9;

/// What a chain may still cost.
#[derive(Debug)]
pub struct Allowance<'a> {
    left: Cell<f64>,
    interrupted: Option<&'a AtomicBool>,
}

impl Default for Allowance<'_> {
    fn default() -> Self {
        Allowance::share(1.0)
    }
}

impl<'a> Allowance<'a> {
    /// This share of what a whole chain may cost.
    pub fn share(share: f64) -> Self {
        Allowance { left: Cell::new(share * STEPS), interrupted: None }
    }

    /// Stops soon after the flag is set.
    #[must_use]
    pub fn until(self, interrupted: &'a AtomicBool) -> Self {
        Allowance { interrupted: Some(interrupted), ..self }
    }

    /// Whether somebody stopped it.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whether more was asked for than there was.
    pub fn is_spent(&self) -> bool {
        self.left.get() < 0.0
    }

    /// Steps that are left.
    pub(super) fn left(&self) -> f64 {
        self.left.get()
    }

    /// Takes so many steps, or an error when there are not so many or somebody stopped it. Between two calls there
    /// should be a fraction of a second.
    pub(super) fn spend(&self, steps: f64) -> Result<()> {
        self.left.set(self.left.get() - steps);
        let failed =
            |reason: &str| Err(ModelError::Numerical { method: "Markov chain", reason: reason.into() });
        match () {
            () if self.is_interrupted() => failed("interrupted"),
            () if self.is_spent() => failed("it takes too many steps"),
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_it_is_spent_or_somebody_stops_it() {
        let allowance = Allowance::share(0.5);
        assert!(allowance.spend(0.3 * STEPS).is_ok() && !allowance.is_spent());
        assert!(allowance.spend(0.3 * STEPS).is_err() && allowance.is_spent());
        let flag = AtomicBool::new(false);
        let allowance = Allowance::default().until(&flag);
        assert!(allowance.spend(1.0).is_ok());
        flag.store(true, Ordering::Relaxed);
        assert!(allowance.spend(1.0).is_err() && allowance.is_interrupted() && !allowance.is_spent());
    }
}
