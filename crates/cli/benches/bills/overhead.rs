//! What counting costs a program, in turns with nobody counting.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tollway_stats::paired_ratio;

use crate::Line;
use crate::explained::redis_server;
use crate::program::{Bench, Killed};

/// Turns of each.
const TURNS: usize = 10;
/// What counting may cost: by the kernel's tracepoints, and from /proc.
const MOST: [(&str, f64); 2] = [("kernel", 1.05), ("proc", 1.01)];

pub fn lines(bench: &Bench) -> Vec<Line> {
    bench.bill(&[], &["true".into()]);
    let mut lines = Vec::new();
    for (by, most) in MOST {
        let name = format!("a ping-pong by pipe on one core, counted by {by}");
        lines.push(line(&name, most, |by_it| one_ping_pong(bench, by_it.then_some(by))));
    }
    if let Some(server) = redis_server(bench, "7791") {
        let number = server.0.id();
        for (by, most) in MOST {
            let name = format!("redis-benchmark, counted by {by}");
            let one = |by_it: bool| {
                let _watching = by_it.then(|| bench.watching(&["--by", by], number));
                sleep(Duration::from_millis(if by_it { 400 } else { 0 }));
                redis_benchmark()
            };
            lines.push(line(&name, most, one));
        }
    }
    lines
}

/// Seconds with counting and without, in turns of which every other one goes backwards.
fn line(what: &str, most: f64, mut seconds: impl FnMut(bool) -> f64) -> Line {
    let mut pair = |turn: usize| {
        let first = turn.is_multiple_of(2);
        let (one, other) = (seconds(first), seconds(!first));
        vec![if first { (other, one) } else { (one, other) }]
    };
    let ratios: Vec<Vec<(f64, f64)>> = (0..TURNS).map(&mut pair).collect();
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

/// Seconds of a ping-pong, watched or not.
fn one_ping_pong(bench: &Bench, by: Option<&str>) -> f64 {
    let words = bench.example("changes", &["pipe", "1600000", "after"]);
    let begun = Instant::now();
    let mut program = Command::new(&words[0]);
    let mut program =
        Killed(program.args(&words[1..]).stdout(Stdio::null()).spawn().expect("the example is there"));
    let _watching = by.map(|by| bench.watching(&["--by", by], program.0.id()));
    let _ = program.0.wait();
    begun.elapsed().as_secs_f64()
}

/// Seconds of so many requests.
fn redis_benchmark() -> f64 {
    let begun = Instant::now();
    let mut load = Command::new("redis-benchmark");
    load.args(["-p", "7791", "-t", "set", "-n", "600000", "-c", "20", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = load.status();
    begun.elapsed().as_secs_f64()
}
