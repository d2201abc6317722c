//! What a system call costs in user mode.
//!
//! The toll of a call is what passes between two calls: it has the program's side in it, and the way back out of the kernel, on which no clock's tick is taken until
//! user mode. The kernel's own account, which goes by ticks, has both among the program's time. So has a bill: this part is measured by that very account, over
//! calls that do nothing else.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::process::getppid;
use tollway_core::Result;

use super::{Own, usage};
use crate::prices::user_side;

/// How long a sample is: the account goes by ticks of some milliseconds.
const LONG: Duration = Duration::from_millis(100);

pub(super) fn own() -> Own {
    Own {
        toll: user_side(),
        title: "system call, its part in user mode",
        caveats: "By the kernel's account of processor time, which samples: an interval of some tenths is usual.",
        sample,
    }
}

/// Calls, and what they took in user mode.
fn sample() -> Result<(u32, Duration)> {
    let before = user_time();
    let begun = Instant::now();
    let mut calls = 0;
    while begun.elapsed() < LONG {
        for _ in 0..1000 {
            black_box(getppid());
        }
        calls += 1000;
    }
    Ok((calls, user_time().saturating_sub(before)))
}

fn user_time() -> Duration {
    let time = usage().ru_utime;
    Duration::new(time.tv_sec.max(0) as u64, time.tv_usec.clamp(0, 999_999) as u32 * 1000)
}
