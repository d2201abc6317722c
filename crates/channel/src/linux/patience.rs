//! How long to look before sleeping: what a sleep and a wake-up cost here.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::thread::futex;
use tollway_core::Clock;
use tollway_host::clock::RunClock;
use tollway_host::cpu::{allowed_cpus, parse_list, pin_current_thread};

use crate::wait::Patience;

/// Wake-ups that are timed, each of them there and back.
const TIMES: u32 = 41;

/// Fewer tell nothing.
const LEAST: usize = 5;

/// How long all of it takes at most, but for starting and ending two threads.
const LIMIT: Duration = Duration::from_millis(2);

/// What a wake-up is taken to cost where it could not be measured: half of a futex round trip across cores in the price list of this project's README
/// (25 µs, in a virtual machine).
const UNKNOWN: Duration = Duration::from_micros(12);

/// No wake-up is cheaper than two calls of the kernel, or worth looking for longer than this: what took longer was not only a wake-up.
const SENSIBLE: [Duration; 2] = [Duration::from_nanos(500), Duration::from_micros(50)];

/// How often an end gives its core away before it sleeps. Where two share a core the first time is enough, if nobody else wants it.
const YIELDS: u32 = 4;

impl Patience {
    /// To look for as long as a wake-up costs on this machine: measured once a process, between threads on two cores, in 2 ms at most. Where there
    /// are no two cores, or nothing could be measured in that time, it is 12 µs.
    pub fn measured() -> Patience {
        static SPIN: OnceLock<u64> = OnceLock::new();
        Patience { spin: *SPIN.get_or_init(spin), yields: YIELDS }
    }
}

/// In ticks of the clock, whose rate is taken from the measurement itself.
fn spin() -> u64 {
    let clock = RunClock::chosen();
    let (begun, ticks) = (Instant::now(), clock.now());
    let cost = two_cores().and_then(|cores| wake_up(cores, begun + LIMIT));
    // Long enough for that rate.
    while begun.elapsed() < Duration::from_micros(100) {
        std::hint::spin_loop();
    }
    let rate = (clock.now() - ticks) as f64 / begun.elapsed().as_secs_f64();
    let of = |time: Duration| (time.as_secs_f64() * rate) as u64;
    let [least, most] = SENSIBLE.map(of);
    cost.map_or(of(UNKNOWN), |cost| cost.clamp(least, most))
}

/// Two processors on which this thread may run, of two cores if the kernel knows that of the first one.
fn two_cores() -> Option<[u32; 2]> {
    let allowed = allowed_cpus().ok()?;
    let first = *allowed.first()?;
    let siblings = fs::read_to_string(format!("/sys/devices/system/cpu/cpu{first}/topology/core_cpus_list"));
    let siblings = siblings.ok().and_then(|text| parse_list(text.trim())).unwrap_or_default();
    let other = allowed.iter().find(|cpu| **cpu != first && !siblings.contains(cpu));
    Some([first, *other.or(allowed.get(1))?])
}

/// What it takes from the call that wakes a thread until that has answered and this one is awake again, halved; the median.
fn wake_up([first, second]: [u32; 2], end: Instant) -> Option<u64> {
    let ball = AtomicU32::new(0);
    let turn = |to: u32| {
        ball.store(to, Ordering::Release);
        let _ = futex::wake(&ball, futex::Flags::PRIVATE, 1);
    };
    let is_mine = |mine: u32| {
        loop {
            let now = ball.load(Ordering::Acquire);
            if now == mine {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let left = Timespec { tv_sec: 0, tv_nsec: left.as_nanos() as i64 };
            let _ = futex::wait(&ball, futex::Flags::PRIVATE, now, Some(&left));
        }
    };
    let mut times = thread::scope(|scope| {
        let back = || {
            let pinned = pin_current_thread(second).is_ok();
            let _ = (0..TIMES)
                .take_while(|time| pinned && is_mine(2 * time + 1))
                .map(|time| turn(2 * time + 2))
                .count();
        };
        Builder::new().spawn_scoped(scope, back).ok()?;
        let forth = || -> Option<Vec<u64>> {
            pin_current_thread(first).ok()?;
            let clock = RunClock::chosen();
            let timed = |time: u32| {
                let begun = clock.now();
                turn(2 * time + 1);
                is_mine(2 * time + 2).then(|| (clock.now() - begun) / 2)
            };
            Some((0..TIMES).map_while(timed).collect())
        };
        Builder::new().spawn_scoped(scope, forth).ok()?.join().ok()?
    })?;
    times.sort_unstable();
    // The first found the other thread not there yet.
    (times.len() > LEAST).then(|| times[times.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_is_sensible_and_stays() {
        let patience = Patience::measured();
        assert!(patience.spin > 0);
        assert_eq!(patience, Patience::measured());
    }

    /// The other half of the pair is never there: the time is over, and nothing was learnt.
    #[test]
    fn where_nothing_can_be_measured_the_time_is_kept_to() {
        let nowhere = u32::MAX;
        assert_eq!(wake_up([allowed_cpus().unwrap()[0], nowhere], Instant::now() + LIMIT), None);
        assert_eq!(wake_up([nowhere, nowhere], Instant::now() + LIMIT), None);
    }

    #[test]
    fn the_caller_may_run_where_it_might_before() {
        let before = allowed_cpus().unwrap();
        let _ = spin();
        assert_eq!(allowed_cpus().unwrap(), before);
    }
}
