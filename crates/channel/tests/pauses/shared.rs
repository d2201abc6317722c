//! The memory of a channel, as `src/linux/shared.rs` has it, but that every access to it may pause.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tollway_host::shared::SharedPages;

use crate::atomic::AtomicU64;
use crate::ring::Memory;

#[derive(Clone, Debug)]
pub struct Shared(Arc<SharedPages>);

impl Shared {
    pub(super) fn new(pages: SharedPages) -> Shared {
        Shared(Arc::new(pages))
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Memory for Shared {
    fn words(&self) -> &[AtomicU64] {
        let words = self.0.words();
        // SAFETY: the pausing atomic is a transparent one of the other, so a slice of these is one of those, and lives as long.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }
}
