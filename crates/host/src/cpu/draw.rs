//! Random numbers out of the processor: RDRAND and RDSEED.
//!
//! On a processor of AMD's family 1Ah (Zen 5) the 16- and 32-bit forms of RDSEED can say that they succeeded
//! and give zero (AMD-SB-7055); the 64-bit form, which alone is used here, cannot. Kernels that know of it
//! withdraw the feature from /proc/cpuinfo for all forms, and clear CPUID's bit by a register of the
//! processor's; in a guest it is the hypervisor that answers CPUID, and mostly still shows it.

use std::arch::x86_64::{_rdrand64_step, _rdseed64_step};

/// An instruction that draws 64 bits.
pub trait Instruction: Send + 'static {
    /// Its name in processor manuals.
    const NAME: &'static str;

    /// Whether this processor has it.
    fn exists() -> bool;

    /// One try; `false` where the generator had nothing to give. Only where it [`exists`](Instruction::exists).
    fn step(into: &mut u64) -> bool;
}

/// RDRAND: the output of a deterministic generator that the processor reseeds.
#[derive(Clone, Copy, Debug)]
pub struct Rdrand;

/// RDSEED: conditioned entropy, which runs dry when it is drawn from faster than it comes.
#[derive(Clone, Copy, Debug)]
pub struct Rdseed;

impl Rdrand {
    /// How often a draw is tried: ten failures in a row mean that the generator is broken (Intel's DRNG software
    /// implementation guide, section 5.2.1).
    pub const TRIES: u32 = 10;
}

impl Instruction for Rdrand {
    const NAME: &'static str = "RDRAND";

    fn exists() -> bool {
        is_x86_feature_detected!("rdrand")
    }

    #[inline(always)]
    fn step(into: &mut u64) -> bool {
        #[target_feature(enable = "rdrand")]
        fn draw(into: &mut u64) -> bool {
            _rdrand64_step(into) == 1
        }
        // SAFETY: the caller has asked `exists`.
        unsafe { draw(into) }
    }
}

impl Instruction for Rdseed {
    const NAME: &'static str = "RDSEED";

    fn exists() -> bool {
        is_x86_feature_detected!("rdseed")
    }

    #[inline(always)]
    fn step(into: &mut u64) -> bool {
        #[target_feature(enable = "rdseed")]
        fn draw(into: &mut u64) -> bool {
            _rdseed64_step(into) == 1
        }
        // SAFETY: the caller has asked `exists`.
        unsafe { draw(into) }
    }
}
