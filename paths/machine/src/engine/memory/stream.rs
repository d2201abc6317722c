//! STREAM's four kernels by STREAM's rules (J. D. McCalpin, stream.c 5.10): arrays of f64 beyond the caches, each pass reads and writes all of
//! them, the best of several passes counts, the first left out, and what the arrays hold in the end is checked.
//!
//! Bytes are counted as there: what the kernel names. A store into a line that is not in a cache makes the processor read the line first,
//! which is not counted; stores past the caches spare it.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use tollway_core::{Error, Result};

use super::kernels::{LINE, Pass, Way, past_the_caches, plain};
use super::{Mapping, Pages};

/// STREAM's scalar.
const SCALAR: f64 = 3.0;

/// How far results may be off, as STREAM checks it for f64: the mean of the errors over an array, relative to what should be there.
const EPSILON: f64 = 1e-13;

/// Numbers between two arrays. Arrays of a power of two would else have all three of what is worked on at one place of a page; STREAM's own
/// arrays of 10 million numbers are as far from that.
const OFFSET: usize = 128;

/// Numbers of a MiB.
pub const PER_MIB: usize = (1 << 20) / size_of::<f64>();

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// c = a
    Copy,
    /// b = 3 c
    Scale,
    /// c = a + b
    Add,
    /// a = b + 3 c
    Triad,
}

impl Kernel {
    /// In STREAM's order.
    pub const ALL: [Kernel; 4] = [Kernel::Copy, Kernel::Scale, Kernel::Add, Kernel::Triad];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Copy => "copy",
            Kernel::Scale => "scale",
            Kernel::Add => "add",
            Kernel::Triad => "triad",
        }
    }

    /// The kernel of that name.
    pub fn named(name: &str) -> Option<Kernel> {
        Kernel::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// Bytes that it reads and writes for each number of an array.
    pub fn bytes(self) -> u64 {
        match self {
            Kernel::Copy | Kernel::Scale => 16,
            Kernel::Add | Kernel::Triad => 24,
        }
    }
}

/// How results are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// As the compiler does it.
    Plain,
    /// Past the caches, without reading the line first.
    NonTemporal,
}

/// What each of the three arrays holds, in all its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    a: f64,
    b: f64,
    c: f64,
}

/// The three arrays.
#[derive(Debug)]
pub struct Arrays {
    numbers: Mapping<f64>,
    each: usize,
    way: Way,
    expected: Held,
}

impl Arrays {
    /// Three arrays of so many numbers each, rounded up to a cache line's, as STREAM has them before its first pass; but c is no zero, so
    /// that every kernel alone changes what it writes to. All their pages have memory.
    ///
    /// # Errors
    /// As of [`Mapping::new`]; [`Error::Missing`] if huge pages were asked for and none came.
    pub fn new(each: usize, stores: Stores, pages: Pages) -> Result<Arrays> {
        let each = each.max(1).next_multiple_of(LINE / size_of::<f64>());
        let numbers = Mapping::new(each.saturating_mul(3).saturating_add(2 * OFFSET), pages)?;
        let way = if stores == Stores::Plain { plain } else { past_the_caches() };
        let expected = Held { a: 2.0, b: 2.0, c: 0.5 };
        let mut arrays = Arrays { numbers, each, way, expected };
        let (a, b, c) = arrays.split();
        for (array, value) in [(a, expected.a), (b, expected.b), (c, expected.c)] {
            array.fill(value);
        }
        if pages == Pages::Huge && arrays.numbers.huge()? == 0 {
            return Err(super::mapping::no_huge_pages("the kernel gave none"));
        }
        Ok(arrays)
    }

    /// Numbers of each array.
    pub fn each(&self) -> usize {
        self.each
    }

    /// a, b and c. c lies first and a last, as gcc lays out STREAM's own: which lies before which by how many bytes of a page decides about a
    /// sixth of the rate of some kernels.
    fn split(&mut self) -> (&mut [f64], &mut [f64], &mut [f64]) {
        let (c, rest) = self.numbers.split_at_mut(self.each);
        let (b, a) = rest[OFFSET..].split_at_mut(self.each);
        (&mut a[OFFSET..], b, c)
    }

    /// One pass of a kernel over the arrays.
    pub fn pass(&mut self, kernel: Kernel) {
        let held = &mut self.expected;
        match kernel {
            Kernel::Copy => held.c = held.a,
            Kernel::Scale => held.b = SCALAR * held.c,
            Kernel::Add => held.c = held.a + held.b,
            Kernel::Triad => held.a = held.b + SCALAR * held.c,
        }
        let way = self.way;
        let (a, b, c) = self.split();
        way(match kernel {
            Kernel::Copy => Pass::Copy { to: c, from: a },
            Kernel::Scale => Pass::Scale { to: b, factor: SCALAR, from: c },
            Kernel::Add => Pass::Add { to: c, one: a, other: b },
            Kernel::Triad => Pass::Triad { to: a, one: b, factor: SCALAR, other: c },
        });
    }

    /// Whether the arrays hold what so many passes leave, as STREAM checks it.
    ///
    /// # Errors
    /// [`Error::Wrong`] with the array that does not.
    pub fn check(&mut self) -> Result<()> {
        let Held { a, b, c } = self.expected;
        let (in_a, in_b, in_c) = self.split();
        for (name, array, value) in [("a", in_a, a), ("b", in_b, b), ("c", in_c, c)] {
            let off = array.iter().map(|x| (x - value).abs()).sum::<f64>() / array.len() as f64;
            let relative = (off / value).abs();
            if relative.is_nan() || relative > EPSILON {
                return Err(Error::Wrong(format!(
                    "array {name} should hold {value:e} and is off by {relative:e} of it on average"
                )));
            }
        }
        Ok(())
    }
}

