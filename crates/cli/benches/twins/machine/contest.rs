//! Two sides in turns until it is known whether they are the same.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tollway_core::Missing;
use tollway_stats::{Outcome, UntilKnown, paired_ratio};

use super::lines_of;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::ratio;

/// How long turns go on where noise keeps intervals wide.
const LONGEST: Duration = Duration::from_secs(300);

/// What our examples call themselves where they play both.
const OURS: [&str; 2] = ["tollway", "slowed"];

/// A program that prints figures.
pub struct Side {
    program: PathBuf,
    words: Vec<String>,
    /// Where it looks for programs, if not where we do.
    pub path: Option<OsString>,
}

impl Side {
    pub fn new(program: PathBuf, words: &[&str]) -> Side {
        Side { program, words: words.iter().map(|word| (*word).into()).collect(), path: None }
    }

    pub fn lines(&self) -> Result<Vec<Value>> {
        lines_of(&self.program, &self.words, self.path.as_deref())
    }
}

/// Who plays.
pub enum Lines {
    /// A process for each turn of each side; one line each.
    Apart { ours: Side, tool: Side },
    /// A process that plays two rounds of both, in both orders, and says of each line `by` whom and in which `round`.
    Together { ours_first: Side, tool_first: Side },
}

/// An engine and the tool that does the same.
pub struct Contest {
    /// The rows' names, and where their figure is in a line.
    pub figures: Vec<(String, &'static str)>,
    /// How a figure is written.
    pub told: fn(f64) -> String,
    /// Who plays, or what keeps them from it.
    pub sides: Result<Lines, Missing>,
    /// The share by which both may differ.
    pub margin: f64,
    /// Whether ours is slowed, so that they have to differ.
    pub planted: bool,
}

/// Pairs (tool, ours) of one figure, block by block.
type Pairs = Vec<Vec<(f64, f64)>>;

impl Contest {
    /// A row for each of its figures that is wanted.
    pub fn measure(&self, seed: u64, only: &Only) -> Vec<Row> {
        let bar = if self.planted { Bar::Differs(self.margin) } else { Bar::Agrees(self.margin) };
        let named = |name: &str| if self.planted { format!("{name}, planted") } else { name.into() };
        let wanted: Vec<(String, &str)> = self
            .figures
            .iter()
            .map(|(name, figure)| (named(name), *figure))
            .filter(|(name, _)| only.wants(name))
            .collect();
        let played = match &self.sides {
            _ if wanted.is_empty() => return Vec::new(),
            Err(missing) => Err(Verdict::Skipped(missing.to_string())),
            Ok(sides) => self.compare(sides, &wanted, seed).map_err(|e| Verdict::Broken(format!("{e:#}"))),
        };
        let without =
            |verdict: &Verdict| vec![Row { verdict: verdict.clone(), ..Row::default() }; wanted.len()];
        let rows = played.unwrap_or_else(|verdict| without(&verdict));
        let complete = |((name, _), row): (&(String, &str), Row)| Row {
            name: name.clone(),
            bar: bar.to_string(),
            ..row
        };
        wanted.iter().zip(rows).map(complete).collect()
    }

    fn compare(&self, sides: &Lines, figures: &[(String, &str)], seed: u64) -> Result<Vec<Row>> {
        let rule = UntilKnown::within(self.margin)?;
        let (mut rng, begun) = (StdRng::seed_from_u64(seed), Instant::now());
        let mut played: Vec<Pairs> = vec![Vec::new(); figures.len()];
        loop {
            for block in sides.block(&mut rng, figures)?.into_iter().zip(&mut played) {
                block.1.push(block.0);
            }
            let blocks = played[0].len();
            if io::stderr().is_terminal() {
                eprint!("\r{}, turn {blocks} ", figures[0].0);
            }
            let enough = blocks > 1
                && played
                    .iter()
                    .try_fold(true, |all, pairs| anyhow::Ok(all && rule.is_enough(&paired_ratio(pairs)?)?))?;
            if enough || blocks > 1 && begun.elapsed() > LONGEST {
                break;
            }
        }
        if io::stderr().is_terminal() {
            eprintln!();
        }
        played.iter().map(|pairs| self.judge(rule, pairs)).collect()
    }

    fn judge(&self, rule: UntilKnown, pairs: &Pairs) -> Result<Row> {
        let verdict = match (rule.outcome(&paired_ratio(pairs)?)?, self.planted) {
            (Outcome::Same, false) | (Outcome::Different, true) => Verdict::Holds,
            (Outcome::Same, true) | (Outcome::Different, false) => Verdict::Fails,
            (Outcome::NotSeparable, _) => Verdict::NotSeparable,
        };
        let (row, _) = ratio(pairs, self.told)?;
        let measured = format!("{}, {} blocks", row.measured, pairs.len());
        Ok(Row { measured, verdict, ..row })
    }
}

impl Lines {
    /// Two pairs of each figure, in both orders.
    fn block(&self, rng: &mut StdRng, figures: &[(String, &str)]) -> Result<Pairs> {
        let first: bool = rng.random();
        // (tool, ours) of two rounds.
        let mut rounds = [(None, None), (None, None)];
        match self {
            Lines::Apart { ours, tool } => {
                for (round, ours_first) in rounds.iter_mut().zip([first, !first]) {
                    for ours_turn in [ours_first, !ours_first] {
                        let side = if ours_turn { ours } else { tool };
                        let [line] = <[Value; 1]>::try_from(side.lines()?).map_err(|lines| {
                            anyhow::anyhow!("{} said {} lines", side.program.display(), lines.len())
                        })?;
                        *(if ours_turn { &mut round.1 } else { &mut round.0 }) = Some(line);
                    }
                }
            }
            Lines::Together { ours_first, tool_first } => {
                for line in (if first { ours_first } else { tool_first }).lines()? {
                    let round = line["round"].as_u64().and_then(|round| rounds.get_mut(round as usize));
                    let round = round.with_context(|| format!("in none of two rounds: {line}"))?;
                    let ours = OURS.iter().any(|name| line["by"] == *name);
                    *(if ours { &mut round.1 } else { &mut round.0 }) = Some(line);
                }
            }
        }
        let rate = |line: &Option<Value>, figure: &str| -> Result<f64> {
            let line = line.as_ref().context("a side did not play")?;
            let rate = line[figure].as_f64().with_context(|| format!("no {figure}: {line}"))?;
            ensure!(rate > 0.0, "nothing was done: {line}");
            Ok(rate)
        };
        figures
            .iter()
            .map(|(_, figure)| {
                rounds.iter().map(|(tool, ours)| Ok((rate(tool, figure)?, rate(ours, figure)?))).collect()
            })
            .collect()
    }
}
