//! What the receiving end records of what arrives, one after the other.

use tollway_core::{Clock, Recorder, Ticks, Window};
use tollway_host::clock::RunClock;

/// Records the time from one arrival to the next, of those that begin in the window.
pub(super) struct Arrivals<'a> {
    clock: RunClock,
    window: &'a Window,
    recorder: &'a mut Recorder,
    before: Ticks,
    last: Ticks,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new(window: &'a Window, recorder: &'a mut Recorder) -> Self {
        recorder.set_batch(1);
        Arrivals { clock: RunClock::chosen(), window, recorder, before: window.warm, last: 0 }
    }

    /// Another one.
    #[inline]
    pub(super) fn another(&mut self) {
        let now = self.clock.now();
        self.last = now.saturating_sub(self.before);
        if (self.window.open..self.window.close).contains(&self.before) {
            self.recorder.sample(self.last);
        }
        self.before = now;
    }

    /// No more. Where none began in the window, which was shorter than from one to the next, the last one counts.
    pub(super) fn done(self) {
        if self.recorder.total().0 == 0 && self.last > 0 {
            self.recorder.sample(self.last);
            self.recorder.took(self.last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_begins_in_the_window_counts_but_something_does() {
        let now = RunClock::chosen().now();
        let past = Window { warm: now - 30, open: now - 20, close: now - 10, batch: 0, planted: 0 };
        let around = Window { open: now, close: now + (1 << 40), ..past };
        for (window, wanted) in [(past, 1), (around, 2)] {
            let mut recorder = Recorder::new();
            let mut arrivals = Arrivals::new(&window, &mut recorder);
            (0..3).for_each(|_| arrivals.another());
            arrivals.done();
            assert_eq!(recorder.total().0, wanted);
            assert_eq!(recorder.stretch().is_some(), wanted == 1);
        }
    }
}
