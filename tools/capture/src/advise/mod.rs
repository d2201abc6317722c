//! `tollway capture advise`: which source, how large a buffer, how many packets a read and cores; the largest rate without
//! loss; what to change first and what it would bring.
//!
//! ```text
//! asked (setup) → measured on a cable of its own (measured, room) → predicted (capacity) → chosen (choice) → told (text, document)
//!                                                                        ╰── frozen, tried, compared (apply)
//! ```

pub mod apply;
mod capacity;
mod choice;
pub mod document;
mod measured;
mod room;
mod setup;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use tollway_capture::engine::source::Kind;
use tollway_core::{Error, Preset, PresetHead, TrialSpec};
use tollway_lab::point::Selection;
use tollway_lab::progress::Progress;
use tollway_lab::{Ended, Estimate, Lab, Request};
use tollway_store::{PointState, RunId, RunState, Store};

use crate::args::advise::Advise;
use crate::say;
use apply::Outcome;
use document::{AdviceDocument, AppliedDocument, TriedDocument};
use measured::Measured;
use room::Room;
use setup::{Asked, PATH, Setup};

/// The buffer that sources are measured with, in bytes.
const BUFFER: u64 = 16 << 20;

/// How sources are measured.
const TRIAL: TrialSpec = TrialSpec { window_ms: 150.0, warmup_ms: 20.0, runs: 6, repeats: 1 };

/// The shortest window of a trial, in milliseconds: blocks that are handed over after 10 ms come several times.
const SHORTEST_WINDOW: f64 = 40.0;

/// The fewest blocks that give intervals.
const FEWEST_BLOCKS: u32 = 3;

/// What a trial takes besides its window and warm-up, in seconds: a cable and its two ends are made anew.
const OVERHEAD: f64 = 0.12;

/// How advice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Done,
    /// The advice was tried, and its prediction missed.
    Missed,
    /// It was interrupted; what was measured is kept.
    Interrupted,
}

/// What was to be tried, and where that is told.
struct Session<'a> {
    lab: &'a Lab<'a>,
    asked: Asked,
    seed: u64,
    seconds: Option<f64>,
}

/// Measures, advises, and tries what it advises where that is wanted. `store`: the file of the store; it is made.
///
/// # Errors
/// What was asked for cannot be, or this machine lacks what it takes.
pub fn run(
    options: &Advise,
    json: bool,
    lab: &Lab<'_>,
    store: &Path,
    progress: &mut dyn Progress,
) -> Result<Ending> {
    let asked = Asked::of(options, lab.registry, lab.cpus.len() as u32)?;
    let parts = if options.apply { 2.0 } else { 1.0 };
    let seconds = options.time.map(|all| all / parts);
    let session = Session { lab, asked, seed: options.seed, seconds };
    let setups = session.setups();
    let request = session.first(&setups)?;
    let mut estimate = lab.estimate(&request)?;
    estimate.seconds += OVERHEAD * estimate.trials as f64;
    if options.dry_run {
        return plan(&estimate, options.apply, store, json);
    }
    if let Some(missing) = nothing_can_run(&estimate) {
        return Err(Error::Missing(missing).into());
    }
    let mut store = Store::open(store)?;
    let ended = lab.run(&mut store, &request, progress)?;
    if ended.state == RunState::Interrupted {
        interrupted(ended.run);
        return Ok(Ending::Interrupted);
    }
    let measured = session.measured(&store, &ended, &request, &setups)?;
    let Some(advice) = choice::advise(&session.asked, &measured)? else {
        return Err(Error::Wrong(why_nothing(&store, ended.run)?).into());
    };
    let width = width();
    let mut document = AdviceDocument::of(&session.asked, ended.run.0, &measured, &advice);
    if !json {
        print(&text::advice(&session.asked, ended.run.0, &measured, &advice, width))?;
    }
    let mut ending = Ending::Done;
    if options.apply {
        let plans = apply::plans(&session.asked, &advice, &measured, lab.registry)?;
        let request = session.second(&plans);
        let ended = lab.run(&mut store, &request, progress)?;
        let spec = &request.selection.presets[0].trial;
        let tried = apply::read(&store, ended.run, &plans, spec)?;
        if ended.state == RunState::Interrupted {
            interrupted(ended.run);
            ending = Ending::Interrupted;
        } else {
            apply::nothing_tried(&tried)?;
            if tried.iter().any(|tried| tried.outcome == Outcome::Missed) {
                ending = Ending::Missed;
            }
        }
        if !json {
            print(&text::applied(ended.run.0, &tried, width))?;
        }
        let ways = tried.iter().map(TriedDocument::from).collect();
        document.applied = Some(AppliedDocument { run: ended.run.0, ways });
    }
    if json {
        write(&document)?;
    }
    Ok(ending)
}

