//! What a program did before another thread than its first called exec is counted, and what it does from then
//! on.
//!
//! `TOLLWAY_TIMES` says how often that is tried: four times where nothing is said.

use std::time::Duration;

use crate::common::same;
use crate::kernel::{calls, command, settles, watch};
use crate::pause::pause;
use tollway_watch::Counts;

/// Calls that the first thread makes, of which it has made none yet when the program waits.
const CALLS: u64 = 1000;

fn times() -> u32 {
    std::env::var("TOLLWAY_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(4)
}

#[test]
fn what_the_first_thread_did_before_another_calls_exec_is_counted() {
    let Some(same) = same() else { return };
    for time in 0..times() {
        let Some(mut watch) = watch(true, None) else { return };
        let arguments = ["calls-before-a-thread-execs", &CALLS.to_string()];
        let mut child = watch.start(&mut command(same, &arguments)).unwrap();
        child.wait().unwrap();
        // Also at the very end, when the last is not known of everybody.
        if time % 2 == 0 {
            settles(&mut watch);
        }
        let counts = watch.counts().unwrap();
        let found = (calls(&counts, libc::SYS_getppid), calls(&counts, libc::SYS_execve), counts.lost);
        assert_eq!(found, (CALLS, 2, 0), "time {time}: {counts:#?}");
        // Everything that was counted by then, and nothing twice.
        let later = watch.counts().unwrap().since(&counts);
        let again = (calls(&later, libc::SYS_getppid), calls(&later, libc::SYS_execve));
        assert_eq!(again, (0, 0), "time {time}: {counts:#?} {later:#?}");
    }
    println!("{} of {}: what the first thread did is counted", times(), times());
}

/// Looked at all the time, each look tells what came since the one before.
#[test]
fn an_exec_by_another_thread_between_two_looks_makes_nothing_be_counted_twice() {
    let Some(same) = same() else { return };
    for time in 0..times() {
        let Some(mut watch) = watch(true, None) else { return };
        let arguments = ["calls-before-a-thread-execs", &CALLS.to_string()];
        let mut child = watch.start(&mut command(same, &arguments)).unwrap();
        let (mut before, mut sums) = (watch.counts().unwrap(), [0; 3]);
        let mut add = |before: &Counts, now: &Counts| {
            let since = now.since(before);
            for (sum, call) in sums.iter_mut().zip([libc::SYS_getppid, libc::SYS_execve, libc::SYS_read]) {
                *sum += calls(&since, call);
            }
        };
        add(&Counts::default(), &before);
        loop {
            let has_ended = child.try_wait().unwrap().is_some();
            pause(Duration::from_millis(3));
            let now = watch.counts().unwrap();
            add(&before, &now);
            before = now;
            if has_ended {
                break;
            }
        }
        let expected = [libc::SYS_getppid, libc::SYS_execve, libc::SYS_read].map(|call| calls(&before, call));
        assert_eq!((sums[0], sums[1]), (CALLS, 2), "time {time}");
        assert_eq!(sums, expected, "time {time}: {before:#?}");
    }
    println!("{} of {}: nothing is counted twice", times(), times());
}
