//! A source that gives nothing unless it has just shown that it works.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tollway_core::Error as Refused;
use zeroize::Zeroize;

use super::self_test::{Outcome, unhealthy};
use super::{Alarms, Continuous, Limits, SelfTest, Test};
use crate::engine::source::{Claim, Counts, Error, Source};

/// How a source is watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// A good source raises an alarm with probability 2^-this, a sample and test ([`Limits`]).
    pub bits: f64,
    /// Fewer bytes a second, while it is being drawn from, are an alarm.
    pub least_rate: Option<f64>,
    /// For so long it must have been drawn from before its rate is judged.
    pub rate_over: Duration,
    /// So long after an alarm the start-up test is tried again; twice as long after each alarm that follows, up to
    /// [`Settings::longest_hold_off`]. A source that has been healthy for that long begins anew.
    pub hold_off: Duration,
    /// The longest wait.
    pub longest_hold_off: Duration,
}

impl Default for Settings {
    /// 2^-64, no least rate, a second, and waits from one second to a minute.
    fn default() -> Self {
        Settings {
            bits: Limits::DEFAULT_BITS,
            least_rate: None,
            rate_over: Duration::from_secs(1),
            hold_off: Duration::from_secs(1),
            longest_hold_off: Duration::from_secs(60),
        }
    }
}

/// How a source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The start-up test has not been passed yet.
    Starting,
    /// It has, and nothing was found since.
    Healthy,
    /// It gives nothing until the start-up test has been passed again.
    Failed {
        /// Whose alarm it was.
        test: Test,
        /// What was found.
        detail: String,
    },
}

/// What is known of a source's health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// How it is.
    pub state: State,
    /// Bytes that went through the tests, those of start-up tests included.
    pub tested: u64,
    /// Alarms so far.
    pub alarms: Alarms,
    /// Start-up tests that were passed.
    pub started: u64,
}

impl Default for Health {
    /// Of a source that nothing was drawn from yet.
    fn default() -> Self {
        Health { state: State::Starting, tested: 0, alarms: Alarms::default(), started: 0 }
    }
}

/// Lets others see how a source is while it is in use.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Mutex<Health>>);

impl Watch {
    /// As of the last draw.
    pub fn health(&self) -> Health {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Health)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A source under all health tests. Before its first byte the start-up test is passed; once an alarm has been raised, nothing is
/// given, neither of the block in which it was nor of any other, until [`Monitored::recover`], or the first draw after
/// the hold-off, has passed the start-up test again.
///
/// What was given before an alarm is not called back: a source that begins to repeat itself is found within the next
/// 8224 bytes, one that is stuck within a few.
pub struct Monitored<S> {
    source: S,
    settings: Settings,
    limits: Limits,
    tests: Continuous,
    watch: Watch,
    phase: Phase,
    /// The next wait.
    hold_off: Duration,
    /// Since the rate was judged: bytes, and time spent drawing.
    drawn: u64,
    drawing: Duration,
}

/// What the next draw does.
enum Phase {
    /// The start-up test first.
    Starting,
    /// It has been healthy since then.
    Healthy(Instant),
    /// It fails, before that time.
    Failed { until: Instant, test: Test, detail: String },
}

impl<S: Source> Monitored<S> {
    /// `source`, held to what it claims; nothing is drawn yet.
    ///
    /// # Errors
    /// No test can be derived from its claim or the settings.
    pub fn new(source: S, settings: Settings) -> Result<Self, Refused> {
        let limits = Limits::new(source.claim().evenness, settings.bits)?;
        Ok(Monitored {
            tests: Continuous::new(&limits),
            watch: Watch(Arc::default()),
            hold_off: settings.hold_off,
            phase: Phase::Starting,
            source,
            settings,
            limits,
            drawn: 0,
            drawing: Duration::ZERO,
        })
    }

    /// The cut-offs.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// For others to see how it is.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// How it is.
    pub fn health(&self) -> Health {
        self.watch.health()
    }

    /// After how long the next draw tries the start-up test again; nothing where it has not failed.
    pub fn retry_in(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Failed { until, .. } => Some(until.saturating_duration_since(Instant::now())),
            Phase::Starting | Phase::Healthy(_) => None,
        }
    }

