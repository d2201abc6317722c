//! The timing of requests: stretches of many, whose time is shared out among them, and the latency of some.
//!
//! With several requests on their way each waits for others, so what one costs is the time of a stretch by the requests that were done in it: the
//! reciprocal of the throughput. A sample is such a stretch. The latency of each sixteenth request is kept apart, as a stage.

use tollway_core::{Clock, Recorder, Spread, Tally, Ticks, Window};
use tollway_host::clock::RunClock;
use tollway_load::delay;

use crate::engine::ping_pong;

/// Of so many requests the latency of one is kept: a reading of the clock at both of its ends would be a tenth of what a message costs.
const TIMED: u32 = 16;

/// How long a stretch is to be, in ticks, where that is found out here: long enough that two switches of an end are no accident in it.
const STRETCH: Ticks = 500_000;

/// The most requests of a stretch.
const MOST: u64 = 1 << 16;

/// The course of a trial.
pub(super) struct Course<'r> {
    clock: RunClock,
    window: Window,
    recorder: &'r mut Recorder,
    latencies: Recorder,
    /// Of so many that are on their way this one counts one: the others tell how many they have done.
    fellows: u64,
    /// Requests of a stretch; before it is known, those after which the clock is looked at.
    batch: u64,
    /// Of this one, until the end of the stretch.
    left: u64,
    /// Until one is timed.
    untimed: u32,
    stage: Stage,
    recorded: bool,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Not recorded yet: when it began, and how many were done then.
    Warm(Ticks, u64),
    /// A stretch: when it began, and how many were done then.
    Open(Ticks, u64),
}

impl<'r> Course<'r> {
    /// Of that window; `requests` are always on their way, of which its owner has one in `fellows`.
    pub(super) fn new(
        clock: RunClock,
        window: &Window,
        recorder: &'r mut Recorder,
        requests: usize,
        fellows: usize,
    ) -> Course<'r> {
        let (requests, fellows) = (requests.max(1) as u64, fellows.max(1) as u64);
        let batch = if window.batch == 0 { requests.max(16) } else { window.batch.into() };
        let mut course = Course {
            clock,
            window: *window,
            recorder,
            latencies: Recorder::new(),
            fellows,
            batch,
            left: 0,
            untimed: 1,
            stage: Stage::Warm(clock.now(), 0),
            recorded: false,
        };
        course.renew();
        course
    }

    fn renew(&mut self) {
        self.left = (self.batch / self.fellows).max(1);
    }

    /// The latency of those that were timed.
    pub(super) fn latencies(&self) -> &Recorder {
        &self.latencies
    }

    #[inline(never)]
    fn turns(&mut self, done: u64) -> bool {
        if self.window.planted > 0 && self.recorded {
            delay(self.window.planted);
        }
        let now = self.clock.now();
        match self.stage {
            Stage::Warm(..) if now < self.window.open => {}
            Stage::Warm(since, before) => {
                if self.window.batch == 0 {
                    let (rate, all) = ((done - before) as f64 / (now - since).max(1) as f64, self.batch);
                    self.batch = ((rate * STRETCH as f64) as u64).clamp(all, MOST.max(all));
                }
                self.stage = Stage::Open(now, done);
            }
            Stage::Open(since, before) => {
                self.recorder.set_batch(u32::try_from(done - before).unwrap_or(u32::MAX));
                self.recorder.sample(now.saturating_sub(since));
                self.recorded = true;
                self.stage = Stage::Open(now, done);
            }
        }
        self.renew();
        now < self.window.close || !self.recorded
    }
}

impl ping_pong::Course for Course<'_> {
    #[inline]
    fn begins(&mut self) -> Option<Ticks> {
        self.untimed -= 1;
        (self.untimed == 0).then(|| {
            self.untimed = TIMED;
            self.clock.now()
        })
    }

    #[inline]
    fn came(&mut self, began: Option<Ticks>, done: impl FnOnce() -> u64) -> bool {
        if let Some(began) = began
            && began >= self.window.open
        {
            self.latencies.sample(self.clock.now().saturating_sub(began));
        }
        self.left -= 1;
        self.left > 0 || self.turns(done())
    }
}

/// With the latencies as that stage, if any was timed.
pub(super) fn timed(tally: Tally, stage: &str, latencies: &Spread) -> Tally {
    match latencies.ops {
        0 => tally,
        _ => tally.stage(stage, latencies.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ping_pong::Course as _;

    fn window(batch: u32) -> Window {
        let now = RunClock::chosen().now();
        Window { warm: now, open: now + 200_000, close: now + 4_000_000, batch, planted: 0 }
    }

    /// Every request is in a stretch but for those of the warm-up and of the stretch in which the window closed for good.
    #[test]
    fn stretches_share_their_time_among_requests() {
        for batch in [0, 1, 7, 500] {
            let window = window(batch);
            let mut recorder = Recorder::new();
            let mut course = Course::new(RunClock::chosen(), &window, &mut recorder, 4, 1);
            let mut done = 0;
            loop {
                let began = course.begins();
                delay(50);
                done += 1;
                if !course.came(began, || done) {
                    break;
                }
            }
            let timed = course.latencies().spread().ops;
            let spread = recorder.spread();
            assert!(spread.ops > 0 && spread.ops <= done, "{batch}: {} of {done}", spread.ops);
            assert!(timed <= done / u64::from(TIMED) + 1);
            assert!(batch == 0 || spread.ops.is_multiple_of(batch.into()), "{batch}: {}", spread.ops);
            assert_eq!(spread.samples() * u64::from(spread.batch), spread.ops);
        }
    }

    /// A fellow of four counts its own, and is told of the others.
    #[test]
    fn one_thread_speaks_for_all() {
        let window = window(40);
        let mut recorder = Recorder::new();
        let mut course = Course::new(RunClock::chosen(), &window, &mut recorder, 4, 4);
        let (mut own, mut all) = (0u64, 0);
        loop {
            let began = course.begins();
            delay(50);
            own += 1;
            all += 4;
            if !course.came(began, || all) {
                break;
            }
        }
        let spread = recorder.spread();
        assert!(own.is_multiple_of(10) && spread.ops.is_multiple_of(40) && spread.ops <= all);
    }

    #[test]
    fn who_is_late_records_one_stretch_all_the_same() {
        let now = RunClock::chosen().now();
        let window = Window { warm: now, open: now, close: now, batch: 5, planted: 0 };
        let mut recorder = Recorder::new();
        let mut course = Course::new(RunClock::chosen(), &window, &mut recorder, 1, 1);
        let mut done = 0;
        loop {
            let began = course.begins();
            done += 1;
            if !course.came(began, || done) {
                break;
            }
        }
        assert_eq!((done, recorder.spread().ops), (10, 5));
    }
}
