//! All streams at once in the widest registers: four blocks of AES each (VAES with AVX-512).
//!
//! A library's AES takes blocks from memory and puts them back at every step. Here a stream's chain stays where it is for four
//! steps, and samples go from the line of a cache into registers by two shuffles; that halves what AES takes of a processor, and
//! a reduction must not be seen beside the draws.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_aeskeygenassist_si128, _mm_loadu_si128, _mm_shuffle_epi32, _mm_slli_si128,
    _mm_xor_si128, _mm512_aesenc_epi128, _mm512_aesenclast_epi128, _mm512_broadcast_i32x4,
    _mm512_loadu_si512, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_storeu_si512,
    _mm512_ternarylogic_epi64,
};

use zeroize::Zeroize;

use super::{INPUT, LINE, SAMPLE, SAMPLES, STREAMS};

/// Rounds of AES-128 (FIPS 197, figure 4).
const ROUNDS: usize = 10;

/// Streams in a register.
const LANES: usize = 4;

/// Registers that take their steps together: enough to hide how long a round takes.
const TOGETHER: usize = 4;

/// x ^ y ^ z as a truth table (VPTERNLOG).
const XOR: i32 = 0x96;

/// The reduction of [`STREAMS`] streams, of a processor that can.
pub(super) struct Wide {
    /// The key schedule, each round's key in all lanes.
    keys: [[u8; 64]; ROUNDS + 1],
}

impl Wide {
    /// With that key; `None` where the processor cannot.
    pub(super) fn new(key: &[u8; SAMPLE]) -> Option<Wide> {
        let can = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("aes");
        // SAFETY: the processor has the instructions.
        can.then(|| Wide { keys: unsafe { expand(key) } })
    }

    /// Of each input one MAC, of exactly [`STREAMS`].
    pub(super) fn reduce(&self, samples: &[u8; STREAMS * INPUT], outputs: &mut [[u8; SAMPLE]; STREAMS]) {
        // SAFETY: `new` has found that the processor has the instructions.
        unsafe { reduce(&self.keys, samples, outputs) }
    }
}

impl Drop for Wide {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().zeroize();
    }
}

/// The key schedule of FIPS 197, section 5.2.
#[target_feature(enable = "avx512f,vaes,aes")]
fn expand(key: &[u8; SAMPLE]) -> [[u8; 64]; ROUNDS + 1] {
    // SAFETY: 16 bytes are read of 16.
    let mut round = unsafe { _mm_loadu_si128(key.as_ptr().cast()) };
    let mut keys = [[0; 64]; ROUNDS + 1];
    let mut put = |at: usize, round: __m128i| {
        // SAFETY: 64 bytes are written to 64.
        unsafe { _mm512_storeu_si512(keys[at].as_mut_ptr().cast(), _mm512_broadcast_i32x4(round)) };
    };
    put(0, round);
    macro_rules! rounds {
        ($($at:literal $constant:literal),*) => { $(
            round = next(round, _mm_aeskeygenassist_si128::<$constant>(round));
            put($at, round);
        )* };
    }
    rounds!(1 0x01, 2 0x02, 3 0x04, 4 0x08, 5 0x10, 6 0x20, 7 0x40, 8 0x80, 9 0x1b, 10 0x36);
    keys
}

/// The key after `key`: its words mixed one into the next, and all with what the last word became.
#[target_feature(enable = "avx512f,vaes,aes")]
fn next(key: __m128i, assist: __m128i) -> __m128i {
    let last = _mm_shuffle_epi32::<0xff>(assist);
    let mut mixed = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    mixed = _mm_xor_si128(mixed, _mm_slli_si128::<8>(mixed));
    _mm_xor_si128(mixed, last)
}

#[target_feature(enable = "avx512f,vaes,aes")]
fn reduce(
    keys: &[[u8; 64]; ROUNDS + 1],
    samples: &[u8; STREAMS * INPUT],
    outputs: &mut [[u8; SAMPLE]; STREAMS],
) {
    // SAFETY: 64 bytes are read of 64.
    let keys = keys.each_ref().map(|key| unsafe { _mm512_loadu_si512(key.as_ptr().cast()) });
    let (streams, _) = samples.as_chunks::<INPUT>();
    let (groups, _) = streams.as_chunks::<{ LANES * TOGETHER }>();
    let (places, _) = outputs.as_chunks_mut::<{ LANES * TOGETHER }>();
    for (group, places) in groups.iter().zip(places) {
        let mut chains = [_mm512_setzero_si512(); TOGETHER];
        for line in 0..SAMPLES / LINE {
            let mut steps = [[_mm512_setzero_si512(); TOGETHER]; LINE];
            for (at, four) in group.as_chunks::<LANES>().0.iter().enumerate() {
                let ready = transposed(four.each_ref().map(|stream| {
                    let (lines, _) = stream.as_chunks::<{ LINE * SAMPLE }>();
                    // SAFETY: 64 bytes are read of 64.
                    unsafe { _mm512_loadu_si512(lines[line].as_ptr().cast()) }
                }));
                for (step, ready) in steps.iter_mut().zip(ready) {
                    step[at] = ready;
                }
            }
            for step in &steps {
                encrypt(&keys, &mut chains, step);
            }
        }
        for (chain, place) in chains.iter().zip(places.as_chunks_mut::<LANES>().0) {
            // SAFETY: 64 bytes are written to four times 16.
            unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), *chain) };
        }
    }
}

/// Four samples of each of four streams, into one sample of all four, four times.
#[target_feature(enable = "avx512f,vaes,aes")]
#[inline]
fn transposed([a, b, c, d]: [__m512i; LANES]) -> [__m512i; LINE] {
    // The lanes of each register are a stream's samples 0 to 3; the numbers in the names are those of samples.
    let ab01 = _mm512_shuffle_i32x4::<0x44>(a, b);
    let ab23 = _mm512_shuffle_i32x4::<0xee>(a, b);
    let cd01 = _mm512_shuffle_i32x4::<0x44>(c, d);
    let cd23 = _mm512_shuffle_i32x4::<0xee>(c, d);
    [
        _mm512_shuffle_i32x4::<0x88>(ab01, cd01),
        _mm512_shuffle_i32x4::<0xdd>(ab01, cd01),
        _mm512_shuffle_i32x4::<0x88>(ab23, cd23),
        _mm512_shuffle_i32x4::<0xdd>(ab23, cd23),
    ]
}

/// A step of the chains: each takes its samples in and is encrypted.
#[target_feature(enable = "avx512f,vaes,aes")]
#[inline]
fn encrypt(keys: &[__m512i; ROUNDS + 1], chains: &mut [__m512i; TOGETHER], samples: &[__m512i; TOGETHER]) {
    for (chain, sample) in chains.iter_mut().zip(samples) {
        *chain = _mm512_ternarylogic_epi64::<XOR>(*chain, *sample, keys[0]);
    }
    for key in &keys[1..ROUNDS] {
        for chain in chains.iter_mut() {
            *chain = _mm512_aesenc_epi128(*chain, *key);
        }
    }
    for chain in chains {
        *chain = _mm512_aesenclast_epi128(*chain, keys[ROUNDS]);
    }
}
