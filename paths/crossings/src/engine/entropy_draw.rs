//! Random numbers out of the processor.

use std::hint::spin_loop;
use std::marker::PhantomData;

use tollway_core::{Error, Missing, Params, Place, Result, Tally};
pub use tollway_host::cpu::draw::{Instruction, Rdrand, Rdseed};

use super::Operation;

/// How often a draw of an instruction is tried before it is given up.
pub trait Tried: Instruction {
    /// So often.
    const TRIES: u32;
}

impl Tried for Rdrand {
    const TRIES: u32 = Rdrand::TRIES;
}

impl Tried for Rdseed {
    const TRIES: u32 = 10_000;
}

/// One draw of 64 bits, tried until it succeeds.
pub struct Draw<I> {
    last: u64,
    repeated: u64,
    failures: u64,
    given_up: u64,
    instruction: PhantomData<I>,
}

impl<I: Tried> Operation for Draw<I> {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        if !I::exists() {
            return Err(Error::Missing(Missing::new(
                I::NAME,
                "CPUID does not announce it",
                format!("a processor that has {}, or a hypervisor that passes it on", I::NAME),
            )));
        }
        Ok(Draw { last: 0, repeated: 0, failures: 0, given_up: 0, instruction: PhantomData })
    }

    #[inline]
    fn once(&mut self) {
        let mut drawn = 0;
        for _ in 0..I::TRIES {
            if I::step(&mut drawn) {
                self.repeated += u64::from(drawn == self.last);
                self.last = drawn;
                return;
            }
            self.failures += 1;
            spin_loop();
        }
        self.given_up += 1;
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        // An ideal source repeats 64 bits once in 2^64 draws; a stuck one always.
        if self.repeated > 0 {
            return Err(Error::Wrong(format!("{} of {done} draws repeated the one before", self.repeated)));
        }
        match self.given_up {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} draws failed {} times in a row", I::TRIES))),
        }
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).counter("failures", self.failures)
    }
}
