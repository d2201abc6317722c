//! The speed bars: each figure against a plain C program that measures the same thing, in turns within one run.
//!
//! ```text
//! compile the twins → rounds: ours, twin, twin, ours (or the reverse) → ratio with its interval → bar → table
//! ```
//!
//! Every trial starts its processes anew, ours through the crew that plays every trial of Tollway. The machine's drift
//! from minute to minute cancels in the pairs; what is luck of one process's memory layout is averaged over rounds.
//! A bar fails only when the whole interval lies beyond it, and then the exit code is 1.

mod bar;
mod card;
mod channel;
mod figures;
mod files;
mod filters;
mod fips;
mod generate;
mod guest;
mod live;
mod machine;
mod only;
mod ours;
mod program;
mod quiet;
mod reduction;
mod simulators;
mod tenants;
mod turns;
mod twin;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tollway_host::clock::RunClock;
use tollway_host::cpu::allowed_cpus;
use tollway_stats::{Interval, paired_ratio};

use bar::{Row, Verdict};
use card::Card;
use channel::Channel;
use figures::{FIGURES, Figure, Kind};
use files::Files;
use generate::Generators;
use live::Live;
use machine::Machine;
use only::Only;
use ours::Ours;
use program::ProgramBars;
use quiet::{Noise, Round};
use simulators::Simulators;
use twin::Twins;

/// Confidence of every interval.
const CONFIDENCE: f64 = 0.95;

/// Holds Tollway's figures against plain C programs, in turns.
#[derive(Debug, Parser)]
struct Options {
    /// Rounds; each tries both sides twice.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// Seed of the order within rounds.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only figures whose name contains TEXT; may be given again.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Print every pair (twin, ours) on standard error.
    #[arg(long)]
    raw: bool,
    /// Also the bars of the program itself: start-up, memory, and (with its path here) the store's example `million`.
    #[arg(long, value_name = "EXAMPLE")]
    program: Option<PathBuf>,
    /// Also the bars of micro-guests: how fast they start, memory, speed.
    #[arg(long)]
    tenants: bool,
    /// Also the bars of the simulator, with its example `mm1` here.
    #[arg(long, value_name = "EXAMPLE", requires = "peers")]
    simulator: Option<PathBuf>,
    /// Where other people's simulators and channels are.
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Also the bar of the traffic generator, with the capture path's example `replaying` here.
    #[arg(long, value_name = "EXAMPLE")]
    replayer: Option<PathBuf>,
    /// Also the bars of capture files.
    #[arg(long)]
    files: bool,
    /// Also the bars of live capture, with the capture path's example `live` here.
    #[arg(long, value_name = "EXAMPLE")]
    live: Option<PathBuf>,
    /// Also the bars of the crypto card, with the cipher path's example `card` here.
    #[arg(long, value_name = "EXAMPLE")]
    card: Option<PathBuf>,
    /// Also the bars of the channel, with its example `round_trips` here.
    #[arg(long, value_name = "EXAMPLE", requires = "peers")]
    channel: Option<PathBuf>,
    /// Also the bars of the path `machine`, with the folder of its examples here.
    #[arg(long, value_name = "FOLDER")]
    machine: Option<PathBuf>,
    /// There, also slow our engines down by what has to be found.
    #[arg(long, requires = "machine")]
    planted: bool,
    /// Also the bars of a Linux guest's crypto card.
    #[arg(long)]
    guests: bool,
    /// What `cargo bench` adds.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What the two sides of a figure brought, round by round.
#[derive(Default)]
struct Tried {
    /// Pairs (twin, ours), in ticks per operation; the twin is what ours is divided by.
    pairs: Vec<Vec<(f64, f64)>>,
    /// Why it could not be measured.
    broken: Option<Row>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    if RunClock::chosen() != RunClock::Tsc {
        bail!(
            "the twins count by the time-stamp counter, and this machine's is not invariant: there is nothing to compare"
        );
    }
    let cpus = allowed_cpus()?;
    let twins = Twins::compile()?;
    let ours = Ours::new(&cpus);
    let only = Only(options.only.clone());
    let figures: Vec<&Figure> = FIGURES.iter().filter(|figure| only.wants(figure.name)).collect();

    let mut tried: Vec<Tried> = figures
        .iter()
        .map(|figure| Tried {
            broken: ours.check(figure).err().map(|e| unmeasured(figure, &e)),
            ..Tried::default()
        })
        .collect();
    let mut rng = StdRng::seed_from_u64(options.seed);
    let mut noise = Noise::default();
    for round in 1..=options.rounds {
        let watched = Round::begin();
        if io::stderr().is_terminal() {
            eprint!("\rround {round} of {} ", options.rounds);
        }
        for (figure, tried) in figures.iter().zip(&mut tried) {
            let ours_first = rng.random::<bool>();
            if tried.broken.is_none()
                && let Err(error) = play_round(figure, ours_first, &ours, &twins, &cpus, tried)
            {
                tried.broken = Some(unmeasured(figure, &error));
            }
        }
        watched.end(&mut noise);
    }
    if io::stderr().is_terminal() {
        eprintln!();
    }

