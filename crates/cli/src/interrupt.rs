//! Ctrl-C, SIGTERM and SIGHUP: the first asks the run to end after the running trial, another one ends it at once.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;

/// A Ctrl-C within this time of the first is the same: nobody presses twice within it.
const ONE_PRESS: Duration = Duration::from_millis(50);

/// Signals of programs within this time are one: timeout(1) sends two, to the process and to its group, and a terminal's end is sent
/// by the terminal and by the shell. On a busy machine the second comes a good deal later.
const ONE_END: Duration = Duration::from_secs(1);

/// When the first came, in nanoseconds of the monotonic clock; 0 before that.
static FIRST: AtomicU64 = AtomicU64::new(0);
/// Which signal that was.
static WHICH: AtomicI32 = AtomicI32::new(0);

/// Whether a person has interrupted by Ctrl-C, who can do so again; other signals come of programs, which wait for the end.
pub fn is_typed() -> bool {
    WHICH.load(Ordering::Relaxed) == SIGINT
}

/// Takes the interruption as seen: the next one is a first one.
pub fn begin_anew(set: &AtomicBool) {
    set.store(false, Ordering::Relaxed);
    FIRST.store(0, Ordering::Relaxed);
}

/// A flag that an interruption sets. Call it before anything is measured.
pub fn flag() -> Result<&'static AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(set) = FLAG.get() {
        // Registered twice, one signal would count as two.
        return Ok(set);
    }
    let set = FLAG.get_or_init(|| Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Under nohup(1) a terminal's end is nothing that ends a program.
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        let set = Arc::clone(set);
        let one = if signal == SIGINT { ONE_PRESS } else { ONE_END };
        let handler = move || {
            let now = clock_gettime(ClockId::Monotonic);
            let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
            match FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    WHICH.store(signal, Ordering::Relaxed);
                    set.store(true, Ordering::Relaxed);
                }
                Err(first) if now.saturating_sub(first) > one.as_nanos() as u64 => low_level::exit(130),
                Err(_) => {}
            }
        };
        // SAFETY: what it does is allowed in a handler: it reads a clock, sets flags, or ends the process without
        // running anything.
        unsafe { low_level::register(signal, handler) }.context("taking notice of interruptions")?;
    }
    Ok(set)
}

/// Whether this process was started with the signal ignored (proc_pid_status(5), SigIgn).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 << (signal - 1) != 0)
}
