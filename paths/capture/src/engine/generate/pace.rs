//! The loop: wait until a frame is due, put it and all others that are due by then into a batch, hand it over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tollway_core::{Clock, Ticks};
use tollway_host::gap::{Gaps, threshold, watch_until};
use tollway_wire::send::Transmit;

use super::Ended;
use super::Stamp;
use super::report::Punctuality;
use crate::engine::Timestamp;

/// Frames with the times they are due.
pub(super) trait Due {
    /// When the next frame is due, in ticks after the start, not before the one before. The same until it is written.
    /// `None`: there is none.
    fn due(&self) -> Option<Ticks>;

    /// Writes that frame into a slot, goes on to the next, and says how many bytes it has.
    fn write(&mut self, slot: &mut [u8], stamp: &Stamp) -> usize;

    /// Why there is no further frame.
    fn ended(&mut self) -> Ended {
        Ended::Done
    }

    /// How many frames could not be sent, and how many were sent with zeros in place of what is missing of them.
    fn altered(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// Where it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) frames: u64,
    /// Ticks after the start.
    pub(super) time: Ticks,
}

/// A clock and its rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer<C> {
    pub(super) clock: C,
    pub(super) hz: f64,
}

/// A longer wait than this is slept through but for its last millisecond; the kernel wakes sleepers some 50 µs late
/// (timerslack, prctl(2)).
const SLEEP_FROM: f64 = 2e-3;
/// The end of a wait, which is spent reading the clock; the first frame is waited for as long, in seconds.
pub(super) const AWAKE: f64 = 1e-3;
/// How long a request to stop may go unheard, in seconds.
const HEARING: f64 = 0.02;
/// The most frames whose due times are remembered until they are handed over.
const BATCH: usize = 64;

/// Sends all frames that are due until an end is reached. What frames there are and what the kernel says of them is in
/// `frames` and `sender`.
pub(super) fn follow<C: Clock>(
    timer: Timer<C>,
    frames: &mut impl Due,
    sender: &mut impl Transmit,
    limits: Limits,
    stop: &AtomicBool,
) -> (Punctuality, Gaps, Ended) {
    let Timer { clock, hz } = timer;
    let mut punctuality = Punctuality::new();
    let mut gaps = Gaps::default();
    let mut number = 0;
    let begin = clock.now() + (hz * AWAKE) as Ticks;
    let ended = loop {
        let Some(due) = frames.due() else { break frames.ended() };
        if number >= limits.frames {
            break Ended::Done;
        }
        if due >= limits.time {
            break Ended::TimeOver;
        }
        if !wait(timer, begin + due, stop, &mut gaps) {
            break Ended::Stopped;
        }
        let now = clock.now() - begin;
        if now >= limits.time {
            break Ended::TimeOver;
        }
        let mut batch = [0; BATCH];
        let mut filled = 0;
        let sent = now_utc();
        while filled < BATCH
            && number < limits.frames
            && let Some(due) = frames.due().filter(|due| *due <= now && *due < limits.time)
            && let Some(slot) = sender.slot()
        {
            let length = frames.write(slot, &Stamp::new(number, sent));
            sender.commit(length);
            batch[filled] = due;
            (filled, number) = (filled + 1, number + 1);
        }
        let at = clock.now() - begin;
        for due in &batch[..filled] {
            punctuality.frame(*due, at);
        }
        if let Err(error) = sender.flush() {
            break Ended::Lost(error);
        }
    };
    (punctuality, gaps, ended)
}

/// Waits for a moment; false if it is told to stop before.
fn wait<C: Clock>(timer: Timer<C>, until: Ticks, stop: &AtomicBool, gaps: &mut Gaps) -> bool {
    let Timer { clock, hz } = timer;
    let ticks = |seconds: f64| (seconds * hz) as Ticks;
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let now = clock.now();
        if now >= until {
            return true;
        }
        let left = until - now;
        if left > ticks(SLEEP_FROM) {
            let asleep = (left as f64 / hz - AWAKE).min(HEARING);
            std::thread::sleep(Duration::from_secs_f64(asleep));
        } else {
            *gaps += watch_until(clock, until, threshold(hz));
        }
    }
}

fn now_utc() -> Timestamp {
    let now = clock_gettime(ClockId::Realtime);
    Timestamp((now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64))
}
