//! The time-stamp counter as a clock.
//!
//! Which fences, and why (Intel SDM volume 2B, RDTSC and RDTSCP; AMD APM volume 3, RDTSC, RDTSCP and LFENCE; Paoloni,
//! "How to Benchmark Code Execution Times on Intel IA-32 and IA-64", 2010):
//!
//! * `LFENCE; RDTSC` reads after all earlier instructions have executed and all earlier loads are globally visible;
//!   `RDTSC; LFENCE` reads before any later instruction begins. RDTSCP gives the first of these by itself.
//! * So a stretch is opened by `LFENCE; RDTSC; LFENCE`: what came before does not leak in, what is timed does not
//!   start early. It is closed by the same sequence, not by Paoloni's `RDTSCP` followed by a serialising CPUID:
//!   the guarantees are equal, both ends cost the same, and RDTSCP raises #UD in a virtual machine whose CPUID does
//!   not announce it, while CPUID itself exits to the hypervisor (thousands of ticks) in any.
//! * LFENCE orders dispatch on AMD only where DE_CFG\[1\] is set or CPUID 8000_0021h EAX\[2\] says that it always
//!   does; Linux sets it at boot.
//! * Stores are not drained: a store may still sit in the store buffer when the closing read happens. Work whose
//!   cost is the visibility of a store has to end with MFENCE itself.

use std::arch::asm;

use tollway_core::{Clock, Ticks};

/// The processor's time-stamp counter. Zero-size; works inside a micro-guest (no system call, no thread-local
/// storage, no memory).
///
/// Its ticks mean time only where the counter is invariant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tsc;

impl Clock for Tsc {
    #[inline(always)]
    fn now(&self) -> Ticks {
        let (lo, hi): (u32, u32);
        // SAFETY: RDTSC writes EDX:EAX only. Linux leaves it to user mode (CR4.TSD clear) unless a process forbids it
        // to itself with PR_SET_TSC; then it faults, which is defined.
        unsafe { asm!("rdtsc", out("eax") lo, out("edx") hi, options(nostack, preserves_flags)) };
        Ticks::from(hi) << 32 | Ticks::from(lo)
    }

    #[inline(always)]
    fn open(&self) -> Ticks {
        fenced()
    }

    #[inline(always)]
    fn close(&self) -> Ticks {
        fenced()
    }
}

/// A reading between two fences. Without `nomem`, so that the compiler moves no memory access across it either.
#[inline(always)]
fn fenced() -> Ticks {
    let (lo, hi): (u32, u32);
    // SAFETY: as in `now`; LFENCE (SSE2, part of x86-64) changes no register.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") lo, out("edx") hi, options(nostack, preserves_flags))
    };
    Ticks::from(hi) << 32 | Ticks::from(lo)
}

/// A reading by `RDTSCP; LFENCE`, with the number of the processor that Linux stores in TSC_AUX (bits 0–11; the node
/// is above). For what wants to know where it was read; needs CPUID 8000_0001h EDX\[27\].
#[inline(always)]
pub fn read_with_cpu() -> (Ticks, u32) {
    let (lo, hi, aux): (u32, u32, u32);
    // SAFETY: RDTSCP writes EDX:EAX and ECX only; where it does not exist it raises #UD, which is defined.
    unsafe {
        asm!(
            "rdtscp", "lfence",
            out("eax") lo, out("edx") hi, out("ecx") aux,
            options(nostack, preserves_flags)
        )
    };
    (Ticks::from(hi) << 32 | Ticks::from(lo), aux & 0xfff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_do_not_go_backwards_on_one_core() {
        let mut last = Tsc.now();
        for _ in 0..10_000 {
            let (open, close) = (Tsc.open(), Tsc.close());
            assert!(last <= open && open <= close);
            last = close;
        }
    }

    #[test]
    fn it_takes_no_room() {
        assert_eq!(size_of::<Tsc>(), 0);
    }
}
