//! The one clock that all processes of a run count by.

use std::sync::OnceLock;

use tollway_core::{Clock, Ticks};

use super::{MonotonicRaw, Tsc};

/// The clock of a run: the time-stamp counter where it is constant and never stops, else the kernel's.
///
/// Every process of a machine chooses the same one. The choice costs a stamp one well-predicted branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunClock {
    /// The time-stamp counter; ticks are cycles of it.
    Tsc,
    /// CLOCK_MONOTONIC_RAW; ticks are nanoseconds. Makes system calls where the vDSO cannot serve it, so it is of no
    /// use inside a micro-guest.
    MonotonicRaw,
}

impl RunClock {
    /// The clock of this machine. `TOLLWAY_CLOCK=monotonic` in the environment asks for the kernel's, which the
    /// agents of a run inherit.
    pub fn chosen() -> RunClock {
        static CHOSEN: OnceLock<RunClock> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let asked = std::env::var_os("TOLLWAY_CLOCK").is_some_and(|v| v == "monotonic");
            if asked || !tsc_is_invariant() { RunClock::MonotonicRaw } else { RunClock::Tsc }
        })
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

/// Whether the processor says that its counter ticks at one rate in all states (CPUID 8000_0007h, EDX bit 8: Intel SDM
/// volume 3B section 18.17.1; AMD APM volume 3 appendix E.4.6).
fn tsc_is_invariant() -> bool {
    raw_cpuid::CpuId::new().get_advanced_power_mgmt_info().is_some_and(|info| info.has_invariant_tsc())
}
