//! A core, from which the machine takes time now and then: ticks, interrupts, a hypervisor's other guests.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::taken::Interruptions;
use super::taken::replay::Replay;

/// A core that somebody's thread has.
pub(super) struct Core<'p> {
    what: &'p Interruptions,
    /// Of its own: what is taken does not hang on what else is drawn.
    random: StdRng,
    long: Replay<'p>,
    /// When the next interruption, or the one under way, begins and ends.
    begins: f64,
    ends: f64,
    /// Nanoseconds of work.
    pub(super) busy: f64,
}

impl<'p> Core<'p> {
    /// The first or the second of those that were watched at once; both are given the same seed.
    pub(super) fn new(what: &'p Interruptions, which: usize, seed: u64) -> Core<'p> {
        let long = Replay::new(&what.windows, which, seed);
        let random = StdRng::seed_from_u64(seed ^ (0xc04e + which as u64));
        let mut core = Core { what, random, long, begins: 0.0, ends: 0.0, busy: 0.0 };
        core.next(0.0);
        core
    }

    fn next(&mut self, from: f64) {
        let short = match self.what.rate > 0.0 {
            true => from - (1.0 - self.random.random::<f64>()).ln() * 1e9 / self.what.rate,
            false => f64::INFINITY,
        };
        // What is short comes without memory: if something long is first, it is drawn anew afterwards.
        (self.begins, self.ends) = match self.long.until(short) {
            Some((begins, long)) => (begins.max(from), begins.max(from) + long),
            None => (short, short + self.what.lengths.draw(&mut self.random)),
        };
    }

    /// The first moment from `now` on at which a thread of it runs that never sleeps.
    pub(super) fn free(&mut self, now: f64) -> f64 {
        while self.ends <= now {
            self.next(self.ends);
        }
        if self.begins <= now { self.ends } else { now }
    }

    /// When work ends that begins at `now` and takes so long.
    pub(super) fn work(&mut self, now: f64, long: f64) -> f64 {
        let begun = self.free(now);
        let mut end = begun + long;
        while self.ends <= begun {
            self.next(self.ends);
        }
        while self.begins < end {
            end += self.ends - self.begins;
            self.next(self.ends);
        }
        self.busy += end - now;
        end
    }
}
