//! What a system call costs in user mode.
//!
//! The toll of a call is what passes between two calls: it has the program's side in it, and the way back out of the kernel, on which no clock's tick is taken until
//! user mode. The kernel's own account, which goes by ticks, has both among the program's time. So has a bill: this part is measured by that very account, over
//! calls that do nothing else.

use std::hint::black_box;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::process::getppid;
use tollway_core::{Boundary, Params, Recorder, Tally};
use tollway_store::{NewTrial, PointSpec, PointState, Result, RunSpec, RunState, Store};

use crate::kept::PATH;
use crate::prices::user_side;

/// Blocks, and how long each is: the account goes by ticks of some milliseconds.
const BLOCKS: u32 = 10;
const LONG: Duration = Duration::from_millis(100);

/// Measures it, in a second, into a run of its own.
///
/// # Errors
/// The store's.
pub fn measure(store: &mut Store, spec: &RunSpec) -> Result<()> {
    let run = store.begin_run(spec)?;
    let point = PointSpec {
        side: None,
        path: PATH.into(),
        variant: "user-side".into(),
        params: Params::new(),
        operation: "call".into(),
        toll: Some(user_side()),
        boundary: Some(Boundary::UserKernel),
        gates: Vec::new(),
        changes: None,
        yields: Vec::new(),
        headline: false,
        title: "system call, its part in user mode".into(),
        caveats:
            "By the kernel's account of processor time, which samples: an interval of some tenths is usual."
                .into(),
    };
    let [point] = store.add_points(run, &[point])?[..] else { return Ok(()) };
    for block in 0..BLOCKS {
        let (calls, user) = sample();
        let mut recorder = Recorder::new();
        recorder.set_batch(calls);
        recorder.sample((user.as_secs_f64() * spec.hz) as u64);
        let trial = NewTrial {
            block,
            ordinal: 0,
            started: Timestamp::now(),
            spread: recorder.spread(),
            noise: None,
            tally: Tally::default(),
            meters: serde_json::Value::Null,
            lost_ticks: 0.0,
            actors: Vec::new(),
        };
        store.record_trial(point, &trial)?;
    }
    store.set_point_state(point, &PointState::Done)?;
    store.end_run(run, RunState::Complete, Timestamp::now())
}

/// Calls, and what they took in user mode.
fn sample() -> (u32, Duration) {
    let before = user_time();
    let begun = Instant::now();
    let mut calls = 0;
    while begun.elapsed() < LONG {
        for _ in 0..1000 {
            black_box(getppid());
        }
        calls += 1000;
    }
    (calls, user_time().saturating_sub(before))
}

fn user_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one such value.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: it is all numbers, and was zeroed.
    let time = unsafe { usage.assume_init() }.ru_utime;
    Duration::new(time.tv_sec.max(0) as u64, time.tv_usec.clamp(0, 999_999) as u32 * 1000)
}
