//! Vectors of four words in plain Rust, for any processor. The compiler makes of them what vectors there are.

use std::array;

use super::Lanes;

/// Needs nothing.
#[derive(Clone, Copy)]
pub(in crate::engine::fips) struct Portable([u64; WORDS]);

const WORDS: usize = 4;

impl Portable {
    #[inline(always)]
    fn each(self, of: impl Fn(u64) -> u64) -> Self {
        Portable(array::from_fn(|i| of(self.0[i])))
    }

    #[inline(always)]
    fn both(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Portable(array::from_fn(|i| of(self.0[i], other.0[i])))
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) != 0
    }
}

/// The same byte in all of a word.
const fn bytes(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl Lanes for Portable {
    const BYTES: usize = 8 * WORDS;
    const SAVES_CARRIES: bool = true;
    // A byte holds 255 at most, and a plane adds up to 8.
    const CAPACITY: usize = 31;
    // In bytes.
    type Tally = [u64; WORDS];

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller has as many bytes there; any alignment will do.
        Portable(unsafe { from.cast::<[u64; WORDS]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn beginning([a, b, c, d]: [u8; 4]) -> Self {
        let mut words = [0; WORDS];
        words[0] = u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]);
        Portable(words)
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        Portable([0; WORDS])
    }

    #[inline(always)]
    unsafe fn all(word: u64) -> Self {
        Portable([word; WORDS])
    }

    #[inline(always)]
    unsafe fn in_order(self) -> Self {
        self.each(u64::to_be)
    }

    #[inline(always)]
    unsafe fn following(self, next: Self) -> Self {
        Portable(array::from_fn(|i| if i + 1 < WORDS { self.0[i + 1] } else { next.0[0] }))
    }

    #[inline(always)]
    unsafe fn ahead<const MORE: u32>(self, following: Self) -> Self {
        self.both(following, |word, next| word << MORE | next >> (64 - MORE))
    }

    #[inline(always)]
    unsafe fn left<const BY: u32>(self) -> Self {
        self.each(|word| word << BY)
    }

    #[inline(always)]
    unsafe fn right<const BY: u32>(self) -> Self {
        self.each(|word| word >> BY)
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self.both(other, |a, b| a & b)
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        self.both(other, |a, b| a | b)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.both(other, |a, b| a ^ b)
    }

    #[inline(always)]
    unsafe fn choose(self, yes: Self, no: Self) -> Self {
        Portable(array::from_fn(|i| no.0[i] ^ (self.0[i] & (yes.0[i] ^ no.0[i]))))
    }

    #[inline(always)]
    unsafe fn has_equal_words(self, other: Self) -> bool {
        const LOWEST: u64 = 0x0000_0001_0000_0001;
        // A half that is zero borrows; so may one above it, but then there is one anyway.
        self.both(other, |a, b| (a ^ b).wrapping_sub(LOWEST) & !(a ^ b) & LOWEST << 31).any()
    }

    #[inline(always)]
    unsafe fn may_have_flat_pairs(self, other: Self) -> bool {
        let zeros = |bits: u64| bits.wrapping_sub(bytes(1)) & !bits;
        self.both(other, |a, b| (zeros(a | b) | zeros(!(a & b))) & bytes(0x80)).any()
    }

    #[inline(always)]
    unsafe fn tally() -> Self::Tally {
        [0; WORDS]
    }

    #[inline(always)]
    unsafe fn count(tally: &mut Self::Tally, plane: Self) {
        // Sums of 2, 4 and 8 bits side by side: Warren, Hacker's Delight, section 5-1.
        let counted = plane.each(|x| {
            let x = x - (x >> 1 & bytes(0x55));
            let x = (x & bytes(0x33)) + (x >> 2 & bytes(0x33));
            (x + (x >> 4)) & bytes(0x0f)
        });
        *tally = array::from_fn(|i| tally[i] + counted.0[i]);
    }

    #[inline(always)]
    unsafe fn totals<const N: usize>(tallies: [Self::Tally; N]) -> [u32; N] {
        // Pairs of bytes side by side, whose sums over all words fit into 16 bits; then these four.
        const ONES: u64 = 0x0001_0001_0001_0001;
        const LOW: u64 = 0xff * ONES;
        let sums = |tally: [u64; WORDS]| -> u64 {
            tally.iter().map(|word| (word & LOW) + ((word >> 8) & LOW)).sum()
        };
        tallies.map(|tally| (sums(tally).wrapping_mul(ONES) >> 48) as u32)
    }
}
