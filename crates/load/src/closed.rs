//! The closed loop: operations one after the other, timed singly or in batches.
//!
//! A fenced pair of clock reads costs about 50 ticks. An operation shorter than a hundred times that is timed in
//! batches, so that the stamps stay below one per cent of what they measure; longer ones are stamped one by one,
//! which keeps their tail.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{Ordering, compiler_fence};

use tollway_core::{Clock, Recorder, Ticks, Window};

/// An operation that takes so many ticks is stamped on its own: 54 ticks of stamps are 1 % of it.
pub const STAMP_FROM_TICKS: Ticks = 5_400;

/// What a batch of shorter operations should take, in ticks: stamps are then 0.3 % of a sample.
pub const SAMPLE_TICKS: Ticks = 20_000;

/// The largest batch: a batch of nothing at all still ends.
const LARGEST_BATCH: u32 = 1 << 16;

/// Spins until the clock shows `at`.
pub fn wait_until<C: Clock>(clock: C, at: Ticks) {
    while clock.now() < at {
        spin_loop();
    }
}

/// Repeats `op` from `window.warm` to `window.close` and records from `window.open` on. Returns how often `op` ran in
/// all, warm-up included.
///
/// With `window.batch` 0 the batch is found first, within the warm-up or after it, and set in the recorder. At least
/// one sample is recorded even where a single operation outlasts the window.
///
/// Makes no system call and does not allocate, so it may run inside a micro-guest if `op` may.
#[inline]
pub fn repeat<C: Clock>(clock: C, window: &Window, recorder: &mut Recorder, mut op: impl FnMut()) -> u64 {
    match window.planted {
        0 => run_window(clock, window, recorder, op),
        steps => run_window(clock, window, recorder, || {
            op();
            delay(steps);
        }),
    }
}

/// Takes at least `steps` multiplications one after the other: a delay whose length the clock does not determine.
#[inline]
pub fn delay(steps: u32) {
    let mut x = black_box(3u64);
    for _ in 0..steps {
        x = black_box(x.wrapping_mul(x));
    }
}

#[inline(always)]
fn run_window<C: Clock>(clock: C, window: &Window, recorder: &mut Recorder, mut op: impl FnMut()) -> u64 {
    wait_until(clock, window.warm);
    let mut total = 0;
    let batch = if window.batch > 0 { window.batch } else { find_batch(clock, &mut total, &mut op) };
    recorder.set_batch(batch);
    let mut recorded = false;
    loop {
        let begun = clock.open();
        run_batch(batch, &mut op);
        let ended = clock.close();
        total += u64::from(batch);
        if begun >= window.open {
            recorder.sample(ended.saturating_sub(begun));
            recorded = true;
        }
        if ended >= window.close && recorded {
            return total;
        }
    }
}

#[inline(always)]
fn run_batch(batch: u32, op: &mut impl FnMut()) {
    for _ in 0..batch {
        op();
        // Costs no instruction; keeps operations from being merged, and an empty loop from being deleted.
        compiler_fence(Ordering::SeqCst);
    }
}

/// Doubles the batch until it is long enough to measure, then scales it to [`SAMPLE_TICKS`]. The shortest of three
/// tries counts, so that an interruption does not make the batch too small.
fn find_batch<C: Clock>(clock: C, total: &mut u64, op: &mut impl FnMut()) -> u32 {
    let mut batch = 1u32;
    loop {
        let mut shortest = Ticks::MAX;
        for _ in 0..3 {
            let begun = clock.open();
            run_batch(batch, op);
            shortest = shortest.min(clock.close().saturating_sub(begun));
            *total += u64::from(batch);
        }
        if batch == 1 && shortest >= STAMP_FROM_TICKS {
            return 1;
        }
        if shortest >= SAMPLE_TICKS / 4 || batch >= LARGEST_BATCH {
            let scaled = (u64::from(batch) * SAMPLE_TICKS).div_ceil(shortest.max(1));
            return u32::try_from(scaled).unwrap_or(LARGEST_BATCH).clamp(1, LARGEST_BATCH);
        }
        batch *= 2;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// A clock that moves only when it is told to: one tick per reading, and whatever an operation adds.
    #[derive(Clone, Copy)]
    struct Told(&'static AtomicU64);

    impl Told {
        fn new() -> Self {
            Told(Box::leak(Box::new(AtomicU64::new(0))))
        }

        fn advance(&self, ticks: u64) {
            self.0.fetch_add(ticks, Ordering::Relaxed);
        }
    }

    impl Clock for Told {
        fn now(&self) -> Ticks {
            self.0.fetch_add(1, Ordering::Relaxed)
        }
        fn open(&self) -> Ticks {
            self.now()
        }
        fn close(&self) -> Ticks {
            self.now()
        }
    }

    fn run(cost: u64, window: Window) -> (u64, tollway_core::Spread, u64) {
        let clock = Told::new();
        let calls = Arc::new(AtomicU64::new(0));
        let mut recorder = Recorder::new();
        let seen = calls.clone();
        let total = repeat(clock, &window, &mut recorder, move || {
            clock.advance(cost);
            seen.fetch_add(1, Ordering::Relaxed);
        });
        (total, recorder.spread(), calls.load(Ordering::Relaxed))
    }

    #[test]
    fn short_operations_are_batched_and_long_ones_stamped() {
        let window = Window { warm: 10, open: 1_000_000, close: 3_000_000, batch: 0, planted: 0 };
        let (_, short, _) = run(20, window);
        assert!(short.batch >= 900 && short.batch <= 1100, "{}", short.batch);
        assert!((short.quantile(0.5).unwrap() - 20.0).abs() < 0.1);
        let (_, long, _) = run(9_000, window);
        assert_eq!(long.batch, 1);
        assert!((long.quantile(0.5).unwrap() - 9_001.0).abs() < 10.0);
    }

    #[test]
    fn every_call_is_counted_and_only_those_in_the_window_recorded() {
        let window = Window { warm: 100, open: 50_000, close: 100_000, batch: 10, planted: 0 };
        let (total, spread, calls) = run(50, window);
        assert_eq!(total, calls);
        assert!(spread.ops < total, "the warm-up must not be recorded");
        assert!((90..=110).contains(&spread.samples()), "{}", spread.samples());
    }

    #[test]
    fn an_operation_longer_than_the_window_is_recorded_once() {
        let window = Window { warm: 0, open: 0, close: 10, batch: 1, planted: 0 };
        let (total, spread, _) = run(1_000_000, window);
        assert_eq!((total, spread.samples()), (1, 1));
    }
}
