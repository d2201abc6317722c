//! The closed loop: operations one after the other, timed singly or in batches.
//!
//! A fenced pair of clock reads costs about 50 ticks. An operation shorter than a hundred times that is timed in
//! batches, so that the stamps stay below one per cent of what they measure; longer ones are stamped one by one,
//! which keeps their tail.

use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

use tollway_core::{Clock, Recorder, Ticks, Window};

/// A call that takes so many ticks is stamped on its own: 54 ticks of stamps are 1 % of it.
pub const STAMP_FROM_TICKS: Ticks = 5_400;

/// What a batch of shorter calls should take, in ticks: stamps are then 0.3 % of a sample.
pub const SAMPLE_TICKS: Ticks = 20_000;

/// The largest batch, in calls: a batch of nothing at all still ends.
const MOST_CALLS: u32 = 1 << 16;

/// Something that is repeated.
pub trait Work {
    /// One call.
    fn once(&mut self);

    /// How many operations one call is; figures are per operation.
    fn operations(&self) -> u32 {
        1
    }

    /// Whether a call uses something up that has to be renewed before the next. Then every call is a sample.
    fn uses_up(&self) -> bool {
        false
    }

    /// Renews what the next call uses up; not timed.
    fn restock(&mut self) {}
}

/// A closure is one operation a call, and uses nothing up.
impl<F: FnMut()> Work for F {
    #[inline(always)]
    fn once(&mut self) {
        self();
    }
}

/// Spins until the clock shows `at`.
pub fn wait_until<C: Clock>(clock: C, at: Ticks) {
    while clock.now() < at {
        spin_loop();
    }
}

/// Repeats `work` from `window.warm` to `window.close` and records from `window.open` on. Returns how many operations
/// there were in all, warm-up included.
///
/// With `window.batch` 0 the batch is found first, within the warm-up or after it, and set in the recorder. At least
/// one sample is recorded even where a single call outlasts the window; where the last of them did so by more than a
/// hundredth of it, the recorder is told how long all took, since a rate is of that and not of the window.
///
/// Makes no system call and does not allocate, so it may run inside a micro-guest if `work` may.
#[inline]
pub fn repeat<C: Clock>(clock: C, window: &Window, recorder: &mut Recorder, work: &mut impl Work) -> u64 {
    wait_until(clock, window.warm);
    let group = work.operations().max(1);
    let mut done = 0;
    let calls = match window.batch {
        _ if work.uses_up() => 1,
        0 => settled_calls(clock, window, &mut done, work),
        batch => (batch / group).max(1),
    };
    recorder.set_batch(calls.saturating_mul(group));
    let mut first = None;
    loop {
        let (begun, ended) = sample(clock, calls, work, window.planted);
        done += u64::from(calls) * u64::from(group);
        if begun >= window.open {
            recorder.sample(ended.saturating_sub(begun));
            first.get_or_insert(begun);
        }
        if let Some(first) = first.filter(|_| ended >= window.close) {
            if ended - window.close > (window.close - window.open) / 100 {
                recorder.took(ended - first);
            }
            return done;
        }
    }
}

/// Takes `steps` multiplications one after the other: a delay whose length the clock does not determine. They stay in a register: what
/// went through memory took twice as long in some processes as in others, by how the processor passes on what was just stored.
#[inline(never)]
pub fn delay(steps: u32) {
    let mut x = black_box(3u64);
    for step in 0..steps {
        x = x.wrapping_mul(x) ^ u64::from(step);
    }
    black_box(x);
}

/// Plants a delay of so many steps behind what was done before. It begins when all of that has ended: a few
/// multiplications would run in the shadow of an operation that waits for memory, and nothing would be
/// planted.
#[inline(always)]
pub fn plant<C: Clock>(clock: C, steps: u32) {
    black_box(clock.open());
    delay(steps);
}

/// What a [planted](plant) delay takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlantCost {
    /// Ticks that one of no step takes.
    pub fixed: f64,
    /// Ticks that each step takes besides.
    pub per_step: f64,
}

/// Steps of one timing of [`PlantCost::measure`].
const STEPS: u32 = 10_000;

impl PlantCost {
    /// The shortest of 20 ms of timings.
    pub fn measure(clock: impl Clock) -> PlantCost {
        let timed = |steps: Option<u32>| {
            let from = clock.open();
            if let Some(steps) = steps {
                plant(clock, steps);
            }
            clock.close().saturating_sub(from) as f64
        };
        let begun = Instant::now();
        let [mut nothing, mut one, mut many] = [f64::INFINITY; 3];
        while begun.elapsed() < Duration::from_millis(20) {
            nothing = nothing.min(timed(None));
            one = one.min(timed(Some(1)));
            many = many.min(timed(Some(STEPS)));
        }
        let per_step = ((many - one) / f64::from(STEPS - 1)).max(f64::MIN_POSITIVE);
        PlantCost { fixed: (one - nothing - per_step).max(0.0), per_step }
    }
}

/// Ticks that one step of [`delay`] takes.
pub fn ticks_per_step(clock: impl Clock) -> f64 {
    PlantCost::measure(clock).per_step
}

/// So many calls between two stamps, and a planted delay after them.
#[inline(always)]
fn sample<C: Clock>(clock: C, calls: u32, work: &mut impl Work, planted: u32) -> (Ticks, Ticks) {
    if work.uses_up() {
        work.restock();
    }
    let begun = clock.open();
    for _ in 0..calls {
        work.once();
        // Costs no instruction, but the compiler has to assume that it reads and writes memory: operations are not
        // merged with each other, and an empty loop is not deleted (a compiler fence does not prevent that).
        black_box(());
    }
    if planted > 0 {
        plant(clock, planted);
    }
    (begun, clock.close())
}

