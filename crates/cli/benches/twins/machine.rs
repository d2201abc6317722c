//! The bars of the path `machine`: each engine beside the field's own tool, as programs in turns; what they say of themselves is what is
//! compared, and a bar is a margin within which the two have to be the same.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use tollway_core::Requirement;
use tollway_host::requirement::check;
use tollway_stats::paired_ratio;

use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::{in_turns, ratio};

/// How often it is looked whether the turns taken so far are enough.
const LOOKS: u32 = 4;

/// How sure a look must be, so that all together err in one case of twenty.
const CONFIDENCE: f64 = 1.0 - 0.05 / LOOKS as f64;

/// Stands in arguments for the number of this machine's processors.
const ALL: &str = "{all}";

/// An engine and the tool that does the same.
struct Pair {
    name: &'static str,
    /// The path's example, its arguments, and the name of the figure in the JSON that it prints.
    ours: (&'static str, &'static [&'static str], &'static str),
    /// The tool, its Debian package, and its arguments.
    tool: (&'static str, &'static str, &'static [&'static str]),
    /// What stands before the tool's figure.
    after: &'static str,
    /// What the figure is of.
    unit: &'static str,
    /// The share by which both may differ.
    margin: f64,
}

const PAIRS: &[Pair] = &[
    Pair {
        name: "machine: events, 1 thread / sysbench",
        ours: ("machine_cpu", &["1", "1"], "events_per_second"),
        tool: ("sysbench", "sysbench", &["cpu", "--cpu-max-prime=10000", "--threads=1", "--time=1", "run"]),
        after: "events per second:",
        unit: "events/s",
        margin: 0.03,
    },
    Pair {
        name: "machine: events, all threads / sysbench",
        ours: ("machine_cpu", &[ALL, "1"], "events_per_second"),
        tool: (
            "sysbench",
            "sysbench",
            &["cpu", "--cpu-max-prime=10000", "--threads={all}", "--time=1", "run"],
        ),
        after: "events per second:",
        unit: "events/s",
        margin: 0.03,
    },
];

/// What was built beside this benchmark.
pub struct Machine<'a> {
    /// The folder of the path's examples.
    pub examples: &'a Path,
    /// This machine's processors.
    pub cpus: &'a [u32],
}

impl Machine<'_> {
    /// Measures those of which one of `only` is in the name, or all.
    pub fn measure(&self, rounds: u32, seed: u64, only: &Only) -> Vec<Row> {
        PAIRS.iter().filter(|pair| only.wants(pair.name)).map(|pair| self.row(pair, rounds, seed)).collect()
    }

    fn row(&self, pair: &Pair, rounds: u32, seed: u64) -> Row {
        let bar = Bar::Agrees(pair.margin);
        let (program, package, _) = pair.tool;
        let (row, verdict) = match check(&Requirement::Program(program.into(), package.into())) {
            Err(missing) => (Row::default(), Verdict::Skipped(missing.to_string())),
            Ok(()) => self
                .compare(pair, bar, rounds, seed)
                .unwrap_or_else(|error| (Row::default(), Verdict::Broken(format!("{error:#}")))),
        };
        Row { name: pair.name.into(), bar: bar.to_string(), verdict, ..row }
    }

    /// So many rounds, and as many again until the bar is known to hold or to fail.
    fn compare(&self, pair: &Pair, bar: Bar, rounds: u32, seed: u64) -> Result<(Row, Verdict)> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut pairs = Vec::new();
        let mut verdict = Verdict::NotSeparable;
        for _ in 0..LOOKS {
            pairs.extend(in_turns(rounds, &mut rng, |ours| self.play(pair, ours))?);
            verdict = bar.judge(&paired_ratio(&pairs)?.interval(CONFIDENCE)?);
            if verdict != Verdict::NotSeparable {
                break;
            }
        }
        let (row, _) = ratio(&pairs, |rate| format!("{rate:.0} {}", pair.unit))?;
        Ok((row, verdict))
    }

    /// One trial of a side: what it says.
    fn play(&self, pair: &Pair, ours: bool) -> Result<f64> {
        let (example, ours_arguments, figure) = pair.ours;
        let (program, _, tool_arguments) = pair.tool;
        let figure_of = |said: &str| match ours {
            true => serde_json::from_str::<Value>(said).ok()?.get(figure)?.as_f64(),
            false => said.split_once(pair.after)?.1.split_whitespace().next()?.parse().ok(),
        };
        let (path, arguments) = match ours {
            true => (self.examples.join(example), ours_arguments),
            false => (program.into(), tool_arguments),
        };
        let all = self.cpus.len().to_string();
        let output = Command::new(&path).args(arguments.iter().map(|word| word.replace(ALL, &all))).output();
        let output = output.with_context(|| format!("starting {}", path.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let complaints = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} failed: {said}{complaints}", path.display());
        let rate = figure_of(&said).with_context(|| format!("{} said: {said}", path.display()))?;
        ensure!(rate > 0.0, "{} did nothing: {said}", path.display());
        Ok(rate)
    }
}
