//! The bars of live capture, on a veth pair with frames of 60 bytes: what it costs beside tcpdump -w, what the reading
//! loop costs, and that nothing is lost.
//!
//! Every trial is a capture in a process of its own that is sent frames by another on the other processor (the capture
//! path's example `live`), which tells the frames sent and captured and the processor time of the capture.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tollway_core::{Missing, Requirement};
use tollway_host::requirement::check;
use tollway_stats::Interval;

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::{in_turns, ratio};

/// The shortest frames of Fast Ethernet, and how many are sent of them: two seconds.
const LINE_RATE: &str = "148809";
const TWO_SECONDS: &str = "300000";
/// Our program.
const TOLLWAY: &str = env!("CARGO_BIN_EXE_tollway");
/// As many as the sender gives, and how many of them.
const FULL_SPEED: &str = "max";
const A_MILLION: &str = "1000000";
/// Trials of what must not lose a frame.
const TRIALS: u32 = 3;

/// What was built beside this benchmark.
pub struct Live<'a> {
    /// The capture path's example `live`.
    pub example: &'a Path,
}

/// What a trial told.
struct Trial {
    sent: f64,
    captured: f64,
    /// Millions of frames sent a second.
    rate: f64,
    /// Nanoseconds of processor time a frame.
    nanos: f64,
    /// Cycles of the reading loop a frame.
    cycles: f64,
}

impl Live<'_> {
    /// Measures those of which one of `only` is in the name, or all.
    pub fn measure(&self, rounds: u32, seed: u64, only: &Only) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut row = |name: String, bar: Bar, measure: &dyn Fn() -> Result<(Row, Interval)>| {
            if !only.wants(&name) {
                return;
            }
            let (row, verdict) = match missing(&name) {
                Some(missing) => (Row::default(), Verdict::Skipped(missing.to_string())),
                None => match measure() {
                    Ok((row, measured)) => (row, bar.judge(&measured)),
                    Err(error) => (Row::default(), Verdict::Broken(format!("{error:#}"))),
                },
            };
            rows.push(Row { name, bar: bar.to_string(), verdict, ..row });
        };
        row("live: tollway capture -w / tcpdump -w".into(), Bar::AtMost(0.76, ""), &|| {
            self.beside_tcpdump(rounds, seed)
        });
        row("live: loop of tpacket-v3".into(), Bar::AtMost(40.0, "c"), &|| self.cycles(rounds));
        let lost = Bar::AtMost(0.0, "lost");
        row("live: tpacket-v3 at full speed".into(), lost, &|| {
            self.lost("tpacket-v3", FULL_SPEED, A_MILLION)
        });
        for kind in ["recv", "recvmmsg", "tpacket-v2", "tpacket-v3", "af-xdp"] {
            let name = format!("live: {kind} at {LINE_RATE}/s");
            row(name, lost, &|| self.lost(kind, LINE_RATE, TWO_SECONDS));
        }
        rows
    }

    /// Both sides twice a round, in both orders. A trial that lost a frame has no figure.
    fn beside_tcpdump(&self, rounds: u32, seed: u64) -> Result<(Row, Interval)> {
        let mut rng = StdRng::seed_from_u64(seed);
        let pairs = in_turns(rounds, &mut rng, |ours| {
            let what = if ours { TOLLWAY } else { "tcpdump" };
            let trial = self.play(what, LINE_RATE, TWO_SECONDS, "/dev/null")?;
            // tcpdump leaves unread what is in the kernel's memory when it is told to end.
            let enough = if ours { trial.sent } else { 0.9 * trial.sent };
            ensure!(trial.captured >= enough, "{what}: {} of {} frames", trial.captured, trial.sent);
            Ok(trial.nanos)
        })?;
        ratio(&pairs, |nanos| format!("{nanos:.0} ns/frame"))
    }

    fn cycles(&self, rounds: u32) -> Result<(Row, Interval)> {
        let blocks = (0..rounds)
            .map(|_| Ok(vec![self.play("tpacket-v3", FULL_SPEED, A_MILLION, "none")?.cycles]))
            .collect::<Result<Vec<_>>>()?;
        let measured = tollway_stats::figure(&blocks, CONFIDENCE)?;
        let ours = format!("{:.1} c/frame", measured.estimate);
        let text = format!("{:.1} [{:.1}, {:.1}]", measured.estimate, measured.lo, measured.hi);
        Ok((Row { ours, measured: text, ..Row::default() }, measured))
    }

    /// Frames that were sent and not captured, of all trials.
    fn lost(&self, kind: &str, rate: &str, frames: &str) -> Result<(Row, Interval)> {
        let (mut sent, mut lost, mut best) = (0.0, 0.0, 0.0_f64);
        for _ in 0..TRIALS {
            let trial = self.play(kind, rate, frames, "none")?;
            (sent, lost) = (sent + trial.sent, lost + trial.sent - trial.captured);
            best = best.max(trial.rate);
        }
        let measured = Interval { estimate: lost, lo: lost, hi: lost, confidence: CONFIDENCE };
        Ok((
            Row {
                ours: format!("{sent:.0} sent, {best:.2} M/s"),
                measured: format!("{lost:.0}"),
                ..Row::default()
            },
            measured,
        ))
    }

    fn play(&self, what: &str, rate: &str, frames: &str, file: &str) -> Result<Trial> {
        let output = Command::new(self.example).args(["cost", what, rate, frames, file]).output();
        let output = output.with_context(|| format!("starting {}", self.example.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let figures: Option<Vec<f64>> = said.split_whitespace().map(|word| word.parse().ok()).collect();
        match figures.as_deref() {
            Some(&[sent, captured, _dropped, rate, nanos, cycles, _best]) => {
                Ok(Trial { sent, captured, rate, nanos, cycles })
            }
            _ => anyhow::bail!("{what} failed: {said}{}", String::from_utf8_lossy(&output.stderr)),
        }
    }
}

/// What this machine lacks for a row.
fn missing(name: &str) -> Option<Missing> {
    let mut needs = vec![Requirement::NetworkNamespaces, Requirement::PacketSockets, Requirement::Cores(2)];
    if name.contains("af-xdp") {
        needs.push(Requirement::AfXdp);
    }
    let lacking = needs.iter().find_map(|requirement| check(requirement).err());
    let there = || Command::new("tcpdump").arg("--version").output().is_ok_and(|o| o.status.success());
    let tcpdump = name.contains("tcpdump") && !there();
    lacking.or_else(|| {
        tcpdump
            .then(|| Missing::new("tcpdump", "there is no program of that name", "apt-get install tcpdump"))
    })
}
