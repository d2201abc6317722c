//! How long to look before sleeping: what a sleep and a wake-up cost here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::futex;
use tollway_core::Clock;
use tollway_host::clock::RunClock;

use crate::wait::Patience;

/// Wake-ups that are timed: 2 ms at most.
const TIMES: u32 = 41;

/// How often an end gives its core away before it sleeps. Where two share a core the first time is enough, if nobody else wants it.
const YIELDS: u32 = 4;

impl Patience {
    /// To look for as long as a wake-up costs on this machine: measured once a process, between two threads, in a millisecond or two.
    pub fn measured() -> Patience {
        static SPIN: OnceLock<u64> = OnceLock::new();
        Patience { spin: *SPIN.get_or_init(wake_up), yields: YIELDS }
    }
}

/// What it takes from the call that wakes a thread until that has answered and this one is awake again, halved; the median.
fn wake_up() -> u64 {
    let ball = AtomicU32::new(0);
    let turn = |to: u32| {
        ball.store(to, Ordering::Release);
        let _ = futex::wake(&ball, futex::Flags::PRIVATE, 1);
    };
    let until = |to: u32| {
        loop {
            let now = ball.load(Ordering::Acquire);
            if now == to {
                return;
            }
            let _ = futex::wait(&ball, futex::Flags::PRIVATE, now, None);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for time in 0..TIMES {
                until(2 * time + 1);
                turn(2 * time + 2);
            }
        });
        let clock = RunClock::chosen();
        let mut times: Vec<u64> = (0..TIMES)
            .map(|time| {
                let begun = clock.now();
                turn(2 * time + 1);
                until(2 * time + 2);
                (clock.now() - begun) / 2
            })
            .collect();
        times.sort_unstable();
        times[times.len() / 2]
    })
}
