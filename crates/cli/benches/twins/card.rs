//! The bars of the crypto card, one tenant and many: what comes through it beside what the library does alone, and what sixteen
//! tenants get of it when one floods.
//!
//! Every trial is a card in a process of its own, on one processor, and whoever asks in another, on the other (the cipher path's
//! example `card`).

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tollway_core::Requirement;
use tollway_host::requirement::check;
use tollway_stats::Interval;

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::{in_turns, ratio};

/// Seconds of a trial.
const SECONDS: &str = "0.4";

/// What was built beside this benchmark.
pub struct Card<'a> {
    /// The cipher path's example `card`.
    pub example: &'a Path,
}

/// The unit of the requests that tenants have done in a second.
const RATE: &str = "million/s";

/// What the others keep beside one that floods, and what of it is held against what they have beside one like them.
#[derive(Clone, Copy)]
enum Kept {
    Requests,
    P99,
}

impl Card<'_> {
    /// Measures those of which one of `only` is in the name, or all.
    pub fn measure(&self, rounds: u32, seed: u64, only: &Only) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut row = |name: &str, bar: Bar, measure: &dyn Fn() -> Result<(Row, Interval)>| {
            if !only.wants(name) {
                return;
            }
            let (row, verdict) = match check(&Requirement::Cores(2)) {
                Err(missing) => (Row::default(), Verdict::Skipped(missing.to_string())),
                Ok(()) => match measure() {
                    Ok((row, measured)) => (row, bar.judge(&measured)),
                    Err(error) => (Row::default(), Verdict::Broken(format!("{error:#}"))),
                },
            };
            rows.push(Row { name: name.into(), bar: bar.to_string(), verdict, ..row });
        };
        let nine_tenths = Bar::AtLeast(0.9, "");
        row("card: AES-128-CBC, 16 KiB / the library alone", nine_tenths, &|| {
            let ours = ["one", "cbc", "16384", "8", SECONDS];
            self.beside(rounds, seed, &ours, &[&["library", "cbc", "16384", "8", SECONDS]])
        });
        row("card: AES-128-CTR, 16 KiB / library or copy", nine_tenths, &|| {
            let ours = ["one", "ctr", "16384", "8", SECONDS];
            let theirs: [&[&str]; 2] =
                [&["library", "ctr", "16384", "8", SECONDS], &["transfer", "16384", "8", SECONDS]];
            self.beside(rounds, seed, &ours, &theirs)
        });
        row("card: 64 bytes, 32 in flight", Bar::AtLeast(2.0, RATE), &|| self.small(rounds));
        row("card: 15 beside a flood, fair: requests", nine_tenths, &|| {
            self.flood(rounds, seed, "fair", Kept::Requests)
        });
        row("card: 15 beside a flood, fair: p99", Bar::AtMost(2.0, ""), &|| {
            self.flood(rounds, seed, "fair", Kept::P99)
        });
        // What first come, first served does to them: nobody would want it otherwise.
        row("card: 15 beside a flood, by arrival: requests", Bar::AtMost(0.9, ""), &|| {
            self.flood(rounds, seed, "arrival", Kept::Requests)
        });
        row("card: 15 beside a flood, by arrival: p99", Bar::AtLeast(1.0, ""), &|| {
            self.flood(rounds, seed, "arrival", Kept::P99)
        });
        rows
    }

    /// Requests a second, over those of the slowest of others; the greater, the better.
    fn beside(&self, rounds: u32, seed: u64, ours: &[&str], theirs: &[&[&str]]) -> Result<(Row, Interval)> {
        let pairs = in_turns(rounds, &mut StdRng::seed_from_u64(seed), |is_ours| {
            if is_ours {
                return Ok(self.play(ours)?[0]);
            }
            let rates = theirs.iter().map(|words| Ok(self.play(words)?[0])).collect::<Result<Vec<f64>>>()?;
            Ok(rates.into_iter().fold(f64::INFINITY, f64::min))
        })?;
        ratio(&pairs, |rate| format!("{:.2} GB/s", rate * 16384.0 / 1e9))
    }

    fn small(&self, rounds: u32) -> Result<(Row, Interval)> {
        let once = || -> Result<f64> { Ok(self.play(&["one", "cbc", "64", "32", SECONDS])?[0] / 1e6) };
        let blocks = (0..rounds).map(|_| Ok(vec![once()?, once()?])).collect::<Result<Vec<_>>>()?;
        let measured = tollway_stats::figure(&blocks, CONFIDENCE)?;
        let best = blocks.iter().flatten().copied().fold(0.0, f64::max);
        let text = format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi);
        let row = Row { ours: format!("best {best:.2} {RATE}"), measured: text, ..Row::default() };
        Ok((row, measured))
    }

    /// What the one of the others that has it worst has beside one that floods, over what they all have beside one like them.
    fn flood(&self, rounds: u32, seed: u64, order: &str, kept: Kept) -> Result<(Row, Interval)> {
        let pairs = in_turns(rounds, &mut StdRng::seed_from_u64(seed), |is_ours| {
            let what = if is_ours { "flood" } else { "alike" };
            let said = self.play(&["many", order, "32", what, SECONDS])?;
            match (kept, &said[..]) {
                // Beside a flood that one of them counts which has it worst; beside a like one, what each has.
                (Kept::Requests, [least, mean, ..]) => Ok(if is_ours { *least } else { *mean }),
                (Kept::P99, [_, _, worst, all, _]) => Ok(if is_ours { *worst } else { *all }),
                _ => bail!("{} figures", said.len()),
            }
        })?;
        ratio(&pairs, |figure| match kept {
            Kept::Requests => format!("{:.3} {RATE}", figure / 1e6),
            Kept::P99 => format!("{figure:.0} µs"),
        })
    }

    /// The figures of one trial.
    fn play(&self, words: &[&str]) -> Result<Vec<f64>> {
        let output = Command::new(self.example).args(words).output();
        let output = output.with_context(|| format!("starting {}", self.example.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let figures: Option<Vec<f64>> = said.split_whitespace().map(|word| word.parse().ok()).collect();
        match figures {
            Some(figures) if !figures.is_empty() && output.status.success() => Ok(figures),
            _ => bail!("{words:?} failed: {said}{}", String::from_utf8_lossy(&output.stderr)),
        }
    }
}
