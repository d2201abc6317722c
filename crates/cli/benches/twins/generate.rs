//! The bar of the traffic generator: a capture file of shortest frames replayed at full speed over a veth pair, by ours
//! and by tcpreplay in turns; processor time a frame, of which the kernel takes most on both sides.
//!
//! The example counts what comes out at the other end: a trial in which a frame is missing has no figure.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tollway_core::{Missing, Requirement};
use tollway_host::requirement::check;
use tollway_stats::{Interval, paired_ratio};

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::in_turns;

const NAME: &str = "generator: full speed / tcpreplay";
const BAR: Bar = Bar::AtMost(1.0, "");
const FRAMES: &str = "300000";

/// What was built beside this benchmark.
pub struct Generators<'a> {
    /// The capture path's example `replaying`.
    pub ours: &'a Path,
}

impl Generators<'_> {
    /// Measures it, if one of `only` is in its name or there is none.
    pub fn measure(&self, rounds: u32, seed: u64, only: &Only) -> Vec<Row> {
        if !only.wants(NAME) {
            return Vec::new();
        }
        let empty = Row { name: NAME.into(), bar: BAR.to_string(), ..Row::default() };
        let verdict = |verdict| Row { verdict, ..empty.clone() };
        vec![match missing() {
            Some(missing) => verdict(Verdict::Skipped(missing.to_string())),
            None => self
                .compare(rounds, seed, empty.clone())
                .unwrap_or_else(|error| verdict(Verdict::Broken(format!("{error:#}")))),
        }]
    }

    /// Both sides twice a round, in both orders.
    fn compare(&self, rounds: u32, seed: u64, empty: Row) -> Result<Row> {
        let mut rng = StdRng::seed_from_u64(seed);
        let pairs = in_turns(rounds, &mut rng, |ours| self.play(if ours { "tollway" } else { "tcpreplay" }))?;
        let side = |of: fn(&(f64, f64)) -> f64| -> Result<Interval> {
            let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
            Ok(tollway_stats::figure(&blocks, CONFIDENCE)?)
        };
        let measured = paired_ratio(&pairs)?.interval(CONFIDENCE)?;
        Ok(Row {
            ours: format!("{:.0} ns/frame", side(|(_, ours)| *ours)?.estimate),
            twin: format!("{:.0} ns/frame", side(|(twin, _)| *twin)?.estimate),
            measured: format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi),
            verdict: BAR.judge(&measured),
            ..empty
        })
    }

    /// One trial: nanoseconds of processor time a frame.
    fn play(&self, sender: &str) -> Result<f64> {
        let output = Command::new(self.ours).args([sender, FRAMES]).output();
        let output = output.with_context(|| format!("starting {}", self.ours.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        said.split(' ')
            .next()
            .and_then(|word| word.parse().ok())
            .with_context(|| format!("{sender} failed: {said}{}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn missing() -> Option<Missing> {
    for requirement in [Requirement::NetworkNamespaces, Requirement::PacketSockets] {
        if let Err(missing) = check(&requirement) {
            return Some(missing);
        }
    }
    let there = Command::new("tcpreplay").arg("--version").output().is_ok_and(|o| o.status.success());
    (!there)
        .then(|| Missing::new("tcpreplay", "there is no program of that name", "apt-get install tcpreplay"))
}
