//! The closed loop for operations that come several at a time, or that use something up.
//!
//! It keeps the rules of [`tollway_load::repeat`] (the same stamps, the same length of a sample), and adds two: what is
//! recorded is per operation where one call is several, and what a call uses up is renewed between two samples,
//! outside of both.

use std::sync::atomic::{Ordering, compiler_fence};

use tollway_core::{Clock, Recorder, Ticks, Window};
use tollway_load::{SAMPLE_TICKS, STAMP_FROM_TICKS, delay, wait_until};

use crate::engine::Operation;

/// The most calls in a sample.
const MOST_CALLS: u32 = 1 << 12;

/// Calls `operation` from `window.warm` to `window.close` and records from `window.open` on; at least one sample is
/// recorded. Returns how many operations there were in all, warm-up included.
pub(super) fn repeat_groups<C: Clock>(
    clock: C,
    window: &Window,
    recorder: &mut Recorder,
    operation: &mut impl Operation,
) -> u64 {
    let group = operation.operations().max(1);
    let mut done = 0;
    wait_until(clock, window.warm);
    let calls = match window.batch {
        _ if operation.uses_up() => 1,
        0 => calls_per_sample(clock, window, operation, &mut done),
        frozen => (frozen / group).max(1),
    };
    recorder.set_batch(calls * group);
    let mut recorded = false;
    loop {
        let (begun, ended) = sample(clock, window, operation, calls, &mut done);
        if begun >= window.open {
            recorder.sample(ended.saturating_sub(begun));
            recorded = true;
        }
        if ended >= window.close && recorded {
            return done;
        }
    }
}

/// So many calls between two stamps.
fn sample<C: Clock>(
    clock: C,
    window: &Window,
    operation: &mut impl Operation,
    calls: u32,
    done: &mut u64,
) -> (Ticks, Ticks) {
    let group = operation.operations().max(1);
    if operation.uses_up() {
        operation.restock();
    }
    let begun = clock.open();
    for _ in 0..calls {
        operation.once();
        compiler_fence(Ordering::SeqCst);
    }
    if window.planted > 0 {
        (0..calls * group).for_each(|_| delay(window.planted));
    }
    let ended = clock.close();
    *done += u64::from(calls) * u64::from(group);
    (begun, ended)
}

/// One call where that is long enough to be stamped on its own, else as many as make a sample. The shortest of eight
/// tries counts, so that an interruption does not make the sample too short.
fn calls_per_sample<C: Clock>(
    clock: C,
    window: &Window,
    operation: &mut impl Operation,
    done: &mut u64,
) -> u32 {
    let shortest = (0..8)
        .map(|_| sample(clock, window, operation, 1, done))
        .fold(Ticks::MAX, |least, (begun, ended)| least.min(ended.saturating_sub(begun)));
    if shortest >= STAMP_FROM_TICKS {
        return 1;
    }
    u32::try_from(SAMPLE_TICKS.div_ceil(shortest.max(1))).unwrap_or(MOST_CALLS).clamp(1, MOST_CALLS)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tollway_core::{Params, Place, Result};

    use super::*;

    thread_local! {
        static TIME: Cell<Ticks> = const { Cell::new(0) };
    }

    /// A clock that moves only when it is told to.
    #[derive(Clone, Copy)]
    struct Told;

    impl Clock for Told {
        fn now(&self) -> Ticks {
            TIME.set(TIME.get() + 1);
            TIME.get()
        }
        fn open(&self) -> Ticks {
            TIME.get()
        }
        fn close(&self) -> Ticks {
            TIME.get()
        }
    }

    /// Eight operations of 10 ticks; if perishable, ready for one call after a restocking of 1000 ticks.
    struct Eight {
        perishable: bool,
        stocked: bool,
        calls: u64,
    }

    impl Operation for Eight {
        fn prepare(_: &Params, _: &Place) -> Result<Self> {
            Ok(Eight { perishable: false, stocked: false, calls: 0 })
        }
        fn once(&mut self) {
            assert_eq!(self.stocked, self.perishable);
            self.stocked = false;
            self.calls += 1;
            TIME.set(TIME.get() + 80);
        }
        fn operations(&self) -> u32 {
            8
        }
        fn uses_up(&self) -> bool {
            self.perishable
        }
        fn restock(&mut self) {
            self.stocked = true;
            TIME.set(TIME.get() + 1000);
        }
        fn verify(&mut self, _: u64) -> Result<()> {
            Ok(())
        }
    }

    fn run(perishable: bool, batch: u32) -> (tollway_core::Spread, u64, u64) {
        TIME.set(0);
        let mut eight = Eight { perishable, stocked: false, calls: 0 };
        let window = Window { warm: 10, open: 100_000, close: 300_000, batch, planted: 0 };
        let mut recorder = Recorder::new();
        let done = repeat_groups(Told, &window, &mut recorder, &mut eight);
        (recorder.spread(), done, eight.calls)
    }

    #[test]
    fn the_figure_is_per_operation() {
        for batch in [0, 80] {
            let (spread, done, calls) = run(false, batch);
            assert_eq!(spread.mean(), Some(10.0));
            assert_eq!(done, 8 * calls);
            assert_eq!(spread.batch, if batch == 0 { 2000 } else { 80 });
        }
    }

    #[test]
    fn restocking_is_before_every_call_and_not_timed() {
        let (spread, done, calls) = run(true, 0);
        assert_eq!((spread.mean(), spread.batch), (Some(10.0), 8));
        assert_eq!(done, 8 * calls);
    }
}
