//! The processor: counting primes as two well-known tests do, and how much arithmetic it can do at most.

pub mod events;
pub mod peak;
pub mod primes;
pub mod python;
pub mod sieve;
pub mod sysbench;
