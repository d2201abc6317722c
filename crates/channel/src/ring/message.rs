//! Bytes in words that another process may change at any time: copied in and out, each word once.
//!
//! Atomic words are not copied several at a time by any compiler, so the loops are written out for whole cache lines: a message of 64 bytes is eight
//! loads and eight stores.

use super::atomic::{AtomicU64, Ordering};

/// Words of a cache line.
const LINE: usize = 8;

/// Copies bytes into words. There are no fewer words than they take; of the last one, what is not taken becomes 0.
#[inline]
pub fn store(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    let (lines, after) = whole.as_chunks::<LINE>();
    for (words, line) in words.as_chunks::<LINE>().0.iter().zip(lines) {
        for (word, bytes) in words.iter().zip(line) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }
    if after.is_empty() && rest.is_empty() {
        return;
    }
    let mut words = words[lines.len() * LINE..].iter();
    for (bytes, word) in after.iter().zip(words.by_ref()) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    if let Some(word) = words.next()
        && !rest.is_empty()
    {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_ne_bytes(last), Ordering::Relaxed);
    }
}

/// Copies as many bytes as there is room for out of words, of which there are no fewer.
#[inline]
pub fn load(words: &[AtomicU64], bytes: &mut [u8]) {
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    let (lines, after) = whole.as_chunks_mut::<LINE>();
    let loaded = lines.len() * LINE;
    for (line, words) in lines.iter_mut().zip(words.as_chunks::<LINE>().0) {
        for (bytes, word) in line.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
    }
    if after.is_empty() && rest.is_empty() {
        return;
    }
    let mut words = words[loaded..].iter();
    for (bytes, word) in after.iter_mut().zip(words.by_ref()) {
        *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    if let Some(word) = words.next()
        && !rest.is_empty()
    {
        rest.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
    }
}
