//! The memory of a channel, mapped into this process.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tollway_host::fork::Origin;
use tollway_host::shared::SharedPages;

use crate::atomic::AtomicU64;
use crate::ring::Memory;

/// The memory of a channel, mapped for as long as any copy of this lives.
#[derive(Clone, Debug)]
pub struct Shared {
    pages: Arc<SharedPages>,
    /// A child that fork(2) makes has the pages as well, but no end of the channel.
    origin: Origin,
}

impl Shared {
    /// For an end in this process.
    pub(super) fn new(pages: SharedPages) -> Shared {
        Shared { pages: Arc::new(pages), origin: Origin::here() }
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pages.as_fd()
    }
}

impl Memory for Shared {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        self.pages.words()
    }

    #[inline]
    fn is_own(&self) -> bool {
        self.origin.is_here()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::ring::message::{load, store};

    /// Of any length, and into more or fewer words than a line: what lies behind is not touched, and comes back as it was put in.
    #[test]
    fn bytes_come_back_and_nothing_else_is_written() {
        for length in 0..300usize {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
            for more in [0, 1, 9] {
                let taken = length.div_ceil(8);
                let words: Vec<AtomicU64> = (0..taken + more).map(|_| AtomicU64::new(u64::MAX)).collect();
                store(&words, &bytes);
                let plain: Vec<u8> =
                    words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
                assert_eq!(plain[..length], bytes);
                assert!(plain[length..taken * 8].iter().all(|byte| *byte == 0));
                assert!(plain[taken * 8..].iter().all(|byte| *byte == 0xff));
                let mut back = vec![0; length];
                load(&words, &mut back);
                assert_eq!(back, bytes);
            }
        }
    }
}
