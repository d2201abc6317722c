//! What the two programs beside this have in common: the task, the generator, and how a result is told.
//!
//! The task: M/M/1 with λ = 0.8 and μ = 1, so many customers; told are the seconds that the simulation took and the mean
//! time in the system, which is 5 in the long run: whoever times a peer looks at that first.

use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub const LAMBDA: f64 = 0.8;
pub const MU: f64 = 1.0;

/// Exponential times.
pub struct Exponential(Xoshiro256PlusPlus);

impl Exponential {
    pub fn new(seed: u64) -> Self {
        Exponential(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next one, of this rate.
    pub fn draw(&mut self, rate: f64) -> f64 {
        let uniform = ((self.0.next_u64() >> 11) + 1) as f64 * (-53f64).exp2();
        -uniform.ln() / rate
    }
}

/// Runs `simulate`, which answers with the sum of the times in the system, and tells what came of it.
pub fn tell(simulate: impl FnOnce(u64) -> f64) {
    let customers: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("how many customers?");
    let begun = Instant::now();
    let sum = simulate(customers);
    println!("{} {}", begun.elapsed().as_secs_f64(), sum / customers as f64);
}
