//! STREAM's four loops, with ordinary stores and with stores that go past the caches.
//!
//! The ordinary ones are what the compiler makes of the plain loop, as for STREAM's own: of a copy that is a call of the C library's
//! memcpy, which for arrays beyond the caches goes past them by itself. The others are written for each width of vectors and chosen by
//! what the processor has.

use std::arch::is_x86_feature_detected;

/// What stores past the caches want: arrays that begin on a multiple of so many bytes, and are a multiple long. A cache line, and the widest vector.
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
        Pass::Copy { to, from } => copy(to, from),
        Pass::Scale { to, factor, from } => scale(to, factor, from),
        Pass::Add { to, one, other } => add(to, one, other),
        Pass::Triad { to, one, factor, other } => triad(to, one, factor, other),
    }
}

#[inline(never)]
fn copy(to: &mut [f64], from: &[f64]) {
    to.copy_from_slice(from);
}

#[inline(never)]
fn scale(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, x) in to.iter_mut().zip(from) {
        *to = factor * x;
    }
}

#[inline(never)]
fn add(to: &mut [f64], one: &[f64], other: &[f64]) {
    for ((to, x), y) in to.iter_mut().zip(one).zip(other) {
        *to = x + y;
    }
}

#[inline(never)]
fn triad(to: &mut [f64], one: &[f64], factor: f64, other: &[f64]) {
    for ((to, x), y) in to.iter_mut().zip(one).zip(other) {
        *to = x + factor * y;
    }
}

/// One way of doing a pass.
pub(super) type Way = fn(Pass<'_>);

/// The way past the caches by the widest vectors that this processor has.
pub(super) fn past_the_caches() -> Way {
    // Every x86-64 has SSE2.
    [avx512::way, avx::way, sse2::way].into_iter().find_map(|way| way()).unwrap_or(plain)
}

/// Refuses arrays that cannot be stored to by whole vectors.
fn check(to: &[f64], sources: &[&[f64]]) {
    assert!((to.as_ptr() as usize).is_multiple_of(LINE), "the array begins inside a cache line");
    assert!(size_of_val(to).is_multiple_of(LINE), "the array ends inside a cache line");
    assert!(sources.iter().all(|source| source.len() == to.len()), "the arrays are not of one length");
}

macro_rules! past_the_caches {
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
                            // SAFETY: each chunk is as long as a vector, and `to` begins where one may, as was checked.
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

past_the_caches!(sse2, "sse2", 2, _mm_set1_pd, _mm_loadu_pd, _mm_stream_pd, _mm_add_pd, _mm_mul_pd);
past_the_caches!(
    avx,
    "avx",
    4,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_stream_pd,
    _mm256_add_pd,
    _mm256_mul_pd
);
past_the_caches!(
    avx512,
    "avx512f",
    8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
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
    fn every_width_leaves_what_the_plain_loops_leave() {
        let ordinary = left(plain);
        assert_eq!(ordinary[3][10], (1.7 * 10.0 + 0.3) + 3.0 * (-0.9 * 10.0 + 0.3));
        for (isa, way) in [("sse2", sse2::way()), ("avx", avx::way()), ("avx512", avx512::way())] {
            match way {
                Some(way) => assert_eq!(left(way), ordinary, "{isa}"),
                None => println!("skipped: this processor has no {isa}"),
            }
        }
    }

    #[test]
    #[should_panic(expected = "inside a cache line")]
    fn an_array_that_begins_inside_a_line_is_refused() {
        let mut to = Mapping::<f64>::new(16, Pages::Own).unwrap();
        past_the_caches()(Pass::Copy { to: &mut to[1..9], from: &[0.0; 8] });
    }
}
