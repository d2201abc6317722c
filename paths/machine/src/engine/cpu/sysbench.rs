//! sysbench's own processor test, run and read.

use std::process::Command;
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_host::program::{Given, last_words, output};

/// The program, and the Debian package that has it.
pub const SYSBENCH: (&str, &str) = ("sysbench", "sysbench");

/// What it may take besides: to start, to end the last event of each thread, of which there are thousands, and to be late.
pub const BESIDES: Duration = Duration::from_secs(60);

/// What sysbench said.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Events of all threads.
    pub events: u64,
    /// Events a second, as it reckons.
    pub per_second: f64,
    /// How long events took, in milliseconds, and how many took so long: its histogram, whose steps are 1.8 %.
    pub latencies: Vec<(f64, u64)>,
}

/// Runs `sysbench cpu` with so many threads for so many seconds on these processors.
///
/// # Errors
/// [`Error::System`] if it cannot be started, fails, or says what cannot be read.
pub fn run(threads: u32, limit: u64, seconds: u64, cpus: &[u32]) -> Result<Report> {
    let mut command = Command::new(SYSBENCH.0);
    command.arg("cpu").args([
        format!("--threads={threads}"),
        format!("--time={seconds}"),
        format!("--cpu-max-prime={limit}"),
    ]);
    command.args(["--histogram=on", "run"]);
    let said =
        output(&mut command, Given { cpus, ..Given::default() }, Duration::from_secs(seconds) + BESIDES)?;
    parsed(&said).ok_or_else(|| Error::system("reading what sysbench said", last_words(&said)))
}

fn parsed(said: &str) -> Option<Report> {
    let after = |label: &str| said.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::trim);
    let latencies: Vec<(f64, u64)> = said.lines().filter_map(bucket).collect();
    let report = Report {
        events: after("total number of events:")?.parse().ok()?,
        per_second: after("events per second:")?.parse().ok()?,
        latencies,
    };
    let counted: u64 = report.latencies.iter().map(|(_, count)| count).sum();
    (report.events > 0 && report.per_second > 0.0 && counted == report.events).then_some(report)
}

/// A line of its histogram: `0.218 |*** 7`.
fn bucket(line: &str) -> Option<(f64, u64)> {
    let (value, rest) = line.split_once('|')?;
    Some((value.trim().parse().ok()?, rest.trim_start_matches('*').trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use tollway_core::Requirement;
    use tollway_host::cpu::allowed_cpus;
    use tollway_host::requirement::test_has;

    use super::*;

    /// What sysbench 1.0.20 said of two threads on two processors that others wanted, too.
    const SAID: &str = include_str!("../../../tests/sysbench-cpu.txt");

    #[test]
    fn what_it_said_once_is_read() {
        let report = parsed(SAID).unwrap();
        assert_eq!((report.events, report.per_second), (1823, 1782.54));
        assert_eq!(report.latencies[..2], [(0.218, 7), (0.222, 561)]);
        assert_eq!(report.latencies.last(), Some(&(32.525, 1)));
    }

    #[test]
    fn what_does_not_add_up_is_not_read() {
        for (from, to) in [("561", "560"), ("1823", "0"), ("1782.54", "0.00"), ("events per second", "")] {
            assert_eq!(parsed(&SAID.replace(from, to)), None, "{from} → {to}");
        }
    }

    /// The ends of the axes `threads` and `below`, but for ten millions, of which an event takes seconds.
    #[test]
    fn arguments_at_their_ends_are_what_sysbench_takes() {
        if !test_has(&[(Requirement::Program(SYSBENCH.0.into(), SYSBENCH.1.into()), "sysbench")]) {
            return;
        }
        let cpus = allowed_cpus().unwrap();
        for (threads, below) in [(1, 1), (1, 100_000), (4096, 1), (4096, 10_000)] {
            let report =
                run(threads, below, 1, &cpus).unwrap_or_else(|e| panic!("{threads} threads, {below}: {e}"));
            assert!(report.events > 0, "{threads} threads, {below}");
        }
    }

    #[test]
    fn it_runs_where_it_is_installed() {
        if !test_has(&[(Requirement::Program(SYSBENCH.0.into(), SYSBENCH.1.into()), "sysbench")]) {
            return;
        }
        let cpus = allowed_cpus().unwrap();
        let report = run(1, 1000, 1, &cpus).unwrap();
        let counted: u64 = report.latencies.iter().map(|(_, count)| count).sum();
        assert_eq!(counted, report.events);
        assert!(run(1, 0, 1, &cpus).unwrap_err().to_string().contains("cpu-max-prime"));
    }
}
