//! The bars of the path `machine`: each engine beside the field's own tool at equal settings, in turns and in processes of their own, by the
//! path's examples, which play either. A bar is a margin within which the two have to be the same, and there are as many turns as it takes to
//! know whether they are ([`tollway_stats::UntilKnown`]), or as there is time for.
//!
//! With `--planted` each of our engines also does more work than it counts, by a tenth or a quarter: these rows hold where the comparison
//! finds that out.

mod contest;
mod primes;
mod stream;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tollway_core::Requirement;
use tollway_host::requirement::check;

use crate::bar::Row;
use crate::only::Only;
use contest::{Contest, Lines, Side};

/// What was built beside this benchmark.
pub struct Machine<'a> {
    /// The folder of the path's examples.
    pub examples: &'a Path,
    /// This machine's processors.
    pub cpus: &'a [u32],
    /// Whether to plant slowdowns, too.
    pub planted: bool,
}

/// fio's patterns and sizes.
const DISK: [(&str, &str, &str); 7] = [
    ("random read, 4 KiB", "randread", "4096"),
    ("random write, 4 KiB", "randwrite", "4096"),
    ("read, 4 KiB", "read", "4096"),
    ("write, 4 KiB", "write", "4096"),
    ("mixed, 4 KiB", "randrw", "4096"),
    ("read, 1 MiB", "read", "1048576"),
    ("write, 1 MiB", "write", "1048576"),
];

impl Machine<'_> {
    /// Measures those of which one of `only` is in the name, or all.
    pub fn measure(&self, seed: u64, only: &Only) -> Vec<Row> {
        let mut rows = primes::measure(self, only);
        let contests = self.contests();
        for contest in contests.iter().filter(|contest| !contest.planted || self.planted) {
            rows.extend(contest.measure(seed, only));
        }
        rows
    }

    fn contests(&self) -> Vec<Contest> {
        let all = self.cpus.len().to_string();
        let mut contests = Vec::new();
        for planted in [false, true] {
            contests.push(self.events("1 thread", "1", planted));
            if !planted {
                contests.push(self.events("all threads", &all, false));
            }
            contests.push(stream::contest(self, 1, planted));
            if !planted && self.cpus.len() > 1 {
                contests.push(stream::contest(self, self.cpus.len(), false));
            }
            let patterns = if planted { &DISK[..1] } else { &DISK[..] };
            contests.extend(patterns.iter().map(|row| self.disk(*row, planted)));
            contests.push(self.streams(planted));
        }
        contests
    }

    fn events(&self, name: &str, threads: &str, planted: bool) -> Contest {
        let mut ours = vec!["tollway", threads, "1"];
        ours.extend(planted.then_some("slowed"));
        Contest {
            figures: vec![(format!("machine: events, {name} / sysbench"), "events_per_second")],
            told: |rate| format!("{rate:.1} events/s"),
            sides: Ok(Lines::Apart {
                ours: self.example("machine_cpu", &ours),
                tool: self.example("machine_cpu", &["sysbench", threads, "1"]),
            }),
            margin: 0.03,
            planted,
        }
        .with(&[tool("sysbench")])
    }

    fn disk(&self, (name, pattern, size): (&str, &str, &str), planted: bool) -> Contest {
        let play = |first: &str| {
            let mut words = vec![pattern, size, "32", "direct", "256", "300", "2", first];
            words.extend(planted.then_some("slowed"));
            self.example("machine_disk", &words)
        };
        Contest {
            figures: vec![(format!("machine: {name} / fio"), "accesses_per_second")],
            told: |rate| format!("{rate:.0} IO/s"),
            sides: Ok(Lines::Together { ours_first: play("fio"), tool_first: play("fio-first") }),
            margin: 0.10,
            planted,
        }
        .with(&[tool("fio"), Requirement::IoUring, Requirement::DirectIo])
    }

    fn streams(&self, planted: bool) -> Contest {
        let by = |by: &str| self.example("machine_network", &["--by", by, "--seconds", "2"]);
        Contest {
            figures: vec![("machine: TCP by loopback / iperf3".into(), "bits_per_second")],
            told: |rate| format!("{:.2} Gbit/s", rate / 1e9),
            sides: Ok(Lines::Apart {
                ours: by(if planted { "slowed" } else { "tollway" }),
                tool: by("iperf3"),
            }),
            margin: 0.05,
            planted,
        }
        .with(&[tool("iperf3")])
    }

    fn example(&self, name: &str, words: &[&str]) -> Side {
        Side::new(self.examples.join(name), words)
    }
}

/// Debian's packages are called as the programs are.
fn tool(name: &str) -> Requirement {
    Requirement::Program(name.into(), name.into())
}

impl Contest {
    /// Not without these.
    fn with(mut self, needs: &[Requirement]) -> Self {
        if let Some(missing) = needs.iter().find_map(|requirement| check(requirement).err()) {
            self.sides = Err(missing);
        }
        self
    }
}

/// Runs a program and returns the lines of JSON that it prints.
fn lines_of(program: &PathBuf, words: &[String], path: Option<&std::ffi::OsStr>) -> Result<Vec<Value>> {
    let mut command = Command::new(program);
    command.args(words);
    command.envs(path.map(|path| ("PATH", path)));
    let output = command.output().with_context(|| format!("starting {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    let call = || format!("{} {}", program.display(), words.join(" "));
    ensure!(output.status.success(), "{} failed: {complaints}", call());
    let lines = said.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    lines.with_context(|| format!("{} said: {said}", call()))
}
