//! The bars of the path `machine`: each engine beside the field's own tool at equal settings, in turns, by the path's examples, which play
//! either. A bar is a margin within which the two have to be the same.

use std::collections::BTreeMap;
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

/// Our word among those by whom a turn is.
const OURS: &str = "tollway";

/// An engine and the tool that does the same.
#[derive(Clone, Copy)]
struct Pair {
    name: &'static str,
    example: &'static str,
    /// The example's arguments. In them `{by}` is who plays, ours or the tool's name; `{all}` the number of processors; `{rounds}` how many
    /// rounds are to be played: with it the example plays both, a line of JSON for each turn that says `by` whom it is and in which `round`.
    arguments: &'static str,
    /// The name of the figure in the JSON that it prints, and what it is of.
    figure: (&'static str, &'static str),
    /// The tool.
    tool: &'static str,
    /// The share by which both may differ.
    margin: f64,
}

const fn events(name: &'static str, arguments: &'static str) -> Pair {
    let figure = ("events_per_second", "events/s");
    Pair { name, example: "machine_cpu", arguments, figure, tool: "sysbench", margin: 0.03 }
}

const fn disk(name: &'static str, arguments: &'static str) -> Pair {
    let figure = ("accesses_per_second", "IO/s");
    Pair { name, example: "machine_disk", arguments, figure, tool: "fio", margin: 0.10 }
}

const PAIRS: &[Pair] = &[
    events("machine: events, 1 thread / sysbench", "{by} 1 1"),
    events("machine: events, all threads / sysbench", "{by} {all} 1"),
    disk("machine: random read, 4 KiB / fio", "randread 4096 32 direct 256 300 {rounds} fio"),
    disk("machine: random write, 4 KiB / fio", "randwrite 4096 32 direct 256 300 {rounds} fio"),
    disk("machine: read, 4 KiB / fio", "read 4096 32 direct 256 300 {rounds} fio"),
    disk("machine: write, 4 KiB / fio", "write 4096 32 direct 256 300 {rounds} fio"),
    disk("machine: mixed, 4 KiB / fio", "randrw 4096 32 direct 256 300 {rounds} fio"),
    disk("machine: read, 1 MiB / fio", "read 1048576 32 direct 256 300 {rounds} fio"),
    disk("machine: write, 1 MiB / fio", "write 1048576 32 direct 256 300 {rounds} fio"),
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
        PAIRS.iter().filter(|pair| only.wants(pair.name)).map(|pair| self.row(*pair, rounds, seed)).collect()
    }

    fn row(&self, pair: Pair, rounds: u32, seed: u64) -> Row {
        let bar = Bar::Agrees(pair.margin);
        let lacking = pair.needs().iter().find_map(|requirement| check(requirement).err());
        let (row, verdict) = match lacking {
            Some(missing) => (Row::default(), Verdict::Skipped(missing.to_string())),
            None => self
                .compare(pair, bar, rounds, seed)
                .unwrap_or_else(|error| (Row::default(), Verdict::Broken(format!("{error:#}")))),
        };
        Row { name: pair.name.into(), bar: bar.to_string(), verdict, ..row }
    }

    /// So many rounds, and as many again until the bar is known to hold or to fail.
    fn compare(&self, pair: Pair, bar: Bar, rounds: u32, seed: u64) -> Result<(Row, Verdict)> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut pairs = Vec::new();
        let mut verdict = Verdict::NotSeparable;
        for _ in 0..LOOKS {
            if pair.arguments.contains("{rounds}") {
                pairs.extend(self.rounds(pair, rounds)?);
            } else {
                let turn = |ours| self.turn(pair, if ours { OURS } else { pair.tool });
                pairs.extend(in_turns(rounds, &mut rng, turn)?);
            }
            verdict = bar.judge(&paired_ratio(&pairs)?.interval(CONFIDENCE)?);
            if verdict != Verdict::NotSeparable {
                break;
            }
        }
        let (row, _) = ratio(&pairs, |rate| format!("{rate:.0} {}", pair.figure.1))?;
        Ok((row, verdict))
    }

    fn turn(&self, pair: Pair, by: &str) -> Result<f64> {
        let told = self.run(pair, &[("{by}", by)])?;
        ensure!(told.len() == 1, "{} by {by} said {} lines", pair.example, told.len());
        pair.rate(&told[0])
    }

    /// Pairs (tool, ours); two rounds of the example, which begins with either in turn, are one of ours.
    fn rounds(&self, pair: Pair, rounds: u32) -> Result<Vec<Vec<(f64, f64)>>> {
        let told = self.run(pair, &[("{rounds}", &(2 * rounds).to_string())])?;
        let mut played: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for turn in &told {
            let round = turn["round"].as_u64().with_context(|| format!("no round: {turn}"))?;
            let (tool, ours) = played.entry(round).or_insert((f64::NAN, f64::NAN));
            *(if turn["by"] == OURS { ours } else { tool }) = pair.rate(turn)?;
        }
        let played: Vec<(f64, f64)> = played.into_values().collect();
        Ok(played.chunks(2).map(<[_]>::to_vec).collect())
    }

    /// Runs the example and returns the lines that it prints.
    fn run(&self, pair: Pair, words: &[(&str, &str)]) -> Result<Vec<Value>> {
        let all = self.cpus.len().to_string();
        let filled = words
            .iter()
            .fold(pair.arguments.replace("{all}", &all), |text, (word, value)| text.replace(word, value));
        let path = self.examples.join(pair.example);
        let output = Command::new(&path).args(filled.split(' ')).output();
        let output = output.with_context(|| format!("starting {}", path.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let complaints = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} {filled} failed: {complaints}", pair.example);
        let lines = said.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        lines.with_context(|| format!("{} {filled} said: {said}", pair.example))
    }
}

impl Pair {
    fn rate(&self, told: &Value) -> Result<f64> {
        let rate = told[self.figure.0].as_f64().with_context(|| format!("no {}: {told}", self.figure.0))?;
        ensure!(rate > 0.0, "nothing was done: {told}");
        Ok(rate)
    }

    fn needs(&self) -> Vec<Requirement> {
        // Debian's packages are called as the programs are.
        let mut needs = vec![Requirement::Program(self.tool.into(), self.tool.into())];
        if self.example == "machine_disk" {
            needs.extend([Requirement::IoUring, Requirement::DirectIo]);
        }
        needs
    }
}
