//! What an interrupt of the local timer takes of a thread that runs, and what a tick of the scheduler does, which comes by one.
//!
//! Each timer of high resolution that ends brings one: those of TCP that space out what is sent, those by which others sleep. Only some are the
//! scheduler's ticks, which do more. A thread sets a timer for which nobody waits, and looks at the clock until after it has ended: the longest
//! time between two looks is the interrupt, with all that a hypervisor has to do for it.

use std::time::Duration;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tollway_core::{Clock, Error, Result};
use tollway_host::clock::{RunClock, hz};

use super::{Own, usage};
use crate::prices::{scheduler_tick, timer_interrupt};

/// Timers in one sample, of which the median counts: what else interrupts a thread is rarer than one in two.
const TIMERS: usize = 100;
/// When each ends, and how long it is looked for it, in nanoseconds.
const ENDS: i64 = 30_000;
const LOOKED: f64 = 90_000.0;

pub(super) fn own() -> Own {
    Own {
        toll: timer_interrupt(),
        title: "interrupt of the local timer",
        caveats: "Of a timer of high resolution for which nobody waits: a tick of the scheduler takes longer.",
        sample,
    }
}

/// How long ticks are watched for one sample: 10 to 100 of them.
const WATCHED: f64 = 100e6;
/// What takes longer than so many nanoseconds between two looks at the clock is an interrupt.
const NOTICED: f64 = 2_000.0;

pub(super) fn own_of_ticks() -> Own {
    Own {
        toll: scheduler_tick(),
        title: "tick of the scheduler",
        caveats: "Of a thread that runs alone: what takes its core from it without another thread in between, by the median.",
        sample: sample_of_ticks,
    }
}

/// One, and how long it took: by the median of what interrupted this thread while no other had its core. The toll `interruption` has these others in it, which on
/// a busy machine come at every second tick.
fn sample_of_ticks() -> Result<(u32, Duration)> {
    let (clock, hz) = (RunClock::chosen(), hz()?);
    let [watched, noticed] = [WATCHED, NOTICED].map(|ns| (ns / 1e9 * hz) as u64);
    let switches = || usage().ru_nivcsw;
    let (begun, mut switched) = (clock.now(), switches());
    let (mut last, mut found) = (begun, Vec::new());
    // On until there is one: where ticks are rare a window may have none, and where there are none at all it is not waited for one.
    while last - begun < watched || found.is_empty() && last - begun < 10 * watched {
        let now = clock.now();
        last = if now - last > noticed {
            let (before, after) = (switched, switches());
            switched = after;
            if before == after {
                found.push(now - last);
            }
            clock.now()
        } else {
            now
        };
    }
    found.sort_unstable();
    let median = found.get(found.len() / 2).copied().unwrap_or(0);
    Ok((1, Duration::from_secs_f64(median as f64 / hz)))
}

/// One, and how long it took.
fn sample() -> Result<(u32, Duration)> {
    let failed = |e: Errno| Error::system("measuring what an interrupt of the timer takes", e);
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).map_err(failed)?;
    let ends = Timespec { tv_sec: 0, tv_nsec: ENDS };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: ends };
    let (clock, hz) = (RunClock::chosen(), hz()?);
    let looked = (LOOKED / 1e9 * hz) as u64;
    let mut longest = Vec::with_capacity(TIMERS);
    for _ in 0..TIMERS {
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once).map_err(failed)?;
        let begun = clock.now();
        let (mut last, mut most) = (begun, 0);
        while last - begun < looked {
            let now = clock.now();
            most = most.max(now - last);
            last = now;
        }
        longest.push(most);
    }
    longest.sort_unstable();
    Ok((1, Duration::from_secs_f64(longest[TIMERS / 2] as f64 / hz)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_takes_longer_than_a_look_at_the_clock() {
        for sample in [sample, sample_of_ticks] {
            let (count, took) = sample().unwrap();
            assert_eq!(count, 1);
            assert!(took > Duration::from_nanos(200), "{took:?}");
        }
    }
}
