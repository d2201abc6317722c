//! Vectors of 256 bits: AVX2. It has no count of bits: half bytes are looked up in a table.

use std::arch::x86_64::*;

use super::{Lanes, unpack};

/// Needs avx2.
#[derive(Clone, Copy)]
pub(in crate::engine::fips) struct Avx2(__m256i);

// SAFETY of all of it: the intrinsics need features that the caller promises (see `Lanes`); only `load` touches memory.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx2 {
    const BYTES: usize = 32;
    const SAVES_CARRIES: bool = true;
    // A byte holds 255 at most, and a plane adds up to 8.
    const CAPACITY: usize = 31;
    // In bytes.
    type Tally = __m256i;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Avx2(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn beginning(bytes: [u8; 4]) -> Self {
        unsafe { Avx2(_mm256_zextsi128_si256(_mm_cvtsi32_si128(i32::from_ne_bytes(bytes)))) }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Avx2(_mm256_setzero_si256()) }
    }

    #[inline(always)]
    unsafe fn all(word: u64) -> Self {
        unsafe { Avx2(_mm256_set1_epi64x(word as i64)) }
    }

    #[inline(always)]
    unsafe fn in_order(self) -> Self {
        unsafe {
            let reversed = _mm256_set_epi64x(
                0x0809_0a0b_0c0d_0e0f,
                0x0001_0203_0405_0607,
                0x0809_0a0b_0c0d_0e0f,
                0x0001_0203_0405_0607,
            );
            Avx2(_mm256_shuffle_epi8(self.0, reversed))
        }
    }

    #[inline(always)]
    unsafe fn following(self, next: Self) -> Self {
        // The first word of the next vector in the place of this one's, then all of them one place down.
        unsafe { Avx2(_mm256_permute4x64_epi64::<0b00_11_10_01>(_mm256_blend_epi32::<0b11>(self.0, next.0))) }
    }

    #[inline(always)]
    unsafe fn ahead<const MORE: u32>(self, following: Self) -> Self {
        unsafe {
            let (more, rest) = (_mm_cvtsi32_si128(MORE as i32), _mm_cvtsi32_si128(64 - MORE as i32));
            Avx2(_mm256_or_si256(_mm256_sll_epi64(self.0, more), _mm256_srl_epi64(following.0, rest)))
        }
    }

    #[inline(always)]
    unsafe fn left<const BY: u32>(self) -> Self {
        unsafe { Avx2(_mm256_sll_epi64(self.0, _mm_cvtsi32_si128(BY as i32))) }
    }

    #[inline(always)]
    unsafe fn right<const BY: u32>(self) -> Self {
        unsafe { Avx2(_mm256_srl_epi64(self.0, _mm_cvtsi32_si128(BY as i32))) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        unsafe { Avx2(_mm256_and_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        unsafe { Avx2(_mm256_or_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        unsafe { Avx2(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn choose(self, yes: Self, no: Self) -> Self {
        unsafe { Avx2(_mm256_or_si256(_mm256_and_si256(self.0, yes.0), _mm256_andnot_si256(self.0, no.0))) }
    }

    #[inline(always)]
    unsafe fn has_equal_words(self, other: Self) -> bool {
        unsafe {
            let equal = _mm256_cmpeq_epi32(self.0, other.0);
            _mm256_testz_si256(equal, equal) == 0
        }
    }

    #[inline(always)]
    unsafe fn may_have_flat_pairs(self, other: Self) -> bool {
        // FF + 1 is 0 and 00 + 1 is 1; a byte that differs in a higher bit makes more of it.
        unsafe {
            let one = _mm256_set1_epi8(1);
            let odd = _mm256_or_si256(_mm256_add_epi8(self.0, one), _mm256_xor_si256(self.0, other.0));
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(odd, one), odd)) != 0
        }
    }

    #[inline(always)]
    unsafe fn tally() -> __m256i {
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn count(tally: &mut __m256i, plane: Self) {
        unsafe {
            let half = _mm256_set1_epi8(0x0f);
            let table =
                _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
            let low = _mm256_shuffle_epi8(table, _mm256_and_si256(plane.0, half));
            let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(plane.0), half));
            *tally = _mm256_add_epi8(*tally, _mm256_add_epi8(low, high));
        }
    }

    #[inline(always)]
    unsafe fn totals<const N: usize>(tallies: [__m256i; N]) -> [u32; N] {
        let mut totals = [0; N];
        for (i, totals) in totals.chunks_mut(4).enumerate() {
            unsafe {
                let mut packed = _mm256_setzero_si256();
                for k in 0..totals.len() {
                    let sums = _mm256_sad_epu8(tallies[4 * i + k], _mm256_setzero_si256());
                    let shift = _mm_cvtsi32_si128(16 * k as i32);
                    packed = _mm256_or_si256(packed, _mm256_sll_epi64(sums, shift));
                }
                let two =
                    _mm_add_epi64(_mm256_castsi256_si128(packed), _mm256_extracti128_si256::<1>(packed));
                unpack(totals, (_mm_cvtsi128_si64(two) + _mm_extract_epi64::<1>(two)) as u64);
            }
        }
        totals
    }
}
