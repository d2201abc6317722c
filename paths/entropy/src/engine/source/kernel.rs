//! The kernel's own generator.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::{Claim, Counts, Error, Source};

/// getrandom(2): never blocks once the kernel's generator is initialised.
///
/// What it gives is as good as what the kernel was seeded with; to feed it back into the same kernel brings nothing, so
/// nothing of it may be credited.
#[derive(Debug, Default)]
pub struct Getrandom {
    counts: Counts,
}

impl Source for Getrandom {
    fn name(&self) -> &str {
        "getrandom"
    }

    fn fill(&mut self, mut into: &mut [u8]) -> Result<(), Error> {
        while !into.is_empty() {
            self.counts.draws += 1;
            match getrandom(&mut *into, GetRandomFlags::empty()) {
                Ok(given) => {
                    self.counts.bytes += given as u64;
                    into = &mut into[given..];
                }
                Err(Errno::INTR) => self.counts.failures += 1,
                Err(errno) => {
                    self.counts.failures += 1;
                    return Err(Error::System {
                        source_name: "getrandom".into(),
                        doing: "asking the kernel",
                        reason: errno.into(),
                    });
                }
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn claim(&self) -> Claim {
        Claim { evenness: 8.0, entropy: 0.0 }
    }
}
