//! The memory of a channel, mapped into this process.

use std::ops::Deref;
use std::sync::Arc;

use tollway_host::shared::SharedPages;

use crate::atomic::AtomicU64;

/// The memory of a channel, mapped for as long as any copy of this lives.
#[derive(Clone, Debug)]
pub struct Shared(pub(super) Arc<SharedPages>);

impl Deref for Shared {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        self.0.words()
    }
}
