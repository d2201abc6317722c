//! Atomic arithmetic that nobody else contends for.

use std::sync::atomic::{AtomicU64, Ordering};

use tollway_core::{Error, Params, Place, Result};

use super::Operation;

/// A counter with a cache line to itself (two, as processors fetch lines in pairs).
#[repr(align(128))]
struct Alone(AtomicU64);

/// One atomic addition to a line that stays in this core's cache.
pub struct AtomicAdd {
    sum: Box<Alone>,
}

impl Operation for AtomicAdd {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(AtomicAdd { sum: Box::new(Alone(AtomicU64::new(0))) })
    }

    #[inline]
    fn once(&mut self) {
        self.sum.0.fetch_add(1, Ordering::Relaxed);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.sum.0.load(Ordering::Relaxed) {
            sum if sum == done => Ok(()),
            sum => Err(Error::Wrong(format!("{done} additions of 1 gave {sum}"))),
        }
    }
}
