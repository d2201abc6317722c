//! Context switches of a thread, as the kernel counts them when it takes its processor away: because the thread waits, or because
//! another displaces it. What a driver counts as sleeps need not be switches: of one that is over before it begins there is none.

use tollway_core::Tally;
use tollway_host::samplers::usage::{Usage, delta};

/// Before what is counted.
pub(super) struct Before(Option<Usage>);

/// What was counted of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Switches {
    pub(super) waited: u64,
    displaced: u64,
}

impl Before {
    pub(super) fn now() -> Before {
        Before(Usage::read().ok())
    }

    /// Of the calling thread, which is the one of then; `None` where the kernel does not tell.
    pub(super) fn since(&self) -> Option<Switches> {
        let counted = delta(self.0.as_ref()?, &Usage::read().ok()?);
        Some(Switches { waited: counted.voluntary?, displaced: counted.involuntary? })
    }
}

/// With those of all threads of `whose`, if each is known.
pub(super) fn counted(tally: Tally, whose: &str, all: impl Iterator<Item = Option<Switches>>) -> Tally {
    let sum = |sum: Switches, more: Switches| Switches {
        waited: sum.waited + more.waited,
        displaced: sum.displaced + more.displaced,
    };
    match all.collect::<Option<Vec<_>>>() {
        None => tally,
        Some(all) => {
            let Switches { waited, displaced } = all.into_iter().fold(Switches::default(), sum);
            tally
                .counter(format!("{whose}_switches_waiting"), waited)
                .counter(format!("{whose}_switches_displaced"), displaced)
        }
    }
}
