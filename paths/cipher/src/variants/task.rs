//! A task of a tenant: writes a text, has it encrypted by the card, reads what came of it, and holds that against what it must be.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use tollway_core::{Clock, Error, Lot, Recorder, Result, Ticks, Window};
use tollway_host::clock::RunClock;
use tollway_host::samplers::thread_time;
use tollway_load::{Flights, Places, Service, Starts, fly, wait_until};
use tollway_virtio::{Area, Span};

use super::demand::{Demand, Stream};
use super::guest::Ways;
use super::load::{Load, PATIENCE};
use super::mix::Sizes;
use super::switches::{Before, Switches};
use super::texts::Texts;
use crate::engine::driver::{DataQueue, Handle, Looks, Operation, Waiting};
use crate::engine::protocol::Status;

/// A task, ready to run.
pub(super) struct Task {
    load: Load,
    queue: DataQueue,
    area: Area,
    session: Option<Handle>,
    /// Out of the micro-guest that it lives in.
    ways: Option<Ways>,
    /// Of each size.
    texts: Arc<[Texts]>,
    sizes: Sizes,
    /// Where its buffers begin.
    at: usize,
    stream: Option<Stream>,
    places: Places,
    /// Which text is in each place, and of which size.
    turns: Vec<bool>,
    kinds: Vec<usize>,
    /// How many requests of each size were done.
    by_size: Vec<u64>,
    /// What came back, to be read.
    result: Vec<u8>,
    /// Taken in a wait, and not given out yet.
    found: Option<usize>,
    /// Whether something was submitted that the card does not see yet.
    unseen: bool,
    /// In a micro-guest, how long it looks before it idles, in ticks.
    spin: u64,
    /// When it begins nothing more: from then on it does not count on being told, as of the last ones it may not be.
    ends: Ticks,
    hz: f64,
    clock: RunClock,
    counts: Counts,
    failed: Option<Error>,
}

/// How long it sleeps at most once it begins nothing more.
const LAST: Duration = Duration::from_millis(1);

/// What stands at the end of a result that is not there yet.
const WIPED: [u8; 16] = [0; 16];

/// What a task counted, warm-up included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) flights: Flights,
    /// Kicks that went out to a card that slept; in a micro-guest each is an exit.
    pub(super) kicks: u64,
    pub(super) looks: Looks,
    /// Completions whose status or bytes were not what they had to be.
    pub(super) wrong: u64,
    /// Bytes of the requests that were done.
    pub(super) bytes: u64,
    /// Requests that were recorded, and the ticks that these took together.
    pub(super) recorded: (u64, Ticks),
    /// Processor time of its thread, in ticks.
    pub(super) work: u64,
    /// Context switches of its thread; unknown of a micro-guest, inside of which nobody can ask.
    pub(super) switches: Option<Switches>,
}

impl Counts {
    /// Its sleeps, but for those that were over before its thread had left the processor; of a micro-guest all.
    pub(super) fn asleep(&self) -> u64 {
        let sleeps = self.looks.sleeps;
        self.switches.map_or(sleeps, |switches| switches.waited.min(sleeps))
    }
}

/// Bytes of memory that a task needs for its buffers.
pub(super) fn room(load: &Load) -> usize {
    load.places() * slot(load)
}

/// Bytes of a place: source and result, each with cache lines of its own.
fn slot(load: &Load) -> usize {
    load.size.next_multiple_of(64) + load.result().next_multiple_of(64)
}

impl Task {
    /// One that has that queue, and the memory from `at` on. `texts` are those of the demand; of `lot` and its number it draws.
    pub(super) fn new(
        demand: &Demand,
        texts: Arc<[Texts]>,
        (number, queue): (usize, DataQueue),
        at: usize,
        hz: f64,
        lot: Lot,
    ) -> Task {
        let spin = match queue.waiting() {
            Waiting::Hybrid(spin) => (spin.as_secs_f64() * hz) as u64,
            _ => 0,
        };
        let load = demand.load;
        let (stream, sizes) = demand.task(hz, lot, number as u32);
        let places = load.places();
        let area = queue.area().clone();
        let task = Task {
            area,
            queue,
            session: None,
            ways: None,
            spin,
            by_size: vec![0; texts.len()],
            texts,
            sizes,
            at,
            stream,
            places: Places::new(places),
            turns: vec![false; places],
            kinds: vec![0; places],
            result: vec![0; load.result()],
            found: None,
            unseen: false,
            ends: Ticks::MAX,
            hz,
            clock: RunClock::chosen(),
            counts: Counts::default(),
            failed: None,
            load,
        };
        for place in 0..places {
            task.write(place);
        }
        task
    }

    /// It will run in a micro-guest, and has these ways out.
    pub(super) fn inside(&mut self, ways: Ways) {
        self.ways = Some(ways);
    }

    /// By which session its requests are.
    pub(super) fn has(&mut self, session: Handle) {
        self.session = Some(session);
    }

