//! Steps on vectors. Chains and both constants fit into sixteen registers.

use std::arch::x86_64::{
    __m128, __m128d, __m256, __m256d, __m512, __m512d, _mm_add_pd, _mm_add_ps, _mm_mul_pd, _mm_mul_ps,
    _mm_set1_pd, _mm_set1_ps, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_set1_pd, _mm256_set1_ps,
    _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_set1_pd, _mm512_set1_ps,
};
use std::mem::transmute;

use super::number::Number;
use super::steps_of;

/// Chains of fused steps: enough for two units of five cycles.
const FUSED: usize = 12;

/// Chains of steps in two instructions, which take six to eight cycles, and one or two begin in each: as many as there is room for.
const IN_TWO: usize = 14;

macro_rules! steps {
    ($name:ident, $features:literal, $chains:ident, $number:ty, $lanes:literal, $vector:ty, $all:ident, $step:expr) => {
        /// Each chain takes all its steps.
        #[target_feature(enable = $features)]
        pub(super) fn $name(numbers: &mut [$number; $chains * $lanes]) {
            let (a, b) = ($all(<$number>::FACTOR), $all(<$number>::ADDEND));
            type Numbers = [$number; $chains * $lanes];
            type Chains = [$vector; $chains];
            // SAFETY: as many numbers of the same kind, in the same order, none of which is invalid; a copy, so that
            // it does not matter how they are aligned.
            let mut chains = unsafe { transmute::<Numbers, Chains>(*numbers) };
            for _ in 0..steps_of($chains * $lanes) {
                for x in &mut chains {
                    *x = $step(*x, a, b);
                }
            }
            // SAFETY: as above, in the other direction.
            *numbers = unsafe { transmute::<Chains, Numbers>(chains) };
        }
    };
}

steps!(avx512_64, "avx512f", FUSED, f64, 8, __m512d, _mm512_set1_pd, _mm512_fmadd_pd);
steps!(avx512_32, "avx512f", FUSED, f32, 16, __m512, _mm512_set1_ps, _mm512_fmadd_ps);
steps!(avx2_64, "avx2,fma", FUSED, f64, 4, __m256d, _mm256_set1_pd, _mm256_fmadd_pd);
steps!(avx2_32, "avx2,fma", FUSED, f32, 8, __m256, _mm256_set1_ps, _mm256_fmadd_ps);
steps!(sse2_64, "sse2", IN_TWO, f64, 2, __m128d, _mm_set1_pd, |x, a, b| _mm_add_pd(_mm_mul_pd(x, a), b));
steps!(sse2_32, "sse2", IN_TWO, f32, 4, __m128, _mm_set1_ps, |x, a, b| _mm_add_ps(_mm_mul_ps(x, a), b));
