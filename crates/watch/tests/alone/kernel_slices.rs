//! What is counted in slices of time is scaled to what happened: held against programs that say how much they
//! did.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use crate::alone;
use crate::common::same;
use crate::kernel::{calls, command, settles, watch};
use crate::pause::pause;
use crate::quiet::is_quiet;
use tollway_watch::kernel::Cost;
use tollway_watch::{Counted, Counts, Thread};

/// By which share a count may be off that the kernel has at all times.
const EXACT: f64 = 0.005;
/// The same where it has a sum at all times, and slices tell the parts of it.
const SLACK: f64 = 0.03;
/// Runs of which the median is judged where a count is an estimate: an interval of 95 % misses once in twenty
/// times.
const RUNS: usize = 3;
/// By which share such a count may be off of one of several threads, of which all have one interval.
const ROUGH: f64 = 0.3;

/// What was found of a call, by how much it may be off, and what the program made.
#[derive(Clone, Copy, Debug)]
struct Found {
    found: f64,
    half: f64,
    made: f64,
}

impl Found {
    fn of(threads: &[Thread], counts: &Counts, number: i64, made: f64) -> Found {
        let all = Counts { threads: threads.to_vec(), ..Counts::default() };
        Found { found: calls(&all, number) as f64, half: uncertainty(counts, number), made }
    }

    fn share(&self) -> f64 {
        (self.found / self.made - 1.0).abs()
    }

