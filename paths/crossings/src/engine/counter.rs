//! Readings of the time-stamp counter, as a program makes them.

use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use tollway_core::{Error, Missing, Params, Place, Result};

use super::Operation;

/// One way to read the counter.
pub trait Reading: Send + 'static {
    /// Whether this processor has it.
    fn exists() -> bool {
        true
    }

    /// The counter. Only where it [`exists`](Reading::exists).
    fn read() -> u64;
}

/// RDTSC alone: may be read some instructions early or late.
pub struct Plain;

/// LFENCE and RDTSC: read after all that came before.
pub struct Fenced;

/// RDTSCP: the same order by one instruction, and the processor's number with it.
pub struct WithProcessor;

impl Reading for Plain {
    #[inline(always)]
    fn read() -> u64 {
        // SAFETY: RDTSC exists on every x86-64 and writes registers only.
        unsafe { _rdtsc() }
    }
}

impl Reading for Fenced {
    #[inline(always)]
    fn read() -> u64 {
        // SAFETY: LFENCE is part of SSE2, RDTSC of every x86-64; neither touches memory.
        unsafe {
            _mm_lfence();
            _rdtsc()
        }
    }
}

impl Reading for WithProcessor {
    fn exists() -> bool {
        // CPUID 8000_0001h, EDX bit 27 (Intel SDM volume 2A; AMD APM volume 3, appendix E.4.2).
        __cpuid(0x8000_0000).eax >= 0x8000_0001 && __cpuid(0x8000_0001).edx >> 27 & 1 == 1
    }

    #[inline(always)]
    fn read() -> u64 {
        let mut processor = 0;
        // SAFETY: `exists` was asked when the operation was prepared; it writes `processor`, which is owned here.
        unsafe { __rdtscp(&mut processor) }
    }
}

/// Reads the counter and compares the reading with the one before.
pub struct CounterRead<R> {
    last: u64,
    backwards: u64,
    begun: (u64, Instant),
    way: PhantomData<R>,
}

impl<R: Reading> Operation for CounterRead<R> {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        if !R::exists() {
            return Err(Error::Missing(Missing::new(
                "RDTSCP",
                "CPUID 8000_0001h does not announce it",
                "a hypervisor that passes it on (QEMU: -cpu …,+rdtscp)",
            )));
        }
        Ok(CounterRead { last: R::read(), backwards: 0, begun: both::<R>(), way: PhantomData })
    }

    #[inline]
    fn once(&mut self) {
        let now = R::read();
        self.backwards += u64::from(now < self.last);
        self.last = now;
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        if self.backwards > 0 {
            return Err(Error::Wrong(format!(
                "{} of {done} readings were before the one before",
                self.backwards
            )));
        }
        let whole = rate(self.begun, both::<R>());
        let begun = both::<R>();
        while begun.1.elapsed() < Duration::from_millis(2) {}
        let sample = rate(begun, both::<R>());
        if (whole / sample - 1.0).abs() > 0.05 {
            return Err(Error::Wrong(format!(
                "the counter ran at {:.1} MHz while it was timed and at {:.1} MHz afterwards, by the kernel's clock",
                whole * 1e3,
                sample * 1e3
            )));
        }
        Ok(())
    }
}

/// The counter and the kernel's clock at one moment: the closest of some tries.
fn both<R: Reading>() -> (u64, Instant) {
    let attempt = |_| {
        let before = R::read();
        let instant = Instant::now();
        let after = R::read();
        (after.saturating_sub(before), (before, instant))
    };
    (0..7)
        .map(attempt)
        .min_by_key(|(gap, _)| *gap)
        .map_or_else(|| (R::read(), Instant::now()), |(_, pair)| pair)
}

/// Ticks per nanosecond.
fn rate(from: (u64, Instant), to: (u64, Instant)) -> f64 {
    to.0.saturating_sub(from.0) as f64 / to.1.duration_since(from.1).as_nanos().max(1) as f64
}