/// Finds the calls again and again until the window opens: what work costs at first (a full generator, a cold cache) may
/// not be what it costs for long. The last finding counts.
fn settled_calls<C: Clock>(clock: C, window: &Window, done: &mut u64, work: &mut impl Work) -> u32 {
    loop {
        let calls = find_calls(clock, done, work);
        if clock.now() >= window.open {
            return calls;
        }
    }
}

/// Doubles the calls until they are long enough to measure, then scales them to [`SAMPLE_TICKS`]. The shortest of three
/// tries counts, so that an interruption does not make the batch too small.
fn find_calls<C: Clock>(clock: C, done: &mut u64, work: &mut impl Work) -> u32 {
    let group = u64::from(work.operations().max(1));
    let mut calls = 1u32;
    loop {
        let mut shortest = Ticks::MAX;
        for _ in 0..3 {
            let (begun, ended) = sample(clock, calls, work, 0);
            shortest = shortest.min(ended.saturating_sub(begun));
            *done += u64::from(calls) * group;
        }
        if calls == 1 && shortest >= STAMP_FROM_TICKS {
            return 1;
        }
        if shortest >= SAMPLE_TICKS / 4 || calls >= MOST_CALLS {
            let scaled = (u64::from(calls) * SAMPLE_TICKS).div_ceil(shortest.max(1));
            return u32::try_from(scaled).unwrap_or(MOST_CALLS).clamp(1, MOST_CALLS);
        }
        calls *= 2;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tollway_core::Spread;

    use super::*;

    thread_local! {
        static TIME: Cell<Ticks> = const { Cell::new(0) };
    }

    /// A clock that moves only when it is told to, and by one tick a plain reading.
    #[derive(Clone, Copy)]
    struct Told;

    fn advance(ticks: Ticks) {
        TIME.set(TIME.get() + ticks);
    }

    impl Clock for Told {
        fn now(&self) -> Ticks {
            advance(1);
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
    #[derive(Default)]
    struct Eight {
        perishable: bool,
        stocked: bool,
        calls: u64,
    }

    impl Work for Eight {
        fn once(&mut self) {
            assert_eq!(self.stocked, self.perishable);
            self.stocked = false;
            self.calls += 1;
            advance(80);
        }
        fn operations(&self) -> u32 {
            8
        }
        fn uses_up(&self) -> bool {
            self.perishable
        }
        fn restock(&mut self) {
            self.stocked = true;
            advance(1000);
        }
    }

    const WINDOW: Window = Window { warm: 10, open: 1_000_000, close: 3_000_000, batch: 0, planted: 0 };

    fn run(window: Window, mut work: impl Work) -> (Spread, u64) {
        TIME.set(0);
        let mut recorder = Recorder::new();
        let done = repeat(Told, &window, &mut recorder, &mut work);
        (recorder.spread(), done)
    }

    #[test]
    fn short_operations_are_batched_and_long_ones_stamped() {
        let (short, _) = run(WINDOW, || advance(20));
        assert_eq!((short.batch, short.mean()), (1000, Some(20.0)));
        let (long, _) = run(WINDOW, || advance(9_000));
        assert_eq!((long.batch, long.mean()), (1, Some(9_000.0)));
    }

    #[test]
    fn every_call_is_counted_and_only_those_in_the_window_recorded() {
        let calls = Cell::new(0);
        let window = Window { open: 50_000, close: 100_000, batch: 10, ..WINDOW };
        let (spread, done) = run(window, || {
            calls.set(calls.get() + 1);
            advance(50);
        });
        assert_eq!(done, calls.get());
        assert_eq!(spread.samples(), 100);
        assert!(spread.ops < done, "the warm-up must not be recorded");
    }

    #[test]
    fn an_operation_longer_than_the_window_is_recorded_once() {
        let window = Window { warm: 0, open: 0, close: 10, batch: 1, planted: 0 };
        let (spread, done) = run(window, || advance(1_000_000));
        assert_eq!((done, spread.samples()), (1, 1));
    }

    #[test]
    fn who_outlasts_the_window_says_how_long_all_took() {
        for (length, stretch) in [(1_000_000, Some(1_000_000)), (400, Some(1200)), (100, None)] {
            TIME.set(0);
            let mut recorder = Recorder::new();
            let window = Window { warm: 0, open: 0, close: 1000, batch: 1, planted: 0 };
            repeat(Told, &window, &mut recorder, &mut || advance(length));
            // Reading the clock once to wait for the warm-up took a tick.
            assert_eq!(recorder.stretch(), stretch, "{length}");
        }
    }

    #[test]
    fn the_figure_of_a_group_is_per_operation() {
        for batch in [0, 80] {
            let mut eight = Eight::default();
            TIME.set(0);
            let mut recorder = Recorder::new();
            let done = repeat(Told, &Window { batch, ..WINDOW }, &mut recorder, &mut eight);
            let spread = recorder.spread();
            assert_eq!((spread.mean(), done), (Some(10.0), 8 * eight.calls));
            assert_eq!(spread.batch, if batch == 0 { 2000 } else { 80 });
        }
    }

    #[test]
    fn restocking_comes_before_every_call_and_is_not_timed() {
        let (spread, _) = run(WINDOW, Eight { perishable: true, ..Eight::default() });
        assert_eq!((spread.mean(), spread.batch), (Some(10.0), 8));
    }

    #[test]
    fn nothing_at_all_still_ends() {
        let ticking = Cell::new(0u64);
        let window = Window { open: 20, close: 30, ..WINDOW };
        let (spread, _) = run(window, || {
            ticking.set(ticking.get() + 1);
            if ticking.get().is_multiple_of(1 << 12) {
                advance(1);
            }
        });
        assert_eq!(spread.batch, MOST_CALLS);
    }
}
