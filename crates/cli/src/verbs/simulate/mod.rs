//! `tollway simulate`: one specification, solved by a formula where one fits, as a numerical chain where it is a small
//! one, and by simulation; side by side.

mod agreement;
mod document;
mod progress;
mod read;
mod set;
mod table;

use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use tollway_model::chain::Allowance;
use tollway_model::chain::system::{self as chain, Answer, Unsuited};
use tollway_model::spec::{Spec, Stop};
use tollway_sim::{Options, SimError, StoppedBy};

use crate::args::{self, Arguments};
use crate::exit::Ending;
use crate::output::{self, Format};
use crate::{figure, interrupt};
use document::Made;
pub use document::SimulationDocument;
use progress::Progress;

/// Customers of the short simulation that a dry run guesses the time by.
const PROBE: u64 = 20_000;

/// Share of what a chain may cost that a dry run spends to tell how long one takes.
const CHAIN_PROBE: f64 = 0.05;

/// Simulates what the file says.
pub fn simulate(arguments: &Arguments, options: &args::Simulate) -> Result<Ending> {
    let spec = overridden(read::spec(&options.spec, &options.set)?, options)?;
    let format =
        options.export.as_deref().map(|file| Format::of(file).map(|format| (file, format))).transpose()?;
    if let Some(file) = &options.export {
        output::check_writable(file)?;
    }
    if options.dry_run {
        return plan(arguments, options, &spec);
    }
    let progress = Progress::new(spec.stop.precision.is_some());
    let begun = Instant::now();
    let outcome = tollway_sim::simulate(
        &spec,
        &Options {
            seed: options.seed,
            threads: options.threads as usize,
            progress: Some(&|done| progress.show(done)),
            interrupted: Some(interrupt::flag()?),
            ..Options::default()
        },
    );
    let seconds = begun.elapsed().as_secs_f64();
    progress.finish();
    let outcome = match outcome {
        Err(SimError::Interrupted) => {
            output::tell("interrupted before there was anything to tell");
            return Ok(Ending::Interrupted);
        }
        outcome => outcome?,
    };
    let threads = threads(options);
    let chain = chain::solve(&spec, &Allowance::default().until(interrupt::flag()?));
    let cut_short = outcome.stopped_by == StoppedBy::Interruption
        || matches!(chain, Ok(Answer::Unsuited(Unsuited::Interrupted)));
    let document = SimulationDocument::of(&Made {
        spec: &spec,
        outcome: &outcome,
        formula: spec.formula(),
        chain,
        seconds,
        threads,
    });
    if let Some((file, format)) = format {
        let content = match format {
            Format::Json => serde_json::to_string_pretty(&document)? + "\n",
            Format::Csv => table::csv(&document),
            Format::Markdown => table::markdown(&document),
        };
        output::write(file, &content)?;
    }
    if arguments.json {
        output::json(&document)?;
    } else {
        output::text(&table::text(&document, output::width()))?;
    }
    Ok(match () {
        () if cut_short => Ending::Interrupted,
        () if document.agrees() => Ending::Done,
        () => Ending::CheckFailed,
    })
}

/// The specification with what the command line says otherwise.
fn overridden(spec: Spec, options: &args::Simulate) -> Result<Spec> {
    let stop = Stop {
        customers: options.customers.unwrap_or(spec.stop.customers),
        precision: options.precision.or(spec.stop.precision),
        replications: options.replications.unwrap_or(spec.stop.replications),
    };
    Ok(Spec { stop, ..spec }.checked()?)
}

fn threads(options: &args::Simulate) -> u64 {
    let processors = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    if options.threads == 0 { processors } else { options.threads }
}

/// What would be done, and about how long it would take: from a short simulation.
fn plan(arguments: &Arguments, options: &args::Simulate, spec: &Spec) -> Result<Ending> {
    let stop = &spec.stop;
    let short = Stop { customers: PROBE.min(stop.customers), precision: None, replications: 1 };
    let short = Spec { stop: short, ..spec.clone() };
    let interrupted = interrupt::flag()?;
    let begun = Instant::now();
    let probe = Options { threads: 1, interrupted: Some(interrupted), ..Options::default() };
    let probe = match tollway_sim::simulate(&short, &probe) {
        Err(SimError::Interrupted) => return Ok(Ending::Interrupted),
        probe => probe.context("a short simulation, to tell the time that the whole takes")?,
    };
    let each = begun.elapsed().as_secs_f64() / (probe.customers + probe.warm_up).max(1) as f64;
    let customers = stop.customers.saturating_mul(stop.replications.into());
    let threads = threads(options);
    let at_once = threads.min(stop.replications.into()).max(1);
    let simulation = each * customers as f64 / at_once as f64;
    let Some(chain) = chain_seconds(spec) else { return Ok(Ending::Interrupted) };
    let seconds = simulation + chain;
    let formula = spec.formula().map(|formula| formula.command());
    if arguments.json {
        return output::json(&serde_json::json!({
            "schema_version": 1, "title": spec.title, "sources": spec.sources.len(), "stations": spec.stations.len(),
            "coalescers": spec.coalescers.len(), "formula": formula, "customers": customers,
            "replications": stop.replications, "threads": threads, "chain_seconds": chain, "seconds": seconds,
        }))
        .map(|()| Ending::Done);
    }
    let parts = [
        many(spec.sources.len(), "source"),
        many(spec.stations.len(), "station"),
        many(spec.coalescers.len(), "coalescer"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut text = format!("{}{}\n", titled(&spec.title), parts.join(", "));
    text += &format!("formula: {}\n", formula.as_deref().unwrap_or("none in the catalogue"));
    text += &format!(
        "would simulate {} × {} customers{} on {threads} threads, seed {}: at most about {}, {} of it for the chain\n",
        stop.replications,
        figure::text(stop.customers as f64, tollway_model::Unit::Count),
        stop.precision.map(|p| format!(", or fewer until ±{} %", p * 100.0)).unwrap_or_default(),
        options.seed,
        figure::text(seconds, tollway_model::Unit::Seconds),
        figure::text(chain, tollway_model::Unit::Seconds),
    );
    output::text(&text)?;
    Ok(Ending::Done)
}

/// The most seconds that the chain takes: a part of what it may cost is tried. `None` when somebody interrupted it.
fn chain_seconds(spec: &Spec) -> Option<f64> {
    let begun = Instant::now();
    let allowance = Allowance::share(CHAIN_PROBE).until(interrupt::flag().ok()?);
    let answer = chain::solve(spec, &allowance);
    let seconds = begun.elapsed().as_secs_f64();
    match answer {
        Ok(Answer::Unsuited(Unsuited::Interrupted)) => None,
        Ok(Answer::Unsuited(Unsuited::TooLong { .. })) => Some(seconds / CHAIN_PROBE),
        _ => Some(seconds),
    }
}

/// So many of them, if there is any.
fn many(n: usize, what: &str) -> Option<String> {
    match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{n} {what}s")),
    }
}

/// The title before what follows it.
fn titled(title: &str) -> String {
    let title = tollway_report::columns::printable(title);
    if title.is_empty() { title } else { format!("{title}: ") }
}