impl Session<'_> {
    /// Every source in batches and at once, and today's way with its own buffer.
    fn setups(&self) -> Vec<Setup> {
        let mut setups = Vec::new();
        for immediate in [false, true] {
            for kind in Kind::ALL {
                let patience = self.asked.delay.max(1);
                setups.push(Setup { kind, buffer: BUFFER, immediate, patience, cores: 1 });
            }
        }
        for immediate in [false, true] {
            let now = Setup { immediate, ..self.asked.now };
            if !setups.contains(&now) {
                setups.push(now);
            }
        }
        setups
    }

    /// What is measured: each setup at the light rate and at full speed.
    fn first(&self, setups: &[Setup]) -> Result<Request> {
        let registry = self.lab.registry;
        let mut cases = Vec::new();
        for setup in setups {
            for rate in [self.asked.light_rate() as u64, 0] {
                cases.push(apply::case(setup, &setup.params(&self.asked, registry, rate)?));
            }
        }
        if let Some((setup, params)) = measured::at_work(&self.asked, registry, setups)? {
            cases.push(apply::case(&setup, &params));
        }
        let preset = Preset {
            preset: PresetHead { name: "advise".into(), path: PATH.into(), ..PresetHead::default() },
            case: cases,
            trial: TRIAL,
            ..Preset::default()
        };
        Ok(self.request("capture advise", preset, SHORTEST_WINDOW))
    }

    /// What is tried of the advice, with what is predicted of it.
    fn second(&self, plans: &[apply::Plan]) -> Request {
        let preset = apply::preset(plans, &self.asked);
        // One whole stall, with the time around it.
        let least = (self.asked.stall.as_secs_f64() * 1e4).max(SHORTEST_WINDOW);
        let request = self.request("capture advise --apply", preset, least);
        Request { foretold: apply::foretold(plans), ..request }
    }

    /// With windows cut to the time that there is, but for no less than so many milliseconds, and then blocks.
    fn request(&self, title: &str, mut preset: Preset, least_ms: f64) -> Request {
        if let Some(seconds) = self.seconds {
            let trial = &mut preset.trial;
            let points = preset.case.len() as f64;
            let shortest = points * ((least_ms + trial.warmup_ms) / 1e3 + OVERHEAD);
            trial.runs = ((seconds / shortest) as u32).clamp(FEWEST_BLOCKS.min(trial.runs), trial.runs);
            let trials = points * f64::from(trial.runs);
            let window = (seconds / trials - OVERHEAD) * 1e3 - trial.warmup_ms;
            trial.window_ms = window.clamp(least_ms, trial.window_ms.max(least_ms));
        }
        Request {
            title: title.into(),
            selection: Selection { presets: vec![preset], only: Vec::new() },
            sides: Vec::new(),
            seed: self.seed,
            together: true,
            without_tolls: true,
            foretold: Vec::new(),
            narrow: None,
            within: None,
        }
    }

    /// What the run brought, and how many frames the buffers hold.
    fn measured(
        &self,
        store: &Store,
        ended: &Ended,
        request: &Request,
        setups: &[Setup],
    ) -> Result<Measured> {
        let warmup = request.selection.presets[0].trial.warmup_ms;
        let mut measured =
            measured::read(store, ended.run, self.lab.hz, warmup, setups, &self.asked, self.lab.registry)?;
        for kind in Kind::ALL {
            if measured.ways.iter().any(|way| way.kind == kind) {
                measured.rooms.push((kind, Room::measured(kind, self.asked.size)?));
            }
        }
        Ok(measured)
    }
}

/// What keeps every point from being tried, if anything does.
fn nothing_can_run(estimate: &Estimate) -> Option<tollway_core::Missing> {
    let all: Option<Vec<_>> = estimate.points.iter().map(|point| point.missing.clone()).collect();
    all.and_then(|missing| missing.into_iter().next())
}

/// Why no source has figures.
fn why_nothing(store: &Store, run: RunId) -> Result<String> {
    let points = store.points(run)?;
    let why = points.iter().find_map(|point| match &point.state {
        PointState::Failed(why) => Some(why.clone()),
        _ => None,
    });
    let why = why.unwrap_or_else(|| "there are too few trials for intervals".into());
    Ok(format!("no source could be measured (run {run}): {why}"))
}

fn interrupted(run: RunId) {
    say(&format!("interrupted: run {run} of the store keeps what was measured; advice needs all of it"));
}

/// What --dry-run prints.
#[derive(Serialize)]
struct Planned<'e> {
    schema_version: u32,
    #[serde(flatten)]
    estimate: &'e Estimate,
    applies: bool,
    /// Files that it would write.
    writes: Vec<String>,
}

fn plan(estimate: &Estimate, applies: bool, store: &Path, json: bool) -> Result<Ending> {
    let writes = vec![store.display().to_string()];
    if json {
        write(&Planned { schema_version: 1, estimate, applies, writes })?;
        return Ok(Ending::Done);
    }
    let mut text = String::new();
    for point in &estimate.points {
        match &point.missing {
            None => text += &format!("{:5} trials  {}\n", point.trials, point.title),
            Some(missing) => text += &format!("    skipped  {}: {missing}\n", point.title),
        }
    }
    text += &format!("{} trials, about {:.0} s", estimate.trials, estimate.seconds);
    if applies {
        text += "; then what is advised and today's way, at up to nine rates each";
    }
    text += "\nit makes network namespaces with a cable in each, and needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW; \
             CAP_BPF besides for AF_XDP; no interface of this machine is touched\n";
    text += &format!("writes {}\n", writes.join(", "));
    print(&text)?;
    Ok(Ending::Done)
}

fn write(document: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// How many columns the terminal has; `None` where standard output is none.
fn width() -> Option<usize> {
    let out = io::stdout();
    let wide = rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col));
    wide.filter(|columns| *columns > 0 && out.is_terminal())
}
