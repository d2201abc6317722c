//! Bytes of a message, which may have a key in them: nothing is left of them when they are dropped.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering, compiler_fence};

/// Bytes that are wiped. They do not grow: what they grew out of would be left behind.
#[derive(Default)]
pub(crate) struct Wiped(Vec<u8>);

impl Wiped {
    /// So many zeros.
    pub(crate) fn zeros(bytes: usize) -> Wiped {
        Wiped(vec![0; bytes])
    }
}

impl std::fmt::Debug for Wiped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Deref for Wiped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Wiped {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        for byte in &mut self.0 {
            // SAFETY: it is a byte of ours; written so, it is written though nobody reads it any more.
            unsafe { std::ptr::write_volatile(byte, 0) };
        }
        compiler_fence(Ordering::SeqCst);
    }
}
