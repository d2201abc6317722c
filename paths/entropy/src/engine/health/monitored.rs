//! A source that gives nothing unless it has just shown that it works.

use std::time::{Duration, Instant};

use tollway_core::Error as Refused;
use zeroize::Zeroize;

use super::clocked::Clocked;
use super::self_test::{Outcome, unhealthy};
use super::{Alarms, Continuous, Health, Limits, SelfTest, State, Test, Watch};
use crate::engine::source::{Claim, Counts, Error, Source};

/// How a source is watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// A good source raises an alarm with probability 2^-this, a sample and test ([`Limits`]).
    pub bits: f64,
    /// Fewer bytes a second, while it is being drawn from, are an alarm: also while it is being waited for
    /// ([`Watch::health`]).
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

/// A source under all health tests. Before its first byte the start-up test is passed; once an alarm has been raised, nothing is
/// given, neither of the block in which it was nor of any other, until [`Monitored::recover`], or the first draw after
/// the hold-off, has passed the start-up test again.
///
/// What was given before an alarm is not called back: a source that begins to repeat itself is found within the next
/// 8224 bytes, one that is stuck within a few.
pub struct Monitored<S> {
    source: Clocked<S>,
    settings: Settings,
    limits: Limits,
    tests: Continuous,
    watch: Watch,
    phase: Phase,
    /// The next wait.
    hold_off: Duration,
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
        let watch = Watch::default();
        Ok(Monitored {
            tests: Continuous::new(&limits),
            source: Clocked::new(source, &settings, watch.clone()),
            watch,
            hold_off: settings.hold_off,
            phase: Phase::Starting,
            settings,
            limits,
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
        self.source.reset();
        let Outcome { bytes, alarms, passed } = test.run(&mut self.source, &mut self.tests);
        self.watch.change(|health| {
            health.alarms += alarms;
            health.tested += bytes as u64;
        });
        if let Err(error) = passed {
            return Err(self.fail_by(error, alarms));
        }
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
        if let Err(error) = self.source.fill(into) {
            return Err(self.fail_by(error, Alarms::default()));
        }
        let alarms = self.tests.feed(into);
        self.watch.change(|health| {
            health.tested += into.len() as u64;
            health.alarms += alarms;
        });
        if let Some(test) = alarms.first() {
            return Err(self.fail(test, test.finding(&self.limits)));
        }
        Ok(())
    }

    /// It failed with the source's own error, or with that of an alarm, which has been counted.
    fn fail_by(&mut self, error: Error, alarms: Alarms) -> Error {
        let Some(test) = alarms.first() else {
            if let Some(detail) = self.source.slow.take() {
                self.watch.change(|health| health.alarms.raise(Test::Rate));
                return self.fail(Test::Rate, detail);
            }
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

    fn watch(&self) -> Option<Watch> {
        Some(self.watch.clone())
    }
}
