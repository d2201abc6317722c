//! A deterministic source, for tests: the same seed gives the same bytes.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Claim, Counts, Error, Source};

/// xoshiro256++: good statistics, no secrecy.
#[derive(Debug)]
pub struct Seeded {
    generator: Xoshiro256PlusPlus,
    counts: Counts,
}

impl Seeded {
    /// The one of that seed.
    pub fn new(seed: u64) -> Self {
        Seeded { generator: Xoshiro256PlusPlus::seed_from_u64(seed), counts: Counts::default() }
    }
}

impl Source for Seeded {
    fn name(&self) -> &str {
        "seeded"
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        self.generator.fill_bytes(into);
        self.counts.draws += 1;
        self.counts.bytes += into.len() as u64;
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn claim(&self) -> Claim {
        Claim { evenness: 8.0, entropy: 0.0 }
    }
}
