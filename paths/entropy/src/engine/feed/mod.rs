//! Feeds a kernel's generator, and credits no more than is there.
//!
//! What it brings depends on the kernel, and is less than it was:
//!
//! - Until its generator is initialised, a kernel makes whoever asks wait (getrandom(2), and /dev/random). It is initialised by 256 bits
//!   that somebody is trusted for: one feeding ([`PORTION_BITS`]), as early as it can come in a boot.
//! - Since Linux 5.6 /dev/random does not block afterwards. Since 5.18 nothing is counted down any more either: `entropy_avail` is
//!   256 from then on, and poll(2) never says again that /dev/random may be written to. What is fed then goes into the pool
//!   all the same, and into what everybody reads at the next reseeding, which comes once a minute ([`RESEED_INTERVAL`]).
//! - Before 5.18 the count falls as bytes are read, and poll(2) says when it is low: then it is fed at once.
//!
//! So a [`Feeder`] feeds at once, then when the kernel wants it, and else once in a while. How fast the way into the pool is,
//! [`Feeder::flood`] tells: since nobody waits for it, a reader of /dev/random cannot.

mod feeder;
mod kernel;
mod sink;

use std::time::Duration;

pub use feeder::{Ended, Error, Event, Fed, Feeder, Pace, Portion, Receipt};
pub use kernel::Kernel;
pub use sink::{Recording, Sink, Woken, rest};

/// Bits that a feeding brings, where nothing else is asked for: twice the kernel's 256 (`POOL_BITS` in
/// `drivers/char/random.c`).
pub const PORTION_BITS: u32 = 512;

/// The most bytes of a feeding.
pub const MOST_BYTES: usize = 1 << 16;

/// How often kernels reseed their generator from the pool, once it has run for a while: `CRNG_RESEED_INTERVAL` in
/// `drivers/char/random.c`.
pub const RESEED_INTERVAL: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
