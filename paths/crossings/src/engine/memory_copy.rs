//! Copies from memory to memory, out of a cache or out of none.
//!
//! Hot: one source and one destination, over and over; a small copy is written out several times in a row, because a loop
//! around a single one measures how the loop is aligned (2.9 to 5.2 ticks for the same 64 bytes). Cold: a set of sources, each flushed from all caches before its
//! turn, each on pages of its own and visited in no regular order, so that fetching ahead does not find the next one; a
//! fence after each copy keeps the copies from overlapping.

use std::arch::x86_64::{_mm_clflush, _mm_lfence, _mm_mfence};
use std::hint::black_box;
use std::ptr;

use tollway_core::{Error, Params, Place, Result, Warmth};

use super::Operation;
use super::region::{PAGE, Region};

/// Bytes in a cache line of every x86-64.
const LINE: usize = 64;

/// Flushed between two samples at the most, so that flushing does not fill the window.
const FLUSHED: usize = 1 << 20;

/// Hot copies in a row up to this size, in bytes: above it the loop does not matter.
const SMALL: usize = 4096;

/// So many of them.
const IN_A_ROW: u32 = 8;

/// Where the target begins within its first page: source and target at the same place of a page made one process in
/// eight four times as slow.
const TARGET_AT: usize = PAGE / 2;

/// One copy of `size` bytes.
pub struct MemoryCopy {
    sources: Region,
    target: Region,
    size: usize,
    warmth: Warmth,
    /// Where the sources begin, in the order of copying. Each is `size` bytes before the end of `sources` or more.
    order: Vec<usize>,
}

impl Operation for MemoryCopy {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let size = params.int("size")? as usize;
        let warmth = params.warmth()?;
        let count = match warmth {
            Warmth::Hot => 1,
            Warmth::Cold => (FLUSHED / size.max(1)).clamp(2, 64),
        };
        // A page between two sources stops what is fetched ahead of the first.
        let stride = size.next_multiple_of(PAGE) + PAGE;
        let mut sources = Region::new(count * stride)?;
        let mut target = Region::new(TARGET_AT + size)?;
        for (i, byte) in sources.bytes_mut().iter_mut().enumerate() {
            *byte = (i as u32).wrapping_mul(0x9e37_79b9).to_be_bytes()[0];
        }
        target.touch();
        Ok(MemoryCopy { sources, target, size, warmth, order: shuffled(count).map(|i| i * stride).collect() })
    }

    #[inline]
    fn once(&mut self) {
        match self.warmth {
            Warmth::Hot if self.size <= SMALL => {
                self.copy(0);
                self.copy(0);
                self.copy(0);
                self.copy(0);
                self.copy(0);
                self.copy(0);
                self.copy(0);
                self.copy(0);
            }
            Warmth::Hot => self.copy(0),
            Warmth::Cold => {
                for i in 0..self.order.len() {
                    self.copy(self.order[i]);
                    // SAFETY: LFENCE is part of SSE2, hence of x86-64.
                    unsafe { _mm_lfence() };
                }
            }
        }
    }

    fn operations(&self) -> u32 {
        match self.warmth {
            Warmth::Hot if self.size <= SMALL => IN_A_ROW,
            _ => self.order.len() as u32,
        }
    }

    fn uses_up(&self) -> bool {
        self.warmth == Warmth::Cold
    }

    fn restock(&mut self) {
        for &at in &self.order {
            for line in self.sources.bytes()[at..at + self.size].chunks(LINE) {
                // SAFETY: CLFLUSH is part of SSE2; the line is readable memory, and flushing changes no content.
                unsafe { _mm_clflush(line.as_ptr()) };
            }
        }
        // SAFETY: MFENCE is part of SSE2. It waits until the flushes are done.
        unsafe { _mm_mfence() };
    }

    fn verify(&mut self, _: u64) -> Result<()> {
        for at in self.order.clone() {
            self.target.bytes_mut().fill(0);
            self.copy(at);
            if self.target.bytes()[TARGET_AT..TARGET_AT + self.size]
                != self.sources.bytes()[at..at + self.size]
            {
                return Err(Error::Wrong(format!("{} bytes were not copied as they are", self.size)));
            }
        }
        Ok(())
    }
}

impl MemoryCopy {
    #[inline(always)]
    fn copy(&mut self, at: usize) {
        let from = self.sources.address().cast::<u8>();
        let to = self.target.address().cast::<u8>();
        // SAFETY: `at` is one of `order`, from which `size` bytes lie within `sources`; `target` has at least `TARGET_AT`
        // and `size` bytes and is another mapping, so the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(from.add(at), to.add(TARGET_AT), self.size) };
        black_box(to);
    }
}

/// The numbers below `count` in an order without a pattern, always the same (Fisher and Yates, with Marsaglia's
/// xorshift64).
fn shuffled(count: usize) -> impl Iterator<Item = usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for i in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % (i as u64 + 1)) as usize);
    }
    order.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_holds_every_source_once() {
        let mut order: Vec<usize> = shuffled(64).collect();
        assert_ne!(order, (0..64).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..64).collect::<Vec<_>>());
    }
}
