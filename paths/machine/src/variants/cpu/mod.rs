//! The processor's part of the suite.

mod events;
mod peak;
mod primes;
mod sysbench;

use tollway_core::Variant;

pub(super) fn all() -> Vec<Box<dyn Variant>> {
    vec![Box::new(primes::Primes), Box::new(events::Events), Box::new(peak::Peaks)]
}