/// What STREAM prints of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Which.
    pub kernel: Kernel,
    /// Bytes a second of the best pass.
    pub best: f64,
    /// Seconds of a pass on average, the first left out.
    pub mean: f64,
}

/// Runs the four kernels in turn as STREAM does, `times` times, on arrays of so many numbers that the threads share in equal parts.
/// The first round does not count.
///
/// # Errors
/// As of [`Arrays::new`] and [`Arrays::check`].
pub fn measure(
    numbers: usize,
    threads: usize,
    times: usize,
    stores: Stores,
    pages: Pages,
) -> Result<[Rate; 4]> {
    let (threads, rounds) = (threads.max(1), times.max(2));
    let part = numbers.div_ceil(threads);
    let barrier = Barrier::new(threads);
    // By the first thread's watch: a pass lasts from before the others are let go, as by OpenMP, until all have done their parts.
    let play = || -> Result<(usize, Vec<[f64; 4]>)> {
        // Whose arrays could not be had must not keep the others waiting.
        let mut arrays = Arrays::new(part, stores, pages);
        let mut took = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            took.push(Kernel::ALL.map(|kernel| {
                barrier.wait();
                let begun = Instant::now();
                barrier.wait();
                if let Ok(arrays) = &mut arrays {
                    arrays.pass(kernel);
                }
                barrier.wait();
                begun.elapsed().as_secs_f64()
            }));
        }
        let mut arrays = arrays?;
        arrays.check()?;
        Ok((arrays.each(), took))
    };
    let played = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(play)).collect();
        let first = play();
        others
            .into_iter()
            .map(|other| other.join().expect("it does not panic"))
            .fold(first, |first, other| other.and(first))
    });
    let (each, took) = played?;
    let bytes = (each * threads) as f64;
    Ok(std::array::from_fn(|i| {
        let times = took[1..].iter().map(|round| round[i]);
        let kernel = Kernel::ALL[i];
        Rate {
            kernel,
            best: kernel.bytes() as f64 * bytes / times.clone().fold(f64::INFINITY, f64::min),
            mean: times.sum::<f64>() / (rounds - 1) as f64,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_ten_rounds_the_arrays_hold_what_stream_says() {
        for stores in [Stores::Plain, Stores::NonTemporal] {
            let mut arrays = Arrays::new(1003, stores, Pages::Own).unwrap();
            assert_eq!(arrays.each(), 1008);
            for _ in 0..10 {
                Kernel::ALL.into_iter().for_each(|kernel| arrays.pass(kernel));
            }
            arrays.check().unwrap();
            // A round makes of a: b = 3a, c = a + b = 4a, a = 3a + 3 · 4a = 15a.
            let a = 2.0 * 15f64.powi(10);
            let (in_a, in_b, in_c) = arrays.split();
            assert!(in_a.iter().all(|x| *x == a), "{stores:?}: {}", in_a[0]);
            assert!(in_b.iter().all(|x| *x == a / 5.0) && in_c.iter().all(|x| *x == a / 15.0 * 4.0));
        }
    }

    #[test]
    fn each_kernel_alone_leaves_what_it_says_and_no_other_value_passes() {
        let left = |kernel| {
            let mut arrays = Arrays::new(64, Stores::Plain, Pages::Own).unwrap();
            (0..3).for_each(|_| arrays.pass(kernel));
            arrays.check().unwrap();
            let (a, b, c) = arrays.split();
            (a[63], b[0], c[7])
        };
        assert_eq!(left(Kernel::Copy), (2.0, 2.0, 2.0));
        assert_eq!(left(Kernel::Scale), (2.0, 1.5, 0.5));
        assert_eq!(left(Kernel::Add), (2.0, 2.0, 4.0));
        assert_eq!(left(Kernel::Triad), (3.5, 2.0, 0.5));

        for (array, wrong) in [(0, 2.0 + 1e-9), (1, f64::NAN), (2, f64::INFINITY)] {
            let mut arrays = Arrays::new(64, Stores::Plain, Pages::Own).unwrap();
            arrays.pass(Kernel::Copy);
            let (a, b, c) = arrays.split();
            [a, b, c][array][17] = wrong;
            assert!(matches!(arrays.check(), Err(Error::Wrong(_))), "array {array}, {wrong}");
        }
    }

    #[test]
    fn a_kernel_that_was_not_run_is_found() {
        for kernel in Kernel::ALL {
            let mut arrays = Arrays::new(64, Stores::Plain, Pages::Own).unwrap();
            let before: Vec<f64> = arrays.numbers.to_vec();
            arrays.pass(kernel);
            arrays.numbers.copy_from_slice(&before);
            assert!(arrays.check().is_err(), "{kernel:?}");
        }
    }

    #[test]
    fn a_measurement_has_rates_that_belong_to_its_times() {
        for threads in [1, 2] {
            for rate in measure(40_000, threads, 3, Stores::Plain, Pages::Own).unwrap() {
                let mean_rate = rate.kernel.bytes() as f64 * 40_000.0 / rate.mean;
                assert!(rate.best >= mean_rate * 0.999 && rate.best.is_finite(), "{rate:?} with {threads}");
            }
        }
    }
}
