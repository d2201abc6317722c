//! Whose turn it is: what spins on two cores, or times things, runs alone among these tests; and what of it is kept.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Until that is dropped no other of them runs.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a tenth of the samples were below: what others did meanwhile is in the upper ones.
pub fn undisturbed(samples: impl Iterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.collect();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 10]
}