    /// Passes the start-up test now, however it was before: also what somebody asks for who wants to know.
    ///
    /// # Errors
    /// It did not, and has failed.
    pub fn recover(&mut self) -> Result<(), Error> {
        let test = SelfTest::start_up(&self.limits);
        let begun = Instant::now();
        (self.drawn, self.drawing) = (0, Duration::ZERO);
        let Outcome { bytes, alarms, passed } = test.run(&mut self.source, &mut self.tests);
        self.watch.change(|health| {
            health.alarms += alarms;
            health.tested += bytes as u64;
        });
        if let Err(error) = passed {
            return Err(self.fail_by(error, alarms));
        }
        self.judge_rate(bytes, begun.elapsed())?;
        let since = match self.phase {
            Phase::Healthy(since) => since,
            Phase::Starting | Phase::Failed { .. } => Instant::now(),
        };
        self.phase = Phase::Healthy(since);
        self.watch.change(|health| {
            health.started += 1;
            health.state = State::Healthy;
        });
        Ok(())
    }

    fn draw(&mut self, into: &mut [u8]) -> Result<(), Error> {
        match &self.phase {
            Phase::Healthy(_) => {}
            Phase::Failed { until, test, detail } if Instant::now() < *until => {
                return Err(unhealthy(self.source.name(), *test, detail.clone()));
            }
            Phase::Starting | Phase::Failed { .. } => self.recover()?,
        }
        let begun = self.settings.least_rate.map(|_| Instant::now());
        if let Err(error) = self.source.fill(into) {
            return Err(self.fail_by(error, Alarms::default()));
        }
        let drawing = begun.map(|begun| begun.elapsed());
        let alarms = self.tests.feed(into);
        self.watch.change(|health| {
            health.tested += into.len() as u64;
            health.alarms += alarms;
        });
        if let Some(test) = alarms.first() {
            return Err(self.fail(test, test.finding(&self.limits)));
        }
        drawing.map_or(Ok(()), |drawing| self.judge_rate(into.len(), drawing))
    }

    fn judge_rate(&mut self, bytes: usize, drawing: Duration) -> Result<(), Error> {
        let Some(least) = self.settings.least_rate else {
            return Ok(());
        };
        self.drawn += bytes as u64;
        self.drawing += drawing;
        if self.drawing < self.settings.rate_over {
            return Ok(());
        }
        let rate = self.drawn as f64 / self.drawing.as_secs_f64();
        (self.drawn, self.drawing) = (0, Duration::ZERO);
        if rate >= least {
            return Ok(());
        }
        self.watch.change(|health| health.alarms.raise(Test::Rate));
        Err(self.fail(Test::Rate, format!("it gave {rate:.1} bytes a second, and {least} are the least")))
    }

    /// It failed with the source's own error, or with that of an alarm, which has been counted.
    fn fail_by(&mut self, error: Error, alarms: Alarms) -> Error {
        let Some(test) = alarms.first() else {
            self.watch.change(|health| health.alarms.raise(Test::Supply));
            self.fail(Test::Supply, error.to_string());
            return error;
        };
        self.fail(test, test.finding(&self.limits))
    }

    fn fail(&mut self, test: Test, detail: String) -> Error {
        let now = Instant::now();
        let longest = self.settings.longest_hold_off;
        match self.phase {
            Phase::Healthy(since) if now - since >= longest => self.hold_off = self.settings.hold_off,
            _ => {}
        }
        let until = now + self.hold_off;
        self.hold_off = (2 * self.hold_off).min(longest);
        let error = unhealthy(self.source.name(), test, detail.clone());
        self.phase = Phase::Failed { until, test, detail: detail.clone() };
        self.watch.change(|health| health.state = State::Failed { test, detail });
        error
    }
}

impl<S: Source> Source for Monitored<S> {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        let outcome = self.draw(into);
        if outcome.is_err() {
            into.zeroize();
        }
        outcome
    }

    fn counts(&self) -> Counts {
        self.source.counts()
    }

    fn claim(&self) -> Claim {
        self.source.claim()
    }
}
