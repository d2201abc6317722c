//! What counting costs a program, in turns with nobody counting. The program goes on all the while, and tells by its reads how far it has come.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollway_stats::paired_ratio;

use crate::Line;
use crate::explained::redis_server;
use crate::program::{Bench, Killed};

/// Turns of each, how long one is, and how long it takes until one who begins to count does so, or one who was killed does so no more.
const TURNS: usize = 30;
const TURN: Duration = Duration::from_millis(1500);
const BEGINS: Duration = Duration::from_millis(500);
/// What counting may cost: by the kernel's tracepoints, and from /proc.
const MOST: [(&str, f64); 2] = [("kernel", 1.05), ("proc", 1.01)];

pub fn lines(bench: &Bench) -> Vec<Line> {
    bench.bill(&[], &["true".into()]);
    let words = bench.example("changes", &["pipe", "1000000000", "after"]);
    let ping_pong = Killed(quiet(&words[0]).args(&words[1..]).spawn().expect("the example is there"));
    let mut lines = of("a ping-pong by pipe on one core", bench, ping_pong.0.id());
    drop(ping_pong);
    if let Some(server) = redis_server(bench, "7791") {
        let mut load = quiet("redis-benchmark");
        load.args(["-p", "7791", "-t", "set", "-n", "1000000000", "-c", "20", "-q"]);
        let _load = Killed(load.spawn().expect("it is in redis' package"));
        lines.extend(of("redis-benchmark", bench, server.0.id()));
    }
    lines
}

fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn of(what: &str, bench: &Bench, process: u32) -> Vec<Line> {
    sleep(BEGINS);
    let line = |(by, most): (&str, f64)| {
        let watched = || {
            let mut watching = bench.watching(&["--by", by], process);
            sleep(BEGINS);
            let seconds = seconds_of_a_read(process);
            assert!(matches!(watching.0.try_wait(), Ok(None)), "nobody counts by {by}");
            seconds
        };
        let alone = || {
            sleep(BEGINS);
            seconds_of_a_read(process)
        };
        line(&format!("{what}, counted by {by}"), most, alone, watched)
    };
    MOST.map(line).into()
}

/// How long the program takes to read once.
fn seconds_of_a_read(process: u32) -> f64 {
    let (before, begun) = (reads(process), Instant::now());
    sleep(TURN);
    let (took, reads) = (begun.elapsed(), reads(process) - before);
    took.as_secs_f64() / reads as f64
}

/// Calls that read, so far (proc(5), `syscr` of /proc/PID/io).
fn reads(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/io")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("syscr: "));
    line.and_then(|number| number.parse().ok()).expect("the kernel tells")
}

/// Both in turns, of which every other pair goes backwards.
fn line(what: &str, most: f64, alone: impl Fn() -> f64, watched: impl Fn() -> f64) -> Line {
    let pair = |turn: usize| {
        let pair = if turn.is_multiple_of(2) {
            let watched = watched();
            (alone(), watched)
        } else {
            (alone(), watched())
        };
        vec![pair]
    };
    let ratios: Vec<Vec<(f64, f64)>> = (0..TURNS).map(pair).collect();
    let found = paired_ratio(&ratios).and_then(|ratio| Ok((ratio.estimate(), ratio.interval(0.95)?)));
    let (found, holds) = match found {
        Ok((estimate, interval)) => {
            let holds = if interval.hi <= most {
                Some(true)
            } else if interval.lo > most {
                Some(false)
            } else {
                None
            };
            (format!("{estimate:.3} [{:.3}, {:.3}] of its time", interval.lo, interval.hi), holds)
        }
        Err(error) => (error.to_string(), None),
    };
    Line { what: what.into(), found, bar: format!("at most {most:.2}"), holds }
}
