//! The memory of a channel, as `src/linux/shared.rs` has it, but that every access to it may pause.

use std::ops::Deref;
use std::sync::Arc;

use tollway_host::shared::SharedPages;

use crate::atomic::AtomicU64;

#[derive(Clone, Debug)]
pub struct Shared(pub(super) Arc<SharedPages>);

impl Deref for Shared {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        let words = self.0.words();
        // SAFETY: the pausing atomic is a transparent one of the other, so a slice of these is one of those, and lives as long.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }
}
