//! The thread that draws and feeds. It may wait for its source in the kernel for as long as that takes; nobody waits for
//! it.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use std::os::fd::AsFd;
use tollway_core::Error;
use tollway_entropy::engine::feed::{Event, Fed, Kernel, Pace, Woken, rest};
use tollway_entropy::engine::health::Watch;
use tollway_entropy::engine::source;
use tollway_service::log::say;

use super::document::FeedDocument;
use super::pipeline::{Pipeline, Plan};
use super::{Feed, fed};

/// What is known of how it goes.
#[derive(Default)]
pub struct Known {
    pub watch: Option<Watch>,
    pub plan: Option<Plan>,
    pub fed: Fed,
    pub last: Option<Instant>,
    /// It was said that the source keeps it waiting; the failure that this becomes is no news.
    stalled: bool,
}

impl Known {
    /// Of a source that has just been opened.
    pub fn of(pipeline: &Pipeline) -> Self {
        let (watch, plan) = (Some(pipeline.watch()), Some(pipeline.plan().clone()));
        Known { watch, plan, ..Known::default() }
    }
}

/// What others may know of it at any time.
pub struct Progress {
    begun: Instant,
    interval: f64,
    known: Mutex<Known>,
}

impl Progress {
    /// Nothing has happened yet.
    pub fn new(options: &Feed) -> Self {
        Progress { begun: Instant::now(), interval: options.interval, known: Mutex::default() }
    }

    fn with<R>(&self, action: impl FnOnce(&mut Known) -> R) -> R {
        action(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was fed.
    pub fn fed(&self) -> Fed {
        self.with(|known| known.fed)
    }

    /// Says so once where the source keeps the thread waiting that feeds.
    pub fn look(&self) {
        self.with(|known| {
            let reason = known.watch.as_ref().and_then(Watch::stalled);
            let (Some(reason), Some(plan), false) = (reason, &known.plan, known.stalled) else { return };
            say("source-failing", &[("source", &plan.source), ("reason", &reason)]);
            known.stalled = true;
        });
    }

    /// How it is going.
    pub fn document(&self) -> FeedDocument {
        self.with(|known| FeedDocument::of(self.begun, self.interval, known))
    }
}

/// Opens the source, waits until it has passed its start-up test, and feeds until there is something to read in `stop`.
///
/// # Errors
/// There is no such source, it has ended, or the kernel refuses.
pub fn work(
    options: &Feed,
    kernel: Kernel,
    json: bool,
    progress: &Progress,
    stop: &UnixStream,
) -> Result<()> {
    let mut pipeline = Pipeline::of(options)?;
    progress.with(|known| *known = Known::of(&pipeline));
    let plan = pipeline.plan().clone();
    let pace = Pace { interval: Duration::from_secs_f64(options.interval), ..Pace::default() };
    let mut retry = pace.retry;
    while let Err(error) = pipeline.start() {
        if !error.may_pass() {
            return Err(Error::from(error).into());
        }
        failing(progress, &plan, &error, retry);
        if rest(retry, stop.as_fd())? == Woken::Stopped {
            return Ok(());
        }
        retry = (2 * retry).min(pace.longest_retry);
    }
    let mut feeder = pipeline.into_feeder(kernel)?;
    say_ready(&plan, options, json)?;
    let mut first = true;
    let outcome = feeder.run(&pace, stop.as_fd(), |event| match event {
        Event::Fed(_, fed) => {
            progress.with(|known| (known.fed, known.last) = (fed, Some(Instant::now())));
            if std::mem::take(&mut first) {
                let (bytes, bits) = (plan.portion.bytes.to_string(), plan.portion.bits.to_string());
                say("fed", &[("source", &plan.source), ("bytes", &bytes), ("bits", &bits)]);
            }
        }
        Event::Failed { error, retry_in } => failing(progress, &plan, error, retry_in),
        Event::Recovered => say("source-recovered", &[("source", &plan.source)]),
    });
    Ok(outcome.map_err(Error::from)?)
}

fn failing(progress: &Progress, plan: &Plan, error: &source::Error, retry_in: Duration) {
    if progress.with(|known| std::mem::take(&mut known.stalled)) {
        return;
    }
    let (reason, seconds) = (error.to_string(), retry_in.as_secs_f64().to_string());
    say("source-failing", &[("source", &plan.source), ("reason", &reason), ("retry-in", &seconds)]);
}

/// One line, as soon as it feeds.
fn say_ready(plan: &Plan, options: &Feed, json: bool) -> Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let line = serde_json::json!({
            "ready": true,
            "source": plan.source,
            "conditioned": plan.conditioned,
            "bytes": plan.portion.bytes,
            "bits": plan.portion.bits,
            "interval": options.interval,
            "status": options.status.as_deref().map(|path| path.display().to_string()),
        });
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "ready: {}, every {} s", fed(plan), options.interval)?;
    }
    Ok(out.flush()?)
}
