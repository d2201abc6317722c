//! Which vectors a block is counted with: chosen when the program runs, by what the processor has.

use std::fmt;

use super::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::measure::measure;
use super::{Block, Counts};

/// A way to count; this processor has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Implementation(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Implementation {
    /// The fastest.
    pub fn best() -> Implementation {
        Implementation::all().next().expect("the portable one is always there")
    }

    /// Needs nothing of the processor.
    pub fn portable() -> Implementation {
        Implementation(Kind::Portable)
    }

    /// All that this processor has, the fastest first.
    pub fn all() -> impl Iterator<Item = Implementation> {
        let kinds = [
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2,
            Kind::Portable,
        ];
        kinds.into_iter().filter(|kind| kind.is_there()).map(Implementation)
    }

    /// `avx512`, `avx2` or `portable`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            Kind::Portable => "portable",
        }
    }

    /// The one of this name, where this processor has it.
    pub fn named(name: &str) -> Option<Implementation> {
        Implementation::all().find(|one| one.name() == name)
    }

    /// Counts a block; `last` is the word before it, as this machine has it in memory.
    pub(super) fn measure(self, block: &Block, last: u32) -> Counts {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: nobody has this value on a processor that lacks the features.
            Kind::Avx512 => unsafe { avx512(block, last) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::Avx2 => unsafe { avx2(block, last) },
            // SAFETY: it needs nothing.
            Kind::Portable => unsafe { measure::<Portable>(block, last) },
        }
    }
}

impl Kind {
    fn is_there(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("avx512vpopcntdq")
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => is_x86_feature_detected!("avx2"),
            Kind::Portable => true,
        }
    }
}

impl fmt::Display for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq")]
fn avx512(block: &Block, last: u32) -> Counts {
    // SAFETY: the features are those that it needs.
    unsafe { measure::<Avx512>(block, last) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(block: &Block, last: u32) -> Counts {
    // SAFETY: the feature is the one that it needs.
    unsafe { measure::<Avx2>(block, last) }
}
