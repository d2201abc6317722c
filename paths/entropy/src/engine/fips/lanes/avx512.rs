//! Vectors of 512 bits: AVX-512 with its counts of bits (VPOPCNTDQ) and its shifts across two words (VBMI2).

use std::arch::x86_64::*;

use super::{Lanes, unpack};

/// Needs avx512f, avx512bw, avx512vbmi2 and avx512vpopcntdq.
#[derive(Clone, Copy)]
pub(in crate::engine::fips) struct Avx512(__m512i);

// SAFETY of all of it: the intrinsics need features that the caller promises (see `Lanes`); only `load` touches memory.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx512 {
    const BYTES: usize = 64;
    const SAVES_CARRIES: bool = false;
    const CAPACITY: usize = usize::MAX;
    type Tally = __m512i;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Avx512(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn beginning(bytes: [u8; 4]) -> Self {
        unsafe { Avx512(_mm512_zextsi128_si512(_mm_cvtsi32_si128(i32::from_ne_bytes(bytes)))) }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Avx512(_mm512_setzero_si512()) }
    }

    #[inline(always)]
    unsafe fn all(word: u64) -> Self {
        unsafe { Avx512(_mm512_set1_epi64(word as i64)) }
    }

    #[inline(always)]
    unsafe fn in_order(self) -> Self {
        unsafe {
            let reversed = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
            Avx512(_mm512_shuffle_epi8(self.0, reversed))
        }
    }

    #[inline(always)]
    unsafe fn following(self, next: Self) -> Self {
        unsafe { Avx512(_mm512_alignr_epi64::<1>(next.0, self.0)) }
    }

    #[inline(always)]
    unsafe fn ahead<const MORE: u32>(self, following: Self) -> Self {
        // The instruction's immediate is of another type than MORE, and constants cannot be converted in its place.
        unsafe {
            Avx512(match MORE {
                1 => _mm512_shldi_epi64::<1>(self.0, following.0),
                2 => _mm512_shldi_epi64::<2>(self.0, following.0),
                3 => _mm512_shldi_epi64::<3>(self.0, following.0),
                4 => _mm512_shldi_epi64::<4>(self.0, following.0),
                5 => _mm512_shldi_epi64::<5>(self.0, following.0),
                6 => _mm512_shldi_epi64::<6>(self.0, following.0),
                _ => unreachable!("windows have 7 bits at most"),
            })
        }
    }

    #[inline(always)]
    unsafe fn left<const BY: u32>(self) -> Self {
        unsafe { Avx512(_mm512_slli_epi64::<BY>(self.0)) }
    }

    #[inline(always)]
    unsafe fn right<const BY: u32>(self) -> Self {
        unsafe { Avx512(_mm512_srli_epi64::<BY>(self.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        unsafe { Avx512(_mm512_and_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        unsafe { Avx512(_mm512_or_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        unsafe { Avx512(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn choose(self, yes: Self, no: Self) -> Self {
        // The table of "a ? b : c".
        unsafe { Avx512(_mm512_ternarylogic_epi64::<0xca>(self.0, yes.0, no.0)) }
    }

    #[inline(always)]
    unsafe fn has_equal_words(self, other: Self) -> bool {
        unsafe { _mm512_cmpeq_epi32_mask(self.0, other.0) != 0 }
    }

    #[inline(always)]
    unsafe fn may_have_flat_pairs(self, other: Self) -> bool {
        // FF + 1 is 0 and 00 + 1 is 1; a byte that differs in a higher bit makes more of it.
        unsafe {
            let one = _mm512_set1_epi8(1);
            let odd = _mm512_or_si512(_mm512_add_epi8(self.0, one), _mm512_xor_si512(self.0, other.0));
            _mm512_cmple_epu8_mask(odd, one) != 0
        }
    }

    #[inline(always)]
    unsafe fn tally() -> __m512i {
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn count(tally: &mut __m512i, plane: Self) {
        unsafe { *tally = _mm512_add_epi64(*tally, _mm512_popcnt_epi64(plane.0)) }
    }

    #[inline(always)]
    unsafe fn totals<const N: usize>(tallies: [__m512i; N]) -> [u32; N] {
        let mut totals = [0; N];
        for (i, totals) in totals.chunks_mut(4).enumerate() {
            unsafe {
                let mut packed = tallies[4 * i];
                for k in 1..totals.len() {
                    let shift = _mm_cvtsi32_si128(16 * k as i32);
                    packed = _mm512_or_si512(packed, _mm512_sll_epi64(tallies[4 * i + k], shift));
                }
                unpack(totals, _mm512_reduce_add_epi64(packed) as u64);
            }
        }
        totals
    }
}
