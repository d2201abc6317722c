//! Bars of the simulator: M/M/1 at a load of 0.8, against plain C and against other people's simulators, in turns.
//!
//! Every trial is a process of its own that tells the seconds its simulation took and the mean time in the system; that
//! mean is looked at before the seconds are.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tollway_stats::paired_ratio;

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::in_turns;
use crate::twin::Twins;

/// The task: arrivals and services per second.
const LAMBDA: f64 = 0.8;
const MU: f64 = 1.0;

/// A program that simulates: the number of customers stands between the two parts of its command line.
struct Side {
    command: Vec<PathBuf>,
    customers: u64,
    rest: Vec<String>,
    /// How many of it run at once.
    processes: usize,
}

/// Ours against somebody else's, or (`peer` is `None`) against a number of millions of customers per second.
struct Contest {
    name: &'static str,
    ours: Side,
    peer: Option<Side>,
    bar: Bar,
}

/// What was built beside this benchmark: our example, the peers in Rust and Python.
pub struct Simulators<'a> {
    /// Our example `mm1`.
    pub ours: &'a Path,
    /// The folder with the peers: `release/mm1-simrs`, `release/mm1-nexosim`, and `python/bin/python`.
    pub peers: &'a Path,
}

impl Simulators<'_> {
    /// Measures those that are wanted.
    pub fn measure(&self, rounds: u32, seed: u64, only: &Only) -> Result<Vec<Row>> {
        let twins = Twins::compile_simulators()?;
        let mut rng = StdRng::seed_from_u64(seed);
        let contests = self.contests(&twins);
        let wanted = contests.iter().filter(|contest| only.wants(contest.name));
        Ok(wanted.map(|contest| contest.row(rounds, &mut rng)).collect())
    }

    fn contests(&self, twins: &Twins) -> Vec<Contest> {
        let of = |command: &[PathBuf], customers: u64, rest: &[&str]| Side {
            command: command.to_vec(),
            customers,
            rest: rest.iter().map(|r| (*r).to_owned()).collect(),
            processes: 1,
        };
        let ours = |kind: &str, customers: u64, stations: u64, threads: u64| {
            of(&[self.ours.to_owned()], customers, &[kind, &stations.to_string(), &threads.to_string()])
        };
        let rust = |name: &str, customers| of(&[self.peers.join("release").join(name)], customers, &[]);
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/benches/peers");
        let python = |script: &str, customers| {
            of(&[self.peers.join("python/bin/python"), scripts.join(script)], customers, &[])
        };
        let contest = |name, ours, peer, bar| Contest { name, ours, peer, bar };
        let million = |n: u64| n * 1_000_000;
        vec![
            contest(
                "simulator: Lindley / C",
                ours("lindley", million(20), 1, 1),
                Some(of(&[twins.program("lindley")], million(20), &[])),
                Bar::AtLeast(0.9, ""),
            ),
            contest(
                "simulator: events / C heap",
                ours("events", million(4), 1, 1),
                Some(of(&[twins.program("heap")], million(4), &["1"])),
                Bar::AtLeast(0.75, ""),
            ),
            contest("simulator: events", ours("events", million(4), 1, 1), None, Bar::AtLeast(15.0, "M/s")),
            contest(
                "simulator: 1000 stations / C heap",
                ours("events", million(4), 1000, 1),
                Some(of(&[twins.program("heap")], million(4), &["1000"])),
                Bar::AtLeast(1.0, ""),
            ),
            contest(
                "simulator: 1000 stations",
                ours("events", million(4), 1000, 1),
                None,
                Bar::AtLeast(5.0, "M/s"),
            ),
            contest(
                "simulator: events / SimPy",
                ours("events", million(2), 1, 1),
                Some(python("mm1_simpy.py", 50_000)),
                Bar::AtLeast(100.0, ""),
            ),
            contest(
                "simulator: events / Ciw",
                ours("events", million(2), 1, 1),
                Some(python("mm1_ciw.py", 20_000)),
                Bar::AtLeast(200.0, ""),
            ),
            contest(
                "simulator: events / simrs",
                ours("events", million(4), 1, 1),
                Some(rust("mm1-simrs", million(2))),
                Bar::AtLeast(3.0, ""),
            ),
            contest(
                "simulator: events / nexosim",
                ours("events", million(4), 1, 1),
                Some(rust("mm1-nexosim", million(1))),
                Bar::AtLeast(8.0, ""),
            ),
            contest(
                "simulator: two threads / two processes",
                ours("events", million(16), 1, 2),
                Some(Side { processes: 2, ..ours("events", million(8), 1, 1) }),
                Bar::AtLeast(0.97, ""),
            ),
        ]
    }
}

