//! Random numbers out of the processor.

use std::arch::x86_64::{_rdrand64_step, _rdseed64_step};
use std::hint::spin_loop;
use std::marker::PhantomData;

use tollway_core::{Error, Missing, Params, Place, Result, Tally};

use super::Operation;

/// An instruction that draws 64 bits.
pub trait Instruction: Send + 'static {
    /// Its name in processor manuals.
    const NAME: &'static str;
    /// How often it is tried before a draw is given up.
    const TRIES: u32;

    /// Whether this processor has it.
    fn exists() -> bool;

    /// One try; `false` where the generator had nothing to give. Only where it [`exists`](Instruction::exists).
    fn step(into: &mut u64) -> bool;
}

/// RDRAND: the output of a deterministic generator that the processor reseeds. Ten tries, as Intel's guide to its
/// generator has it (section 5.2.1): ten failures in a row mean that it is broken.
pub struct Rdrand;

/// RDSEED: conditioned entropy, which runs dry when it is drawn from faster than it comes.
pub struct Rdseed;

impl Instruction for Rdrand {
    const NAME: &'static str = "RDRAND";
    const TRIES: u32 = 10;

    fn exists() -> bool {
        is_x86_feature_detected!("rdrand")
    }

    #[inline(always)]
    fn step(into: &mut u64) -> bool {
        #[target_feature(enable = "rdrand")]
        fn draw(into: &mut u64) -> bool {
            _rdrand64_step(into) == 1
        }
        // SAFETY: `exists` was asked when the operation was prepared.
        unsafe { draw(into) }
    }
}

impl Instruction for Rdseed {
    const NAME: &'static str = "RDSEED";
    const TRIES: u32 = 10_000;

    fn exists() -> bool {
        is_x86_feature_detected!("rdseed")
    }

    #[inline(always)]
    fn step(into: &mut u64) -> bool {
        #[target_feature(enable = "rdseed")]
        fn draw(into: &mut u64) -> bool {
            _rdseed64_step(into) == 1
        }
        // SAFETY: `exists` was asked when the operation was prepared.
        unsafe { draw(into) }
    }
}

/// One draw of 64 bits, tried until it succeeds.
pub struct Draw<I> {
    last: u64,
    repeated: u64,
    failures: u64,
    given_up: u64,
    instruction: PhantomData<I>,
}

impl<I: Instruction> Operation for Draw<I> {
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
