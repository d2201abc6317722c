//! Bytes in words that another process may change at any time: copied in and out, each word once.

use super::atomic::{AtomicU64, Ordering};

/// Copies bytes into words. There are no fewer words than they take; of the last one, what is not taken becomes 0.
#[inline]
pub fn store(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    let last = (!rest.is_empty()).then(|| {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last
    });
    for (word, bytes) in words.iter().zip(whole.iter().copied().chain(last)) {
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
}

/// Copies as many bytes as there is room for out of words, of which there are no fewer.
#[inline]
pub fn load(words: &[AtomicU64], bytes: &mut [u8]) {
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    let last = whole.len();
    for (bytes, word) in whole.iter_mut().zip(words) {
        *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&words[last].load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
    }
}
