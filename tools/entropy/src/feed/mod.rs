//! `tollway entropy feed`: keeps the kernel's generator fed, in the place of rngd.

mod document;
mod pipeline;
mod service;
mod worker;

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Result;
use tollway_core::Error;
use tollway_entropy::engine::feed::{Kernel, Recording, Sink};

use crate::args::feed::Feed;
pub use document::FeedDocument;
use pipeline::{Pipeline, Plan};
use worker::Known;

/// Feeds until a signal ends it, or once.
///
/// # Errors
/// This process may not; the source is not there, or has ended; with --once or --dry-run it fails.
pub fn run(options: &Feed, json: bool) -> Result<()> {
    if options.dry_run {
        return once(options, json, Recording::default());
    }
    let kernel = Kernel::open()?;
    if options.once { once(options, json, kernel) } else { service::run(options, kernel, json) }
}

/// Feeds once, or says what would be done.
fn once(options: &Feed, json: bool, sink: impl Sink) -> Result<()> {
    let begun = Instant::now();
    let mut pipeline = Pipeline::of(options)?;
    let mut known = Known::of(&pipeline);
    let plan = pipeline.plan().clone();
    pipeline.start().map_err(Error::from)?;
    let mut feeder = pipeline.into_feeder(sink)?;
    if !options.dry_run {
        feeder.feed().map_err(Error::from)?;
        (known.fed, known.last) = (feeder.fed(), Some(Instant::now()));
    }
    let document = FeedDocument::of(begun, options.interval, &known);
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &document).map_err(io::Error::from)?;
        writeln!(out)?;
    } else if options.dry_run {
        out.write_all(told(&plan, &document, options).as_bytes())?;
    } else {
        writeln!(out, "fed {}", fed(&plan))?;
    }
    Ok(())
}

/// What a feeding is, for people.
fn fed(plan: &Plan) -> String {
    let how = if plan.conditioned { ", 512 to 1" } else { "" };
    format!("{} bytes of {}{how}, credited with {} bits", plan.portion.bytes, plan.source, plan.portion.bits)
}

/// What would be done, for people.
fn told(plan: &Plan, document: &FeedDocument, options: &Feed) -> String {
    let when = if options.once { "once".into() } else { format!("at once and every {} s", options.interval) };
    let kernel = &document.kernel;
    let how = if kernel.initialised {
        "its generator is initialised: nobody waits for it, and what is fed is used at the next reseeding"
    } else {
        "its generator is not initialised yet: what is fed lets it start"
    };
    let false_failure = plan.limits.false_alarm(plan.limits.start_up() as u64);
    format!(
        "would feed  {}, {when}\n\
         source      passed its start-up test of {} bytes, which a good one fails with probability {false_failure:.1e}\n\
         alarms      {:.1e} a year of a good source, at this pace\n\
         kernel      {}: {how}\n\
         nothing was fed\n",
        fed(plan),
        plan.limits.start_up(),
        plan.limits.alarms_a_year(plan.drawn as f64 / options.interval),
        kernel.release,
    )
}
