//! STREAM's four loops, with ordinary stores and with stores that go past the caches.
//!
//! The ordinary ones are what gcc -O3 makes of STREAM's own: of a copy a call of the C library's memcpy, which for arrays beyond the caches
//! goes past them by itself; of the others vectors of 16 bytes from aligned memory, so that arithmetic takes its second operand from there.
//! Of the same loops over slices rustc makes loads of their own, since it does not know where slices begin: that is two instructions in eight
//! more, and triad was 7 % slower on an EPYC of the fourth generation, which looks as far ahead as so many instructions reach. The others
//! are written for each width of vectors and chosen by what the processor has.

use std::arch::is_x86_feature_detected;

/// What whole vectors want: arrays that begin on a multiple of so many bytes, and are a multiple long. A cache line, and the widest vector.
pub(super) const LINE: usize = 64;

/// A pass of a kernel over whole arrays of one length.
#[derive(Debug)]
pub(super) enum Pass<'a> {
    /// to = from
    Copy { to: &'a mut [f64], from: &'a [f64] },
    /// to = factor · from
    Scale { to: &'a mut [f64], factor: f64, from: &'a [f64] },
    /// to = one + other
    Add { to: &'a mut [f64], one: &'a [f64], other: &'a [f64] },
    /// to = one + factor · other
    Triad { to: &'a mut [f64], one: &'a [f64], factor: f64, other: &'a [f64] },
}

/// With ordinary stores.
pub(super) fn plain(pass: Pass<'_>) {
    match pass {
        Pass::Copy { to, from } => to.copy_from_slice(from),
        other => ordinary::way().expect("every x86-64 has SSE2")(other),
    }
}

/// One way of doing a pass.
pub(super) type Way = fn(Pass<'_>);

/// The way past the caches by the widest vectors that this processor has.
pub(super) fn past_the_caches() -> Way {
    // Every x86-64 has SSE2.
    [avx512::way, avx::way, sse2::way].into_iter().find_map(|way| way()).unwrap_or(plain)
}

/// Refuses arrays that are not whole vectors.
fn check(to: &[f64], sources: &[&[f64]]) {
    let begins = |array: &[f64]| (array.as_ptr() as usize).is_multiple_of(LINE);
    assert!(begins(to) && sources.iter().all(|source| begins(source)), "an array begins inside a cache line");
    assert!(size_of_val(to).is_multiple_of(LINE), "the array ends inside a cache line");
    assert!(sources.iter().all(|source| source.len() == to.len()), "the arrays are not of one length");
}

macro_rules! by_vectors {
    ($isa:ident, $feature:tt, $lanes:literal, $all:ident, $load:ident, $store:ident, $add:ident, $mul:ident) => {
        mod $isa {
            use std::arch::x86_64::{_mm_sfence, $add, $all, $load, $mul, $store};

            use super::{Pass, Way, check};

            /// This way, where this processor has it.
            pub(super) fn way() -> Option<Way> {
                super::is_x86_feature_detected!($feature).then_some(|pass| {
                    // SAFETY: the processor has the feature, which was just asked.
                    unsafe { run(pass) }
                })
            }

            #[target_feature(enable = $feature)]
            fn run(pass: Pass<'_>) {
                match pass {
                    Pass::Copy { to, from } => {
                        check(to, &[from]);
                        for (to, x) in to.chunks_exact_mut($lanes).zip(from.chunks_exact($lanes)) {
                            // SAFETY: each chunk is as long as a vector, and all arrays begin where one may, as was checked.
                            unsafe { $store(to.as_mut_ptr(), $load(x.as_ptr())) };
                        }
                    }
                    Pass::Scale { to, factor, from } => {
                        check(to, &[from]);
                        let factor = $all(factor);
                        for (to, x) in to.chunks_exact_mut($lanes).zip(from.chunks_exact($lanes)) {
                            // SAFETY: as above.
                            unsafe { $store(to.as_mut_ptr(), $mul(factor, $load(x.as_ptr()))) };
                        }
                    }
                    Pass::Add { to, one, other } => {
                        check(to, &[one, other]);
                        let sources = one.chunks_exact($lanes).zip(other.chunks_exact($lanes));
                        for (to, (x, y)) in to.chunks_exact_mut($lanes).zip(sources) {
                            // SAFETY: as above.
                            unsafe { $store(to.as_mut_ptr(), $add($load(x.as_ptr()), $load(y.as_ptr()))) };
                        }
                    }
                    Pass::Triad { to, one, factor, other } => {
                        check(to, &[one, other]);
                        let factor = $all(factor);
                        let sources = one.chunks_exact($lanes).zip(other.chunks_exact($lanes));
                        for (to, (x, y)) in to.chunks_exact_mut($lanes).zip(sources) {
                            // SAFETY: as above.
                            let (x, y) = unsafe { ($load(x.as_ptr()), $load(y.as_ptr())) };
                            // SAFETY: as above.
                            unsafe { $store(to.as_mut_ptr(), $add(x, $mul(factor, y))) };
                        }
                    }
                }
                // Stores past the caches are in order for others only after this.
                _mm_sfence();
            }
        }
    };
}

by_vectors!(ordinary, "sse2", 2, _mm_set1_pd, _mm_load_pd, _mm_store_pd, _mm_add_pd, _mm_mul_pd);
by_vectors!(sse2, "sse2", 2, _mm_set1_pd, _mm_load_pd, _mm_stream_pd, _mm_add_pd, _mm_mul_pd);
by_vectors!(avx, "avx", 4, _mm256_set1_pd, _mm256_load_pd, _mm256_stream_pd, _mm256_add_pd, _mm256_mul_pd);
by_vectors!(
    avx512,
    "avx512f",
    8,
    _mm512_set1_pd,
    _mm512_load_pd,
    _mm512_stream_pd,
    _mm512_add_pd,
    _mm512_mul_pd
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::{Mapping, Pages};

    /// What the four leave in an array, of sources that differ in every number.
    fn left(way: Way) -> Vec<Vec<f64>> {
        let filled = |factor: f64| {
            let mut numbers = Mapping::<f64>::new(1 << 10, Pages::Own).unwrap();
            numbers.iter_mut().enumerate().for_each(|(i, x)| *x = factor * i as f64 + 0.3);
            numbers
        };
        let (one, other) = (&filled(1.7)[..], &filled(-0.9)[..]);
        let mut numbers = Mapping::<f64>::new(1 << 10, Pages::Own).unwrap();
        (0..4)
            .map(|kernel| {
                let to = &mut numbers[..];
                to.fill(f64::NAN);
                way(match kernel {
                    0 => Pass::Copy { to, from: one },
                    1 => Pass::Scale { to, factor: 3.0, from: one },
                    2 => Pass::Add { to, one, other },
                    _ => Pass::Triad { to, one, factor: 3.0, other },
                });
                numbers.to_vec()
            })
            .collect()
    }

    #[test]
    fn every_width_leaves_what_one_number_after_the_other_makes() {
        let formulas: [fn(f64, f64) -> f64; 4] = [|x, _| x, |x, _| 3.0 * x, |x, y| x + y, |x, y| x + 3.0 * y];
        let source = |factor: f64, i: usize| factor * i as f64 + 0.3;
        let expected: Vec<Vec<f64>> = formulas
            .iter()
            .map(|formula| (0..1 << 10).map(|i| formula(source(1.7, i), source(-0.9, i))).collect())
            .collect();
        let vectors = [ordinary::way(), sse2::way(), avx::way(), avx512::way()];
        for (name, way) in ["ordinary", "sse2", "avx", "avx512"].into_iter().zip(vectors) {
            match way {
                Some(way) => assert_eq!(left(way), expected, "{name}"),
                None => println!("skipped: this processor has no {name}"),
            }
        }
        assert_eq!((left(plain), left(past_the_caches())), (expected.clone(), expected));
    }

    #[test]
    #[should_panic(expected = "inside a cache line")]
    fn an_array_that_begins_inside_a_line_is_refused() {
        let mut to = Mapping::<f64>::new(16, Pages::Own).unwrap();
        past_the_caches()(Pass::Copy { to: &mut to[1..9], from: &[0.0; 8] });
    }
}
