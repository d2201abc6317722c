//! Instructions of the closed loop around what it measures, counted under callgrind. A limit fails `make guard`; it is
//! a few per cent above what was measured, so that no stored baseline is needed.
//!
//! The clock is made up: a real one would end the window after another number of samples in every run.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use gungraun::prelude::*;
use tollway_core::{Clock, Recorder, Ticks, Window};
use tollway_load::repeat;

use crate::at_most;

/// Two ticks a sample: one where it opens, one where it closes.
#[derive(Clone, Copy)]
struct Counting;

static TIME: AtomicU64 = AtomicU64::new(0);

impl Clock for Counting {
    #[inline(always)]
    fn now(&self) -> Ticks {
        TIME.load(Relaxed)
    }
    #[inline(always)]
    fn open(&self) -> Ticks {
        let now = TIME.load(Relaxed) + 1;
        TIME.store(now, Relaxed);
        now
    }
    #[inline(always)]
    fn close(&self) -> Ticks {
        self.open()
    }
}

/// A recorder that has seen a sample: pages are mapped, the batch is set.
fn window(samples: Ticks, batch: u32) -> (Window, Recorder) {
    let mut recorder = Recorder::new();
    recorder.sample(1);
    (Window { warm: 0, open: 0, close: 2 * samples, batch, planted: 0 }, recorder)
}

#[library_benchmark]
// Ten batches of ten thousand operations; measured 201_092.
#[bench::hundred_thousand_empty_operations_in_batches(args = (10, 10_000), setup = window, config = at_most(206_000))]
// A thousand samples of one operation each: the stamps' own way through loop and recorder; measured 103_079.
#[bench::thousand_stamped_samples(args = (1000, 1), setup = window, config = at_most(107_000))]
fn closed_loop((window, mut recorder): (Window, Recorder)) -> (u64, Recorder) {
    let done = repeat(Counting, black_box(&window), &mut recorder, &mut || {});
    (done, recorder)
}

library_benchmark_group!(name = load, benchmarks = closed_loop);