impl Contest {
    fn row(&self, rounds: u32, rng: &mut StdRng) -> Row {
        let empty = Row { name: self.name.into(), bar: self.bar.to_string(), ..Row::default() };
        self.measure(rounds, rng, empty.clone())
            .unwrap_or_else(|error| Row { verdict: Verdict::Broken(format!("{error:#}")), ..empty })
    }

    /// Both sides twice a round, in both orders; rates are millions of customers per second.
    fn measure(&self, rounds: u32, rng: &mut StdRng, empty: Row) -> Result<Row> {
        let pairs = in_turns(rounds, rng, |ours| match (ours, &self.peer) {
            (true, _) => self.ours.rate(),
            (false, Some(peer)) => peer.rate(),
            (false, None) => Ok(1.0),
        })?;
        let median = |of: fn(&(f64, f64)) -> f64| -> Result<f64> {
            let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
            Ok(tollway_stats::figure(&blocks, CONFIDENCE)?.estimate)
        };
        let measured = paired_ratio(&pairs)?.interval(CONFIDENCE)?;
        let twin = match self.peer {
            Some(_) => format!("{:.3} M/s", median(|(peer, _)| *peer)?),
            None => String::new(),
        };
        Ok(Row {
            ours: format!("{:.1} M/s", median(|(_, ours)| *ours)?),
            twin,
            measured: format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi),
            verdict: self.bar.judge(&measured),
            ..empty
        })
    }
}

impl Side {
    /// Millions of customers per second, added up over processes that run at once.
    fn rate(&self) -> Result<f64> {
        let started = (0..self.processes).map(|_| self.start()).collect::<Result<Vec<_>>>()?;
        let rates = started.into_iter().map(|child| self.finish(child)).collect::<Result<Vec<_>>>()?;
        Ok(rates.iter().sum())
    }

    fn start(&self) -> Result<Child> {
        let (program, before) = self.command.split_first().context("a command line has a program")?;
        Command::new(program)
            .args(before)
            .arg(self.customers.to_string())
            .args(&self.rest)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}; `scripts/bench` builds it", program.display()))
    }

    fn finish(&self, child: Child) -> Result<f64> {
        let output = child.wait_with_output().context("waiting for a simulator")?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut figures = said.split_whitespace().map(str::parse::<f64>);
        let (Some(Ok(seconds)), Some(Ok(mean))) = (figures.next(), figures.next()) else {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("{} failed ({}): {said}{error}", self.command[0].display(), output.status);
        };
        let exact = 1.0 / (MU - LAMBDA);
        let off = (mean - exact).abs();
        ensure!(
            off <= 5.0 * standard_error(self.customers),
            "{} says {mean} for a mean time in the system of {exact}: its speed says nothing",
            self.command[0].display()
        );
        Ok(self.customers as f64 / seconds / 1e6)
    }
}

/// Of the mean time in the system over so many customers: the asymptotic variance of the waits of M/M/1, and one service
/// more. Source: Blomqvist (1967), Skandinavisk Aktuarietidskrift 50:157; Whitt (1989), Management Science 35:1341.
fn standard_error(customers: u64) -> f64 {
    let rho: f64 = LAMBDA / MU;
    let constant = rho * (2.0 + 5.0 * rho - 4.0 * rho.powi(2) + rho.powi(3)) / (1.0 - rho).powi(4);
    ((constant + 1.0) / customers as f64).sqrt() / MU
}
