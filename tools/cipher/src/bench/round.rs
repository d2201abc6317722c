//! One measurement of one point, by however many tasks.

use std::sync::Barrier;
use std::thread;

use tollway_core::{Clock, Error, Result, Spread, Ticks, Window};
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::pin_current_thread;

/// What a measurement came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Requests a second.
    pub(super) rate: f64,
    /// Ticks of each that was stamped.
    pub(super) latency: Spread,
    /// The kernel's driver that did it, where it was the kernel and tells.
    pub(super) driver: Option<String>,
}

/// How long tasks work before they count, as a part of the time for which they do, and at least.
const WARM: f64 = 0.2;
const LEAST_WARM: f64 = 0.005;

/// Until threads have started.
const BEGIN: f64 = 0.0005;

/// Seconds that a measurement of so many takes, warm-up and all.
pub(super) fn takes(seconds: f64) -> f64 {
    seconds + (seconds * WARM).max(LEAST_WARM) + BEGIN
}

/// A window of so many seconds that begins in a moment.
fn window(now: Ticks, seconds: f64, hz: f64) -> Window {
    let ticks = |seconds: f64| (seconds * hz) as Ticks;
    let warm = now + ticks(BEGIN);
    let open = warm + ticks((seconds * WARM).max(LEAST_WARM));
    Window { warm, open, close: open + ticks(seconds), batch: 0, planted: 0 }
}

/// Has tasks work at once, each on a thread of its own and on the processor that it is given; what they came to together.
///
/// # Errors
/// What one of them says.
pub(super) fn all<T: Send>(
    tasks: Vec<T>,
    cpus: &[u32],
    seconds: f64,
    run: impl Fn(T, &Window) -> Result<Round> + Sync,
) -> Result<Round> {
    let hz = clock::hz()?;
    let (ready, told) = (Barrier::new(tasks.len()), std::sync::OnceLock::new());
    let (run, ready, told) = (&run, &ready, &told);
    let rounds: Vec<Result<Round>> = thread::scope(|scope| {
        let threads: Vec<_> = tasks
            .into_iter()
            .zip(cpus.iter().copied().cycle())
            .map(|(task, cpu)| {
                scope.spawn(move || {
                    let pinned = pin_current_thread(cpu);
                    ready.wait();
                    pinned?;
                    let window = told.get_or_init(|| window(RunClock::chosen().now(), seconds, hz));
                    run(task, window)
                })
            })
            .collect();
        let ended = |thread: thread::ScopedJoinHandle<'_, Result<Round>>| {
            thread.join().unwrap_or_else(|_| Err(Error::Wrong("a task has died".into())))
        };
        threads.into_iter().map(ended).collect()
    });
    let mut whole = Round::default();
    for round in rounds {
        let round = round?;
        whole.rate += round.rate;
        whole.latency.merge(&round.latency);
        whole.driver = whole.driver.or(round.driver);
    }
    Ok(whole)
}