    /// By how many of its half intervals it is off. What is said to be exact has none: it is off by
    /// infinitely many, or by none.
    fn halves(&self) -> f64 {
        match (self.found - self.made).abs() {
            off if self.half > 0.0 => off / self.half,
            off if off <= EXACT * self.made => 0.0,
            _ => f64::INFINITY,
        }
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// What was found in one run, which has to be in order but for the count.
fn run(arguments: &[&str], number: i64) -> Option<Found> {
    let (counts, made, cost) = counted(arguments)?;
    let all = counts.in_all();
    let found = Found::of(&all, &counts, number, made[0]);
    println!(
        "{arguments:?}: {found:?}, {:.2} half intervals and {:+.1} % off; {:?} and {:?} of {:?} counted; {cost:?}",
        found.halves(),
        100.0 * (found.found / found.made - 1.0),
        counts.counted,
        counts.numbered,
        counts.watched,
    );
    assert_eq!(counts.lost, 0);
    // It became a program once, before the first pause.
    let all = Counts { threads: all, ..Counts::default() };
    assert_eq!(calls(&all, libc::SYS_execve), calls(&counts, libc::SYS_execve));
    Some(found)
}

/// Of a call that the kernel counts at all times.
fn scaled(arguments: &[&str], number: i64) {
    let _alone = alone();
    let Some(found) = run(arguments, number) else { return };
    assert!(found.share() < SLACK, "{found:?}");
}

/// Of a call that nobody counts anyway. Its interval has the truth, and is no wider than this share of what
/// was found to either side: 5.55 to 6.45 million were found of 10, without an interval.
fn within_its_interval(arguments: &[&str], number: i64, widest: f64) {
    let _alone = alone();
    let found: Vec<Found> = (0..RUNS).filter_map(|_| run(arguments, number)).collect();
    if found.len() < RUNS {
        return;
    }
    // The truth is beyond an interval of 95 % in one of 20, and so it is beyond the median of three in one of 140; beyond twice its half never.
    assert!(median(found.iter().map(Found::halves).collect()) < 2.0, "{found:?}");
    assert!(median(found.iter().map(|one| one.half / one.found).collect()) < widest, "{found:?}");
}

fn uncertainty(counts: &Counts, number: i64) -> f64 {
    let is_of = |of: &Counted| matches!(of, Counted::Call(of, _) if i64::from(*of) == number);
    counts.uncertainty.iter().filter(|(of, _)| is_of(of)).map(|(_, half)| half).sum()
}

/// What was counted of a program, what it says itself, and what counting costs.
fn counted(arguments: &[&str]) -> Option<(Counts, Vec<f64>, Cost)> {
    let same = same()?;
    let mut watch = watch(true, Some(0.03))?;
    let mut command = command(same, arguments);
    let mut child = watch.start(command.stdout(Stdio::piped())).unwrap();
    while child.try_wait().unwrap().is_none() {
        let nap = watch.tick().unwrap();
        pause(nap.min(Duration::from_millis(10)));
    }
    settles(&mut watch);
    let counts = watch.counts().unwrap();
    let mut made = String::new();
    child.stdout.take().unwrap().read_to_string(&mut made).unwrap();
    let made = made.split_whitespace().map(|number| number.parse().unwrap()).collect();
    Some((counts, made, watch.cost()))
}

/// Everything would be too much, but how often each call is begun is affordable between slices: by the
/// program and by its children, which live for moments.
#[test]
fn calls_of_a_program_that_makes_few_are_exact() {
    let _alone = alone();
    let Some((counts, made, cost)) = counted(&["paced", "2000"]) else { return };
    let all = Counts { threads: counts.in_all(), ..counts.clone() };
    let (found, made) = (calls(&all, libc::SYS_getppid) as f64, made[0]);
    let Counts { counted, numbered, watched, .. } = counts;
    println!("{found} for {made}; {counted:?} and {numbered:?} of {watched:?}; {cost:?}");
    if counted + numbered < watched.mul_f64(0.99) {
        println!("not all of it was affordable on this machine");
        // Where a count that is no estimate is off there is no interval that says so.
        return assert!((found - made).abs() < 20.0 || uncertainty(&counts, libc::SYS_getppid) > 0.0);
    }
    // On a machine on which counting costs a third less everything is affordable.
    // Where others have the processors as well: it makes fewer calls.
    let is_dear = cost.call >= Duration::from_nanos(230) && is_quiet();
    assert!(counted < watched.mul_f64(0.9) || !is_dear, "{counted:?}, {cost:?}");
    assert_eq!(uncertainty(&counts, libc::SYS_getppid), 0.0);
    // Each time that what is counted changes, a call may be in both counts or in none.
    assert!((found - made).abs() < 20.0, "{found} for {made}");
    for (number, children) in [(libc::SYS_exit_group, 201), (libc::SYS_wait4, 200)] {
        let found = calls(&all, number);
        assert!(found.abs_diff(children) < 3, "{number}: {found} for {children}");
    }
}

#[test]
fn a_busy_loop_of_calls() {
    scaled(&["steady", "1200", "100", "0"], libc::SYS_read);
}

#[test]
fn a_ping_pong_on_one_processor() {
    scaled(&["pings-for", "1200"], libc::SYS_read);
}

#[test]
fn who_sleeps_most_of_the_time() {
    scaled(&["steady", "2000", "1", "9"], libc::SYS_read);
}

#[test]
fn who_works_in_step_with_a_period_of_a_tenth_of_a_second() {
    scaled(&["steady", "2500", "50", "50"], libc::SYS_read);
}

#[test]
fn processes_that_live_for_milliseconds() {
    scaled(&["short-lives", "1200"], libc::SYS_read);
}

/// Of 40,000 threads that live for some microseconds 13,800 were found, ± 0.2 %: those that lived while nothing was counted had done nothing.
#[test]
fn threads_that_live_for_microseconds() {
    let _alone = alone();
    let Some((counts, made, _)) = counted(&["one-by-one", "40000"]) else { return };
    // Where the machine stops us for a tenth of a second there is no room for some thousands.
    let found = Found::of(&counts.in_all(), &counts, libc::SYS_getuid, made[0] - counts.lost as f64);
    println!("{found:?}, and {} for which there was no room", counts.lost);
    assert!(found.share() < SLACK, "{found:?} {}", counts.lost);
}

#[test]
fn calls_that_nobody_counts_anyway() {
    // 0.6 on a quiet machine; where others made counting dear, and slices few, it was 0.77 to 0.87.
    within_its_interval(&["steady-without-files", "2000"], libc::SYS_getppid, 1.0);
}

/// What was estimated up to then was lost when all could be counted again: 31 to 63 % of the writes of three
/// git clones.
#[test]
fn what_was_estimated_stays_when_a_program_makes_few_calls_again() {
    within_its_interval(&["calms-down", "3000"], libc::SYS_getppid, 1.5);
}

/// Some threads of a program, by one of them and the first one.
type IsOne = fn(&Thread, &Thread) -> bool;

/// What was found in each run of each part of a program: of a call of some of its threads.
fn parts(arguments: &[&str], parts: &[(IsOne, i64)]) -> Option<Vec<Vec<Found>>> {
    let _alone = alone();
    let mut all = vec![Vec::new(); parts.len()];
    for _ in 0..RUNS {
        let (counts, made, _) = counted(arguments)?;
        let threads = counts.in_all();
        let first = threads.iter().min_by_key(|thread| (thread.process, thread.number)).unwrap();
        for ((is_one, number), (made, found)) in parts.iter().zip(made.iter().zip(&mut all)) {
            let its: Vec<_> = threads.iter().filter(|thread| is_one(thread, first)).cloned().collect();
            found.push(Found::of(&its, &counts, *number, *made));
        }
    }
    println!("{all:?}");
    Some(all)
}

/// A sum that is right hides parts that are not: 224 thousand reads of a copy through a pipe were found, of
/// which it made 200. A writer that is counted finds its reader asleep more often, and does less in a second: of
/// what else it does 12 to 17 % were missing in half of 21 bills, outside their intervals.
#[test]
fn both_ends_of_a_pipe_have_their_own_calls() {
    let is_here = |one: &Thread, first: &Thread| one.process == first.process;
    let is_there = |one: &Thread, first: &Thread| one.process != first.process;
    let (read, write, other) = (libc::SYS_read, libc::SYS_write, libc::SYS_getppid);
    let ends: [(IsOne, i64); 5] =
        [(is_here, read), (is_here, write), (is_there, read), (is_there, write), (is_here, other)];
    let Some(found) = parts(&["copies", "700"], &ends) else { return };
    for end in found {
        assert!(median(end.iter().map(Found::share).collect()) < SLACK, "{end:?}");
    }
}

#[test]
fn threads_of_unlike_work_have_their_own_calls() {
    let is_fast = |one: &Thread, _: &Thread| one.name == "fast";
    let is_slow = |one: &Thread, _: &Thread| one.name == "slow";
    let both: [(IsOne, i64); 2] = [(is_fast, libc::SYS_getppid), (is_slow, libc::SYS_getppid)];
    let Some(found) = parts(&["unlike", "1500"], &both) else { return };
    // A part may be off by the share by which the whole may.
    let of_whole = |run: usize| found[0][run].half / found.iter().map(|one| one[run].found).sum::<f64>();
    for one in &found {
        let beyond = |(run, part): (usize, &Found)| part.share() / of_whole(run).max(ROUGH);
        assert!(median(one.iter().enumerate().map(beyond).collect()) < 1.0, "{found:?}");
    }
}
