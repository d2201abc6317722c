//! How fast a processor runs at this moment, told by the time-stamp counter and by nothing that a virtual machine might
//! lack: a chain of multiplications, each of which needs the result of the one before it.
//!
//! * A 64-bit multiplication takes three core cycles from its operands to its result on Intel's processors since
//!   Nehalem and on AMD's since Zen (Fog, "Instruction tables", IMUL r64,r64), and no processor shortens the chain as
//!   some do additions. So ticks a step are three core cycles by the counter's clock: their ratio to another moment's is
//!   exact on any processor, and the frequency in hertz where a step takes these three.
//! * The least of several short stretches is taken: an interrupt, or a neighbour that takes the processor away, can
//!   make a stretch longer and none shorter. Half a core that another thread uses does not show: a chain leaves the
//!   multiplier idle two thirds of the time.
//! * It is of this moment. A processor that idled runs up to its frequency in some tens of microseconds to milliseconds.

use std::arch::asm;

use tollway_core::{Clock, Ticks};

/// Core cycles that a step takes.
pub const CYCLES_PER_STEP: f64 = 3.0;

/// Multiplications between two looks at the counter of the loop.
const UNROLLED: u32 = 16;

/// Rounds of a stretch: 2048 steps, so that a pair of stamps (about 54 ticks) is 1 % of it.
const ROUNDS: u32 = 128;

/// Stretches of which the least is taken: 10 µs together.
const STRETCHES: u32 = 4;

/// Ticks that a step takes on this processor, now. Takes about 10 µs; no memory is touched, no system call is made.
pub fn ticks_per_step<C: Clock>(clock: C) -> f64 {
    (0..STRETCHES).map(|_| stretch(clock)).min().map_or(f64::NAN, per_step)
}

/// Ticks of a stretch as ticks of a step.
pub(crate) fn per_step(stretch: Ticks) -> f64 {
    stretch as f64 / f64::from(UNROLLED * ROUNDS)
}

/// The ticks of one stretch.
#[inline]
pub(crate) fn stretch<C: Clock>(clock: C) -> Ticks {
    let opened = clock.open();
    multiply();
    clock.close().saturating_sub(opened)
}

/// The frequency in hertz at which a step takes so many ticks of a clock of `hz` ticks a second.
pub fn hertz(ticks_per_step: f64, hz: f64) -> f64 {
    CYCLES_PER_STEP * hz / ticks_per_step
}

/// `ROUNDS` times `UNROLLED` multiplications, one after the other.
#[inline(never)]
fn multiply() {
    // SAFETY: registers and flags alone are changed, all of which are told.
    unsafe {
        asm!(
            "2:",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "imul {x}, {x}",
            "dec {rounds:e}",
            "jnz 2b",
            x = inout(reg) 3u64 => _,
            rounds = inout(reg) ROUNDS => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{MonotonicRaw, RunClock, hz};

    #[test]
    fn both_clocks_tell_the_same_frequency() {
        let cpu = *crate::cpu::allowed_cpus().unwrap().last().unwrap();
        std::thread::spawn(move || {
            crate::cpu::pin_current_thread(cpu).unwrap();
            let median = |mut all: Vec<f64>| {
                all.sort_by(f64::total_cmp);
                all[all.len() / 2]
            };
            // Of one moment each: it may run faster or slower at another.
            let (counted, ratios) = (0..200)
                .map(|_| {
                    let counted = hertz(ticks_per_step(RunClock::chosen()), hz().unwrap());
                    (counted, counted / hertz(ticks_per_step(MonotonicRaw), 1e9))
                })
                .unzip();
            let (counted, ratio) = (median(counted), median(ratios));
            assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
            assert!((2e8..2e10).contains(&counted), "{counted}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_slower_processor_has_longer_steps() {
        assert!((hertz(1.5, 2e9) - 4e9).abs() < 1.0);
        assert!(hertz(3.0, 2e9) < hertz(1.5, 2e9));
    }
}
