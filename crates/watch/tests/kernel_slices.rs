//! What is counted in slices of time is scaled to what happened: held against programs that say how much they did.

mod common;
#[path = "common/kernel.rs"]
mod kernel;

use std::io::Read;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use common::same;
use kernel::{calls, command, watch};

static ALONE: Mutex<()> = Mutex::new(());

/// How far it may be off.
const SLACK: f64 = 0.15;

fn scaled(arguments: &[&str]) {
    let _alone = ALONE.lock();
    let Some(same) = same() else { return };
    let Some(mut watch) = watch(true, Some(0.03)) else { return };
    let mut command = command(same, arguments);
    let mut child = watch.start(command.stdout(Stdio::piped())).unwrap();
    while child.try_wait().unwrap().is_none() {
        let nap = watch.tick().unwrap();
        sleep(nap.min(Duration::from_millis(10)));
    }
    sleep(Duration::from_millis(30));
    let counts = watch.counts().unwrap();
    let mut made = String::new();
    child.stdout.take().unwrap().read_to_string(&mut made).unwrap();
    let made: f64 = made.trim().parse().unwrap();
    let scale = counts.scale(watch.cost());
    let found = calls(&counts, libc::SYS_read) as f64 * scale;
    println!(
        "{arguments:?}: {made} reads, of which {:.1} % were counted; scaled by {scale:.2} they are off by {:+.1} %; {:?} of {:?} counted, {:?} ran; {:?}",
        100.0 * calls(&counts, libc::SYS_read) as f64 / made,
        100.0 * (found / made - 1.0),
        counts.counted,
        counts.watched,
        counts.ran_counted,
        watch.cost(),
    );
    assert!((found / made - 1.0).abs() < SLACK, "{found} instead of {made}");
    assert_eq!(counts.lost, 0);
}

#[test]
fn a_busy_loop_of_calls() {
    scaled(&["steady", "8000", "100", "0"]);
}

#[test]
fn a_ping_pong_on_one_processor() {
    scaled(&["pings-for", "8000"]);
}

#[test]
fn who_sleeps_most_of_the_time() {
    scaled(&["steady", "8000", "1", "9"]);
}

#[test]
fn who_works_in_step_with_a_period_of_a_tenth_of_a_second() {
    scaled(&["steady", "12000", "50", "50"]);
}

#[test]
fn processes_that_live_for_milliseconds() {
    scaled(&["short-lives", "8000"]);
}
