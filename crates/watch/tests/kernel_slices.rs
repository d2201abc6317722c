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
use tollway_watch::{Counted, Counts};

static ALONE: Mutex<()> = Mutex::new(());

/// How far it may be off.
const SLACK: f64 = 0.05;
/// The same of calls that nobody counts anyway: what goes by time stands and falls with how fast the machine is at each moment, and counting costs them as
/// much again as they take.
const ROUGH: f64 = 0.6;

fn scaled(arguments: &[&str], number: i64, slack: f64) {
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
    let all = Counts { threads: counts.in_all(), ..counts.clone() };
    let found = calls(&all, number) as f64;
    let is_of = |of: &Counted| matches!(of, Counted::Call(of, _) if i64::from(*of) == number);
    let half: f64 = counts.uncertainty.iter().filter(|(of, _)| is_of(of)).map(|(_, half)| half).sum();
    println!(
        "{arguments:?}: {made} calls, of which {:.1} % were counted; found {found:.0} ± {half:.0}, off by {:+.1} %; {:?} of {:?} counted; {:?}",
        100.0 * calls(&counts, number) as f64 / made,
        100.0 * (found / made - 1.0),
        counts.counted,
        counts.watched,
        watch.cost(),
    );
    assert!((found / made - 1.0).abs() < slack, "{found} instead of {made}");
    assert_eq!(counts.lost, 0);
    // It became a program once, before the first pause.
    assert_eq!(calls(&all, libc::SYS_execve), calls(&counts, libc::SYS_execve));
}

#[test]
fn a_busy_loop_of_calls() {
    scaled(&["steady", "3000", "100", "0"], libc::SYS_read, SLACK);
}

#[test]
fn a_ping_pong_on_one_processor() {
    scaled(&["pings-for", "3000"], libc::SYS_read, SLACK);
}

#[test]
fn who_sleeps_most_of_the_time() {
    scaled(&["steady", "3000", "1", "9"], libc::SYS_read, SLACK);
}

#[test]
fn who_works_in_step_with_a_period_of_a_tenth_of_a_second() {
    scaled(&["steady", "5000", "50", "50"], libc::SYS_read, SLACK);
}

#[test]
fn processes_that_live_for_milliseconds() {
    scaled(&["short-lives", "3000"], libc::SYS_read, SLACK);
}

#[test]
fn calls_that_nobody_counts_anyway() {
    scaled(&["steady-without-files", "3000"], libc::SYS_getppid, ROUGH);
}
