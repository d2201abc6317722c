//! What a lab tells whoever is watching, as it happens.

use tollway_core::{Error, Missing};
use tollway_host::steadiness::Steadiness;

/// Takes notice of what happens in a run. Every method has a default that ignores it.
pub trait Progress {
    /// Whether the machine is steady, before anything is played.
    fn checked(&mut self, _found: &Steadiness) {}
    /// So many trials are to be played, pilots included; `seconds` is how long that should take.
    fn planned(&mut self, _trials: u64, _seconds: f64) {}
    /// The pilots are over, and have told what a trial takes here: so many more trials are to be played, which takes `seconds`; `all` is how long the
    /// whole run takes, and `asked` how long it was to take.
    fn reckoned(&mut self, _trials: u64, _seconds: f64, _all: f64, _asked: Option<f64>) {}
    /// A trial of this point begins; of a run of several paths its path stands before it.
    fn playing(&mut self, _title: &str) {}
    /// A trial is over; it is in the store.
    fn played(&mut self) {}
    /// A point is known exactly enough; `trials` fewer than planned are to be played.
    fn narrow(&mut self, _title: &str, _trials: u64) {}
    /// A path, or the whole run where it is `None`, has used up the `seconds` that it may take: its points have the first of these blocks instead
    /// of the second, `trials` fewer.
    fn cut(&mut self, _path: Option<&str>, _seconds: f64, _blocks: (u32, u32), _trials: u64) {}
    /// So many more trials are played, of headlines that are not known exactly enough.
    fn more(&mut self, _trials: u64) {}
    /// A point cannot run here; `trials` fewer than planned are to be played.
    fn skipped(&mut self, _title: &str, _missing: &Missing, _trials: u64) {}
    /// A point failed; the run goes on without it, and `trials` fewer are to be played.
    fn failed(&mut self, _title: &str, _error: &Error, _trials: u64) {}
    /// The next stage of the run begins.
    fn stage(&mut self, _name: &str) {}
}

/// Watches nothing.
#[derive(Debug)]
pub struct Unwatched;

impl Progress for Unwatched {}