    let mut rows = Vec::new();
    for (figure, tried) in figures.into_iter().zip(tried) {
        if options.raw {
            eprintln!("{}: {:?}", figure.name, tried.pairs);
        }
        rows.push(match tried.broken {
            Some(row) => row,
            None => judge(figure, &tried.pairs)?,
        });
    }
    if let Some(million) = &options.program {
        rows.extend(ProgramBars { million }.measure(&only));
    }
    if options.tenants {
        rows.extend(tenants::measure(&only));
    }
    if let (Some(ours), Some(peers)) = (&options.simulator, &options.peers) {
        rows.extend(Simulators { ours, peers }.measure(options.rounds, options.seed, &only)?);
    }
    if let Some(ours) = &options.replayer {
        rows.extend(Generators { ours }.measure(options.rounds, options.seed, &only));
    }
    if options.files {
        rows.extend(Files.measure(options.rounds, options.seed, &only)?);
    }
    rows.extend(filters::measure(options.rounds, options.seed, &only));
    rows.extend(fips::measure(options.rounds, options.seed, &only));
    rows.extend(reduction::measure(options.rounds, options.seed, &only, &cpus));
    if let Some(example) = &options.live {
        rows.extend(Live { example }.measure(options.rounds, options.seed, &only));
    }
    if let Some(example) = &options.card {
        rows.extend(Card { example }.measure(options.rounds, options.seed, &only));
    }
    if let (Some(example), Some(peers)) = (&options.channel, &options.peers) {
        rows.extend(Channel { example, peers, cpus: &cpus }.measure(options.rounds, options.seed, &only)?);
    }
    if let Some(examples) = &options.machine {
        rows.extend(Machine { examples, cpus: &cpus, planted: options.planted }.measure(options.seed, &only));
    }
    if options.guests {
        rows.extend(guest::measure(&ours, options.rounds, options.seed, &only));
    }
    println!(
        "{} rounds, two pairs each, seed {}, processors {cpus:?}; ticks of the time-stamp counter",
        options.rounds, options.seed
    );
    if let Some(warning) = noise.warning(options.rounds) {
        println!("{warning}");
    }
    bar::print(&rows);
    let failed = rows.iter().any(|r| matches!(r.verdict, Verdict::Fails | Verdict::Broken(_)));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// One round of one figure: both sides twice, in both orders, so that what the first side leaves behind for the
/// second weighs on both alike.
fn play_round(
    figure: &Figure,
    ours_first: bool,
    ours: &Ours<'_>,
    twins: &Twins,
    cpus: &[u32],
    tried: &mut Tried,
) -> Result<()> {
    let mut block = Vec::with_capacity(2);
    for ours_first in [ours_first, !ours_first] {
        let mut pair = (f64::NAN, f64::NAN);
        for ours_turn in [ours_first, !ours_first] {
            if ours_turn {
                pair.1 = ours.play(figure)?;
            } else {
                pair.0 = match figure.kind {
                    // Held against a number, not a program.
                    Kind::Floor { .. } => 1.0,
                    Kind::Agrees { twin, .. } | Kind::AtMostTimes { twin, .. } => twins.run(&twin, cpus)?,
                };
            }
        }
        block.push(pair);
    }
    tried.pairs.push(block);
    Ok(())
}

/// A figure without a verdict: skipped where the machine lacks something, broken otherwise.
fn unmeasured(figure: &Figure, error: &anyhow::Error) -> Row {
    Row {
        name: figure.name.into(),
        bar: figure.kind.bar().to_string(),
        verdict: Verdict::without_figure(error),
        ..Row::default()
    }
}

fn judge(figure: &Figure, pairs: &[Vec<(f64, f64)>]) -> Result<Row> {
    let side = |of: fn(&(f64, f64)) -> f64| -> Result<Interval> {
        let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
        Ok(tollway_stats::figure(&blocks, CONFIDENCE)?)
    };
    let ours = side(|(_, ours)| *ours).context(figure.name)?;
    let (twin, measured) = match figure.kind {
        Kind::Floor { .. } => (None, ours),
        _ => (Some(side(|(twin, _)| *twin)?), paired_ratio(pairs)?.interval(CONFIDENCE)?),
    };
    let bar = figure.kind.bar();
    Ok(Row {
        name: figure.name.into(),
        ours: bar::number(ours.estimate),
        twin: twin.map(|t| bar::number(t.estimate)).unwrap_or_default(),
        measured: format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi),
        bar: bar.to_string(),
        verdict: bar.judge(&measured),
    })
}