    /// Runs in the window. In a micro-guest it makes no system call, and neither allocates nor frees.
    ///
    /// # Errors
    /// If the card is gone, or keeps to no protocol.
    pub(super) fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let clock = self.clock;
        let mut stream = self.stream.take();
        let mut places = std::mem::take(&mut self.places);
        if self.ways.is_none() {
            // It is to be in time; a thread's sleep may be 50 µs late by itself (prctl(2), PR_SET_TIMERSLACK).
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        }
        self.ends = window.close;
        wait_until(clock, window.warm);
        let before = self.ways.is_none().then(Before::now);
        let begun = self.processor_time();
        let starts = match &mut stream {
            Some(stream) => Starts::Open(stream),
            None => Starts::Closed,
        };
        let flights = fly(clock, window, recorder, &mut places, starts, self);
        let spent = self.processor_time().saturating_sub(begun);
        self.counts.switches = before.and_then(|before| before.since());
        // Kept: they are freed outside.
        (self.stream, self.places) = (stream, places);
        self.counts.work = (spent.as_secs_f64() * self.hz) as u64;
        self.counts.flights = flights;
        self.counts.recorded = recorder.total();
        self.counts.looks = self.queue.looks();
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// How many requests of each size were done.
    pub(super) fn by_size(&self) -> &[u64] {
        &self.by_size
    }

    /// What it counted.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    fn processor_time(&self) -> Duration {
        self.ways.map_or_else(thread_time::thread, |ways| ways.processor_time())
    }

    fn source(&self, place: usize) -> usize {
        self.at + place * slot(&self.load)
    }

    fn target(&self, place: usize) -> usize {
        self.source(place) + self.load.size.next_multiple_of(64)
    }

    fn write(&self, place: usize) {
        self.area.write(
            self.source(place),
            &self.texts[self.kinds[place]].sources[usize::from(self.turns[place])],
        );
    }

    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }

    /// Takes in a completion.
    fn read(&mut self, completion: crate::engine::driver::Completion) -> usize {
        let place = completion.token as usize % self.turns.len();
        let (at, kind) = (self.target(place), self.kinds[place]);
        let texts = &self.texts[kind];
        let right = &texts.results[usize::from(self.turns[place])];
        let result = &mut self.result[..right.len()];
        self.area.read(at, result);
        let whole = completion.status == Status::Ok && completion.bytes as usize == right.len();
        self.counts.wrong += u64::from(!whole || *result != **right);
        self.counts.bytes += texts.sources[0].len() as u64;
        self.by_size[kind] += 1;
        if self.load.planted > 0 {
            wait_until(self.clock, self.clock.now() + self.load.planted);
        }
        place
    }

    /// Has the card see what was submitted.
    #[inline]
    pub(super) fn show(&mut self) {
        if std::mem::take(&mut self.unseen) {
            let kicked = match self.ways {
                None => self.queue.kick(),
                Some(ways) => {
                    self.queue.wants_kick() && {
                        ways.ring();
                        true
                    }
                }
            };
            self.counts.kicks += u64::from(kicked);
        }
    }
}

impl Service for Task {
    fn send(&mut self, place: usize) {
        let Some(session) = self.session else {
            return self.fail(Error::Wrong("a task was told of no session".into()));
        };
        self.turns[place] = !self.turns[place];
        self.kinds[place] = self.sizes.draw();
        self.write(place);
        let texts = &self.texts[self.kinds[place]];
        let source = [Span { at: self.source(place), bytes: texts.sources[0].len() as u32 }];
        let result = [Span { at: self.target(place), bytes: texts.results[0].len() as u32 }];
        if self.texts.len() > 1 {
            // A shorter one may have been here last, and this very text before it.
            let end = self.target(place) + texts.results[0].len();
            self.area.write(end - WIPED.len(), &WIPED);
        }
        let operation = Operation::new(session, self.load.named.work, self.load.iv(), &source, &result);
        match self.queue.submit(place as u64, &operation) {
            Ok(true) => self.unseen = true,
            Ok(false) => self.fail(Error::Wrong("a queue with a free place takes no request".into())),
            Err(error) => self.fail(error),
        }
    }

    fn take(&mut self) -> Option<usize> {
        self.show();
        if let Some(place) = self.found.take() {
            return Some(place);
        }
        match self.queue.take() {
            Ok(found) => found.map(|completion| self.read(completion)),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    fn rest(&mut self, until: Ticks) {
        let (clock, now) = (self.clock, self.clock.now());
        let waited = match self.ways {
            None => {
                let left = until.saturating_sub(now) as f64 / self.hz;
                let most = if now < self.ends { PATIENCE } else { LAST };
                self.queue.wait(Duration::try_from_secs_f64(left).unwrap_or(PATIENCE).min(most))
            }
            Some(ways) => self.queue.wait_idle(|| clock.now() >= now + self.spin, || ways.idle()),
        };
        match waited {
            Ok(found) => self.found = found.map(|completion| self.read(completion)),
            Err(error) => self.fail(error),
        }
    }

    fn is_over(&self) -> bool {
        self.failed.is_some()
    }
}
