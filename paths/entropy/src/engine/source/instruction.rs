//! The processor's own generator, drawn from by instructions.

use std::hint::spin_loop;

use tollway_core::Missing;
use tollway_host::cpu::draw::{self, Instruction};

use super::{Claim, Counts, Error, Source};

/// RDRAND: tried ten times, then it counts as broken.
#[derive(Debug)]
pub struct Rdrand {
    counts: Counts,
}

/// RDSEED: tried again after a pause that doubles, until it gives something or a second or so has gone by.
#[derive(Debug)]
pub struct Rdseed {
    counts: Counts,
}

/// Failed tries of RDSEED after which it counts as dry. Its pauses grow to [`LONGEST_PAUSE`] and no try takes less than
/// some 300 ns, so this is more than a tenth of a second of one thread, and more where threads compete.
const SEED_TRIES: u64 = 200_000;

/// The longest pause between two tries of RDSEED, in PAUSE instructions: a few microseconds, less than a draw takes where
/// many threads compete.
const LONGEST_PAUSE: u32 = 32;

/// RDRAND of Intel is reseeded at the latest after 511 samples of 128 bits, so 512 of them hold at least one seed's 128 bits
/// (DRNG software implementation guide, section 4.2.5); AMD publishes no such bound, and is credited no more.
const SAMPLES_A_SEED: f64 = 512.0;

fn exists<I: Instruction>() -> Result<(), Error> {
    if I::exists() {
        return Ok(());
    }
    Err(Error::Missing(Missing::new(
        I::NAME,
        "CPUID does not announce it",
        format!("a processor that has {}, or a hypervisor that passes it on", I::NAME),
    )))
}

/// Fills by whole draws; of the last one, what is needed.
#[inline(always)]
fn fill(into: &mut [u8], mut draw: impl FnMut() -> Result<u64, Error>) -> Result<(), Error> {
    let (words, rest) = into.as_chunks_mut::<8>();
    for word in words {
        *word = draw()?.to_ne_bytes();
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&draw()?.to_ne_bytes()[..rest.len()]);
    }
    Ok(())
}

impl Rdrand {
    /// It, where the processor has it.
    ///
    /// # Errors
    /// It has not.
    pub fn open() -> Result<Self, Error> {
        exists::<draw::Rdrand>()?;
        Ok(Rdrand { counts: Counts::default() })
    }

    /// Draws 64 bits.
    ///
    /// # Errors
    /// Ten tries failed.
    #[inline(always)]
    pub fn draw(&mut self) -> Result<u64, Error> {
        let mut drawn = 0;
        for _ in 0..draw::Rdrand::TRIES {
            self.counts.draws += 1;
            if draw::Rdrand::step(&mut drawn) {
                return Ok(drawn);
            }
            self.counts.failures += 1;
            spin_loop();
        }
        Err(Error::Dry { source_name: "rdrand".into(), tries: draw::Rdrand::TRIES.into() })
    }
}

impl Rdseed {
    /// It, where the processor has it.
    ///
    /// # Errors
    /// It has not.
    pub fn open() -> Result<Self, Error> {
        exists::<draw::Rdseed>()?;
        Ok(Rdseed { counts: Counts::default() })
    }

    /// Tries once; nothing where the generator is dry.
    #[inline(always)]
    pub fn try_draw(&mut self) -> Option<u64> {
        let mut drawn = 0;
        self.counts.draws += 1;
        if draw::Rdseed::step(&mut drawn) {
            return Some(drawn);
        }
        self.counts.failures += 1;
        None
    }

    /// Draws 64 bits, with pauses between tries.
    ///
    /// # Errors
    /// Nothing came for long.
    pub fn draw(&mut self) -> Result<u64, Error> {
        let mut pause = 1;
        for _ in 0..SEED_TRIES {
            if let Some(drawn) = self.try_draw() {
                return Ok(drawn);
            }
            (0..pause).for_each(|_| spin_loop());
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        Err(Error::Dry { source_name: "rdseed".into(), tries: SEED_TRIES })
    }
}

impl Source for Rdrand {
    fn name(&self) -> &str {
        "rdrand"
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        fill(into, || self.draw())?;
        self.counts.bytes += into.len() as u64;
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn claim(&self) -> Claim {
        Claim { evenness: 8.0, entropy: 8.0 / SAMPLES_A_SEED }
    }
}

impl Source for Rdseed {
    fn name(&self) -> &str {
        "rdseed"
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        fill(into, || self.draw())?;
        self.counts.bytes += into.len() as u64;
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn claim(&self) -> Claim {
        Claim { evenness: 8.0, entropy: 8.0 }
    }
}
