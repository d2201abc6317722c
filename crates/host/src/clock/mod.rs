//! The clocks that a run can count by, and what is known of them.
//!
//! Hot loops are generic over [`tollway_core::Clock`]; all processes of a run count by [`RunClock::chosen`].
//! [`examine`] adds everything a result has to state about its clock.

mod calibration;
mod invariance;
mod monotonic;
mod overhead;
mod run;
mod synchrony;
mod tsc;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tollway_core::{Error, Missing, Result};

pub use calibration::{Announced, Calibration, announced, calibrate, calibrate_over};
pub use invariance::Invariance;
pub use monotonic::MonotonicRaw;
pub use overhead::{Overhead, overhead, tsc_overhead};
pub use run::RunClock;
pub use synchrony::{Synchrony, synchrony};
pub use tsc::{Tsc, read_with_cpu};

use crate::cpu::allowed_cpus;
use crate::samplers::perf;

/// Ticks per second of [`RunClock::chosen`]. Calibrated at the first call in a process (10 ms), then remembered.
///
/// # Errors
/// [`Error::System`] if the counter that was chosen stands still, which no machine's should.
pub fn hz() -> Result<f64> {
    static HZ: OnceLock<f64> = OnceLock::new();
    let hz = *HZ.get_or_init(|| match RunClock::chosen() {
        RunClock::Tsc => calibrate().hz,
        RunClock::MonotonicRaw => 1e9,
    });
    if hz > 0.0 { Ok(hz) } else { Err(Error::system("calibrating the clock", "it stands still")) }
}

/// Everything a result states about its clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockReport {
    /// The clock that was chosen.
    pub kind: RunClock,
    /// Why it is not the TSC, if it is not.
    pub not_tsc: Option<Missing>,
    /// Its rate; exactly 1e9 for the kernel's clock.
    pub calibration: Calibration,
    /// What CPUID announces of the TSC's rate.
    pub announced: Vec<Announced>,
    /// What is known of the TSC's constancy.
    pub invariance: Invariance,
    /// What reading it costs.
    pub overhead: Overhead,
    /// The TSC on the first two allowed processors; `None` where there are not two or they could not be compared.
    pub synchrony: Option<Synchrony>,
    /// Core cycles per tick of the TSC in a busy loop; `None` (unknown) where there is no hardware counter.
    pub core_cycles_per_tick: Option<f64>,
}

/// Chooses a clock and measures it. Takes about 60 ms.
pub fn examine() -> ClockReport {
    let invariance = Invariance::read();
    let kind = RunClock::chosen();
    let (calibration, overhead) = match kind {
        RunClock::Tsc => (calibrate(), tsc_overhead()),
        RunClock::MonotonicRaw => {
            (Calibration { hz: 1e9, lo: 1e9, hi: 1e9 }, overhead::overhead(MonotonicRaw))
        }
    };
    let synchrony = match allowed_cpus().unwrap_or_default()[..] {
        [first, second, ..] => synchrony(first, second).ok(),
        _ => None,
    };
    ClockReport {
        kind,
        not_tsc: invariance.usable().err(),
        calibration,
        announced: announced(),
        invariance,
        overhead,
        synchrony,
        core_cycles_per_tick: perf::core_cycles_per_tick().ok(),
    }
}
