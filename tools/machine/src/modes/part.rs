//! What is told of runs that are parts of one command: their shares of the time are nobody's who gave it for the whole.

use tollway_core::{Error, Missing};
use tollway_lab::progress::Progress;

/// Tells all but how the time of a part compares with what it was to take.
pub(super) struct OfTheWhole<'a>(pub(super) &'a mut dyn Progress);

impl Progress for OfTheWhole<'_> {
    fn planned(&mut self, trials: u64, seconds: f64) {
        self.0.planned(trials, seconds);
    }

    fn reckoned(&mut self, trials: u64, seconds: f64, all: f64, _: Option<f64>) {
        self.0.reckoned(trials, seconds, all, None);
    }

    fn playing(&mut self, title: &str) {
        self.0.playing(title);
    }

    fn played(&mut self) {
        self.0.played();
    }

    fn narrow(&mut self, title: &str, trials: u64) {
        self.0.narrow(title, trials);
    }

    fn skipped(&mut self, title: &str, missing: &Missing, trials: u64) {
        self.0.skipped(title, missing, trials);
    }

    fn failed(&mut self, title: &str, error: &Error, trials: u64) {
        self.0.failed(title, error, trials);
    }

    fn stage(&mut self, name: &str) {
        self.0.stage(name);
    }
}
