//! Bytes in words that another process may change at any time: copied in and out, each word once.

use super::atomic::{AtomicU64, Ordering};

/// Words of a cache line: as many are copied at a time, without a look at how many there are left.
const LINE: usize = 8;

/// Copies bytes into words. There are no fewer words than they take; of the last one, what is not taken becomes 0.
#[inline]
pub fn store(mut words: &[AtomicU64], bytes: &[u8]) {
    let (lines, rest) = bytes.as_chunks::<{ LINE * 8 }>();
    for line in lines {
        let Some((first, others)) = words.split_first_chunk::<LINE>() else { return };
        for (word, bytes) in first.iter().zip(line.as_chunks::<8>().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        words = others;
    }
    if !rest.is_empty() {
        store_rest(words, rest);
    }
}

#[inline(never)]
fn store_rest(words: &[AtomicU64], rest: &[u8]) {
    for (word, bytes) in words.iter().zip(rest.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
    }
}

/// Copies as many bytes as there is room for out of words, of which there are no fewer.
#[inline]
pub fn load(mut words: &[AtomicU64], bytes: &mut [u8]) {
    let (lines, rest) = bytes.as_chunks_mut::<{ LINE * 8 }>();
    for line in lines {
        let Some((first, others)) = words.split_first_chunk::<LINE>() else { return };
        for (word, bytes) in first.iter().zip(line.as_chunks_mut::<8>().0) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        words = others;
    }
    if !rest.is_empty() {
        load_rest(words, rest);
    }
}

#[inline(never)]
fn load_rest(words: &[AtomicU64], rest: &mut [u8]) {
    for (word, bytes) in words.iter().zip(rest.chunks_mut(8)) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes()[..bytes.len()]);
    }
}
