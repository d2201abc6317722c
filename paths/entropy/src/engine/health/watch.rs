//! How a source is, for others to see while it is in use, also while it keeps somebody waiting.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Alarms, Test};

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

/// Bytes that are being waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// So many.
    pub bytes: usize,
    /// Since then.
    pub since: Instant,
    /// Fewer bytes a second, over that long, are an alarm.
    pub least: f64,
    pub over: Duration,
}

impl Wait {
    /// Why it is too long already: even if all came now, it would be too late.
    fn too_long(&self) -> Option<String> {
        let (bytes, waited, least) = (self.bytes, self.since.elapsed(), self.least);
        let seconds = waited.as_secs_f64();
        (waited >= self.over && bytes as f64 / seconds < least).then(|| {
            format!("{bytes} bytes have not come in {seconds:.1} s, and {least} a second are the least")
        })
    }
}

/// Lets others see how a source is while it is in use.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<(Health, Option<Wait>)>>);

impl Watch {
    /// As of now: a source that is being waited for longer than its least rate allows has failed, and the alarm that it will
    /// raise is counted.
    pub fn health(&self) -> Health {
        let (mut health, wait) = self.with(|both| both.clone());
        if let Some(detail) = wait.and_then(|wait| wait.too_long()) {
            health.alarms.raise(Test::Rate);
            health.state = State::Failed { test: Test::Rate, detail };
        }
        health
    }

    /// Why it is being waited for too long, just now.
    pub fn stalled(&self) -> Option<String> {
        self.with(|(_, wait)| *wait).and_then(|wait| wait.too_long())
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Health)) {
        self.with(|(health, _)| change(health));
    }

    pub(super) fn waits(&self, wait: Option<Wait>) {
        self.with(|(_, old)| *old = wait);
    }

    fn with<R>(&self, action: impl FnOnce(&mut (Health, Option<Wait>)) -> R) -> R {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
