//! The one clock that all processes of a run count by.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tollway_core::{Clock, Ticks};

use super::{Invariance, MonotonicRaw, Tsc};

/// The clock of a run: the time-stamp counter where it is constant and never stops, else the kernel's.
///
/// Every process of a machine chooses the same one. The choice costs a stamp one well-predicted branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunClock {
    /// The time-stamp counter; ticks are cycles of it.
    Tsc,
    /// CLOCK_MONOTONIC_RAW; ticks are nanoseconds. Makes system calls where the vDSO cannot serve it, so it is of no
    /// use inside a micro-guest.
    MonotonicRaw,
}

impl RunClock {
    /// The clock of this machine. `TOLLWAY_CLOCK=monotonic` in the environment asks for the kernel's, which the
    /// agents of a run inherit; `TOLLWAY_CLOCK=tsc` for the counter whatever is announced of it, in a Linux guest
    /// whose hypervisor passes the host's counter through but not the announcement.
    pub fn chosen() -> RunClock {
        static CHOSEN: OnceLock<RunClock> = OnceLock::new();
        *CHOSEN.get_or_init(|| match std::env::var("TOLLWAY_CLOCK").as_deref() {
            Ok("monotonic") => RunClock::MonotonicRaw,
            Ok("tsc") => RunClock::Tsc,
            _ if Invariance::read().usable().is_err() => RunClock::MonotonicRaw,
            _ => RunClock::Tsc,
        })
    }

    /// What `TOLLWAY_CLOCK` has to say so that another process counts by this clock.
    pub fn name(self) -> &'static str {
        match self {
            RunClock::Tsc => "tsc",
            RunClock::MonotonicRaw => "monotonic",
        }
    }
}

impl Clock for RunClock {
    #[inline(always)]
    fn now(&self) -> Ticks {
        match self {
            RunClock::Tsc => Tsc.now(),
            RunClock::MonotonicRaw => MonotonicRaw.now(),
        }
    }

    #[inline(always)]
    fn open(&self) -> Ticks {
        match self {
            RunClock::Tsc => Tsc.open(),
            RunClock::MonotonicRaw => MonotonicRaw.open(),
        }
    }

    #[inline(always)]
    fn close(&self) -> Ticks {
        match self {
            RunClock::Tsc => Tsc.close(),
            RunClock::MonotonicRaw => MonotonicRaw.close(),
        }
    }
}
