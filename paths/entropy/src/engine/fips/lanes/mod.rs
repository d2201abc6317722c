//! A vector of 64-bit words as [`measure`](super::measure) wants it: one algorithm, and a type for each width.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod fours;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512;
pub(super) use fours::Fours;
pub(super) use portable::Portable;

/// A vector of 64-bit words.
///
/// # Safety
/// Every function may be called only where the processor has what the type needs; [`Lanes::load`] has a condition of its
/// own. Nothing here is called from within a closure: a closure is a function without the processor's features, into
/// which intrinsics are not inlined.
pub(super) trait Lanes: Copy {
    /// Bytes of a vector: 64, or a part of it.
    const BYTES: usize;
    /// Whether adding planes up is cheaper than counting their bits.
    const SAVES_CARRIES: bool;
    /// So many planes at most can be counted.
    const CAPACITY: usize;
    /// How many bits were set in planes.
    type Tally: Copy;

    /// From memory, which must have as many bytes from there on. Any alignment.
    unsafe fn load(from: *const u8) -> Self;
    /// These bytes, then zeros.
    unsafe fn beginning(bytes: [u8; 4]) -> Self;
    /// No bit is set.
    unsafe fn zero() -> Self;
    /// The same in every word.
    unsafe fn all(word: u64) -> Self;

    /// Makes the first bit of the stream the highest of each word: the bytes of each word the other way round.
    unsafe fn in_order(self) -> Self;
    /// For each word the one that follows; `next` is the next vector.
    unsafe fn following(self, next: Self) -> Self;
    /// Each word's bits from `MORE` on, and as many of the word that follows.
    unsafe fn ahead<const MORE: u32>(self, following: Self) -> Self;
    /// Each word shifted, with zeros behind.
    unsafe fn left<const BY: u32>(self) -> Self;
    /// Each word shifted, with zeros before.
    unsafe fn right<const BY: u32>(self) -> Self;
    /// Bits set in both.
    unsafe fn and(self, other: Self) -> Self;
    /// Bits set in one or both.
    unsafe fn or(self, other: Self) -> Self;
    /// Bits set in one only.
    unsafe fn xor(self, other: Self) -> Self;
    /// The bits of `yes` where this has ones, else those of `no`.
    unsafe fn choose(self, yes: Self, no: Self) -> Self;

    /// Whether any 32-bit word is equal to the other's.
    unsafe fn has_equal_words(self, other: Self) -> bool;
    /// True where any byte is 00 or FF and the other's is the same. May be true where none is, rarely.
    unsafe fn may_have_flat_pairs(self, other: Self) -> bool;

    /// Nothing is counted yet.
    unsafe fn tally() -> Self::Tally;
    /// Counts a plane.
    unsafe fn count(tally: &mut Self::Tally, plane: Self);
    /// What was counted, which is less than 65,536 each.
    unsafe fn totals<const N: usize>(tallies: [Self::Tally; N]) -> [u32; N];
}

/// What is in a word: four counts of 16 bits.
#[inline(always)]
fn unpack(totals: &mut [u32], packed: u64) {
    for (k, total) in totals.iter_mut().enumerate() {
        *total = u32::from((packed >> (16 * k)) as u16);
    }
}
