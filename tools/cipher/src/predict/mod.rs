//! `tollway cipher predict`: responses of the card foretold from light loads of one way of telling, then measured.
//!
//! ```text
//! steps alone ── light loads (busy) ── fitted ── simulated ── frozen in the store ── measured ── compared
//! ```
//!
//! What the machine takes of its cores is watched twice: between the light loads, and between the blocks of what is measured. What was
//! foretold is frozen with the first; with the second it is reckoned once more afterwards, nothing else changed: so the model's own
//! faults are told from a machine that is another by then.

mod document;
mod points;
pub(crate) mod text;

use std::path::Path;

use anyhow::Result;
use tollway_cipher::twin::Answer;
use tollway_core::{Error, Forecast, Quoted, TrialSpec};
use tollway_lab::progress::Progress;
use tollway_lab::{Ended, Estimate, Finding, Foretold, Lab, Request};
use tollway_report::number;
use tollway_stats::{Interval, figure, t_interval};
use tollway_store::{Outcome, RunState, Store, WIDEST};

use crate::Ending;
use crate::args::predict::Predict;
use crate::fitted::alone::{self, Alone};
use crate::fitted::asked::{Asked, At};
use crate::fitted::fit::{Fit, Light};
use crate::fitted::foreseen::{self, Foreseen, REQUESTS};
use crate::fitted::observed::Observed;
use crate::fitted::taken;
use crate::fitted::way::Way;
pub use document::{
    FittedDocument, LightDocument, OutcomeDocument, PredictDocument, PredictedDocument, Span,
};
pub(crate) use points::Asking;
use points::Preset;

/// The loads that the model is fitted to.
const LIGHT: [f64; 3] = [0.1, 0.3, 0.5];

/// How light loads are measured where [`REQUESTS_OF_FULL_FIT`] requests or more are to be foretold.
const LIGHT_TRIAL: TrialSpec = TrialSpec { window_ms: 1000.0, warmup_ms: 20.0, runs: 8, repeats: 1 };

/// Requests a point, the default of `--requests`, below which the windows of steps and light loads are shorter in proportion.
const REQUESTS_OF_FULL_FIT: f64 = 100_000.0;

/// The shortest window of a light load as a share of the full one, and of a step alone: its longest sleeps take a millisecond, so
/// that a window has to hold some tens of them.
const LEAST_LIGHT_SHARE: f64 = 0.1;
const LEAST_STEP_SHARE: f64 = 1.0 / 3.0;

/// A trial for the fit, with its window in proportion to the requests that are to be foretold.
fn in_proportion(trial: &TrialSpec, requests: u64, least_share: f64) -> TrialSpec {
    let share = (requests as f64 / REQUESTS_OF_FULL_FIT).clamp(least_share, 1.0);
    TrialSpec { window_ms: trial.window_ms * share, ..trial.clone() }
}

/// A prediction of a mean holds if it is within this share of the measured one, or in that one's interval.
pub const MEAN_WITHIN: f64 = 0.10;

/// And one of a 99th percentile within this share.
pub const P99_WITHIN: f64 = 0.20;

/// Confidence of intervals, and the level of tests is what is left of it.
pub const CONFIDENCE: f64 = 0.95;

/// A card that was fitted, and what was measured for it.
pub struct Fitted {
    /// The model.
    pub fit: Fit,
    /// What it was fitted to.
    pub light: Vec<Light>,
    /// Runs of the store that have the steps and the light loads.
    pub runs: [tollway_store::RunId; 2],
}

/// The load whose requests take as long as the machine is watched for.
pub(crate) const WATCHED: f64 = 0.7;

/// Measures the steps and the light loads, and fits; `None` if it was interrupted. So many requests a point are to be foretold.
///
/// # Errors
/// What cannot be measured here.
pub fn fitted(
    asked: &Asked<'_>,
    title: &str,
    requests: u64,
    lab: &Lab<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
) -> Result<Option<Fitted>> {
    progress.stage("steps");
    let Some(first) = ran(lab.run(store, &steps(asked, title, requests)?, progress)?) else {
        return Ok(None);
    };
    let alone = Alone::read(asked, store, first.run, lab.hz)?;
    progress.stage("light loads");
    let loads = LightLoads::of(asked, requests, alone.serve)?;
    let Some(second) = ran(lab.run(store, &loads.request(asked, title), progress)?) else { return Ok(None) };
    let LightLoads { points, rates, watch, watching, .. } = loads;
    let mut light = Vec::new();
    for (at, rate) in points.into_iter().zip(rates) {
        let observed = Observed::read(store, second.run, &at, lab.hz)?;
        light.push(Light { at, rate, observed });
    }
    let taken = taken::seen(&Observed::read(store, second.run, &watch, lab.hz)?, &watching);
    let fit = Fit::of(alone, taken, &light, asked.seed);
    Ok(Some(Fitted { fit, light, runs: [first.run, second.run] }))
}

/// What [`fitted`] would measure; `serve`: nanoseconds of the card for a request.
///
/// # Errors
/// What was asked for cannot be.
pub fn fitting(asked: &Asked<'_>, title: &str, requests: u64, serve: f64, lab: &Lab<'_>) -> Result<Estimate> {
    let mut estimate = lab.estimate(&steps(asked, title, requests)?)?;
    estimate.add(lab.estimate(&LightLoads::of(asked, requests, serve)?.request(asked, title))?);
    Ok(estimate)
}

/// The steps of a request, each alone.
fn steps(asked: &Asked<'_>, title: &str, requests: u64) -> Result<Request> {
    let trial = in_proportion(&alone::TRIAL, requests, LEAST_STEP_SHARE);
    Ok(asked.request(title, &[(&alone::points(asked)?, trial)], Vec::new()))
}

/// The light loads, and where the machine is watched between them.
struct LightLoads {
    rates: [f64; LIGHT.len()],
    points: Vec<At>,
    trial: TrialSpec,
    watch: At,
    watching: TrialSpec,
}

impl LightLoads {
    /// `serve`: nanoseconds of the card for a request.
    fn of(asked: &Asked<'_>, requests: u64, serve: f64) -> Result<LightLoads> {
        let rates = LIGHT.map(|load| (load * 1e9 / serve).round().max(1.0));
        let at = |rate: f64| asked.card(&Way::busy(), rate as u64, 1, false);
        let measured_ms = requests as f64 * serve / WATCHED / 1e6;
        let trial = in_proportion(&LIGHT_TRIAL, requests, LEAST_LIGHT_SHARE);
        let light_ms = LIGHT.len() as f64 * trial.window_ms;
        let watched_ms = light_ms.max(measured_ms / f64::from(trial.runs));
        Ok(LightLoads {
            rates,
            points: rates.into_iter().map(at).collect::<tollway_core::Result<Vec<At>>>()?,
            watch: taken::watch(asked)?,
            watching: taken::trial(trial.runs, watched_ms),
            trial,
        })
    }

    fn request(&self, asked: &Asked<'_>, title: &str) -> Request {
        let watched = (std::slice::from_ref(&self.watch), self.watching.clone());
        asked.request(title, &[(&self.points, self.trial.clone()), watched], Vec::new())
    }
}

fn ran(ended: Ended) -> Option<Ended> {
    (ended.state != RunState::Interrupted).then_some(ended)
}

/// A way at a load: what was foretold, and what came.
pub struct Predicted {
    /// The way.
    pub way: Way,
    /// The share of time for which the card is at work, its calls included, as it was foretold; none of tenants that loop.
    pub load: Option<f64>,
    /// Requests a second of each tenant; 0: it loops.
    pub rate: f64,
    /// How many there are.
    pub tenants: u32,
    /// By simulation of the fitted model, before anything was measured.
    pub foreseen: Foreseen,
    /// The same model, and what the machine took of its cores while this was measured: reckoned afterwards.
    pub meanwhile: Foreseen,
    /// By M/G/1 with set-ups, of the way that was fitted: the mean response in nanoseconds.
    pub formula: Option<f64>,
    /// By M/M/1, or M/M/1//N of tenants that loop: mean and 99th percentile, in nanoseconds.
    pub mm1: Option<(f64, f64)>,
    /// What came.
    pub measured: Measured,
}

/// What came; times in nanoseconds.
pub struct Measured {
    /// Requests.
    pub requests: u64,
    /// Mean response, by the means of blocks.
    pub mean: Interval,
    /// 99th percentile of a typical block: the median over blocks.
    pub p99: Interval,
    /// Requests that stood at the card, in the mean over time.
    pub queue: f64,
    /// Interrupts a second.
    pub interrupts: f64,
    /// The share of time for which the card was at work.
    pub load: f64,
    /// p-value against a mean as M/M/1 has it.
    pub mm1_p: Option<f64>,
}

impl Predicted {
    /// What became of the mean that was foretold: it holds within a tenth of the measured one, or in the interval of that.
    pub fn mean(&self) -> Outcome {
        outcome(self.foreseen.mean, &self.measured.mean, MEAN_WITHIN)
    }

    /// And of the 99th percentile: it holds within a fifth.
    pub fn p99(&self) -> Outcome {
        outcome(self.foreseen.p99, &self.measured.p99, P99_WITHIN)
    }

    /// What becomes of both if what the machine took meanwhile is known.
    pub fn meanwhile(&self) -> [Outcome; 2] {
        [
            outcome(self.meanwhile.mean, &self.measured.mean, MEAN_WITHIN),
            outcome(self.meanwhile.p99, &self.measured.p99, P99_WITHIN),
        ]
    }

    /// Whether M/M/1 is rejected: by test, or because it has no steady state there.
    pub fn mm1_rejected(&self) -> bool {
        self.measured.mm1_p.is_none_or(|p| p <= 1.0 - CONFIDENCE)
    }
}

/// What becomes of a figure that was foretold: it holds within that share of the measured one, or in its interval; an interval whose upper
/// end is more than [`WIDEST`] times the lower one shows nothing.
pub fn outcome(foretold: f64, measured: &Interval, within: f64) -> Outcome {
    let Interval { estimate, lo, hi, .. } = *measured;
    if (foretold / estimate - 1.0).abs() <= within {
        Outcome::Holds
    } else if !(lo..=hi).contains(&foretold) {
        Outcome::Missed
    } else if hi > WIDEST * lo {
        Outcome::SaysNothing
    } else {
        Outcome::Holds
    }
}

/// Fits, foretells, measures and tells.
///
/// # Errors
/// What was asked for cannot be, or this machine lacks what it takes.
pub fn run(
    options: &Predict,
    lab: &Lab<'_>,
    store: &Path,
    progress: &mut dyn Progress,
) -> Result<(Finding<PredictDocument>, Ending)> {
    let preset = options.preset.as_deref().map(|name| Preset::read(lab.registry, name)).transpose()?;
    let (cipher, size) = match &preset {
        Some(preset) => (preset.cipher.clone(), preset.size),
        None => (options.cipher.name.to_owned(), options.size),
    };
    let asked = Asked { registry: lab.registry, cipher: &cipher, size, tenants: 1, seed: options.seed };
    if options.dry_run {
        return Ok((Finding::Planned(planned(options, &asked, preset, lab)?), Ending::Done));
    }
    let mut store = Store::open(store)?;
    let fitted = fitted(&asked, "cipher predict", options.requests, lab, &mut store, progress)?;
    let Some(fitted) = fitted else {
        return Ok((Finding::Found(None), Ending::Interrupted));
    };
    progress.stage("foretold loads");
    let asking = match preset {
        Some(preset) => preset.asking()?,
        None => {
            points::loads(options, &asked, |load, way| foreseen::rate_of(load, &fitted.fit, way, &asked))?
        }
    };
    let foretold = asking.iter().map(|asking| foresee(&fitted.fit, asking, asked.seed));
    let foretold = foretold.collect::<tollway_core::Result<Vec<Foreseen>>>()?;
    let frozen = foretold.iter().zip(&asking);
    let frozen = frozen.map(|(foreseen, asking)| freeze(foreseen, &asking.at, &fitted.fit, lab.hz)).collect();
    let (request, watch, watching) = heavier(&asked, &asking, frozen)?;
    let Some(third) = ran(lab.run(&mut store, &request, progress)?) else {
        return Ok((Finding::Found(None), Ending::Interrupted));
    };
    let meanwhile = taken::seen(&Observed::read(&store, third.run, &watch, lab.hz)?, &watching);
    let meanwhile = fitted.fit.while_taken(meanwhile);
    progress.stage("what was taken meanwhile");
    let mut predicted = Vec::new();
    for (foreseen, asking) in foretold.into_iter().zip(asking) {
        let then = foresee(&meanwhile, &asking, asked.seed)?;
        let Asking { at, way, rate, tenants, .. } = asking;
        let all = rate * f64::from(tenants);
        let load = (rate > 0.0).then_some(all * foreseen.occupied / 1e9);
        let mm1 = match load {
            Some(_) => foreseen::mm1(foreseen.occupied, all),
            None => foreseen::finite_source(&fitted.fit, &way, foreseen.occupied, tenants),
        };
        let observed = Observed::read(&store, third.run, &at, lab.hz)?;
        let has_formula = way == Way::busy() && load.is_some();
        predicted.push(Predicted {
            formula: has_formula.then(|| foreseen::mg1_setup(&fitted.fit, all)).flatten(),
            way,
            load,
            rate,
            tenants,
            foreseen,
            meanwhile: then,
            mm1,
            measured: measured(&observed, mm1.map(|(mean, _)| mean))?,
        });
    }
    let ending = if holds(&predicted) { Ending::Done } else { Ending::CheckFailed };
    let document = PredictDocument::of(&asked, &fitted, third.run, &meanwhile, &predicted)?;
    Ok((Finding::Found(Some(document)), ending))
}

/// What would be measured: a request takes the card about as long as the library, called here.
fn planned(options: &Predict, asked: &Asked<'_>, preset: Option<Preset>, lab: &Lab<'_>) -> Result<Estimate> {
    let serve = asked.by_library()?;
    let mut estimate = fitting(asked, "cipher predict", options.requests, serve, lab)?;
    let asking = match preset {
        Some(preset) => preset.asking()?,
        None => points::loads(options, asked, |load, _| Ok((load * 1e9 / serve).round()))?,
    };
    estimate.add(lab.estimate(&heavier(asked, &asking, Vec::new())?.0)?);
    Ok(estimate)
}

/// What is foretold, measured in turns with what the machine takes meanwhile: where and how that is watched.
fn heavier(asked: &Asked<'_>, asking: &[Asking], frozen: Vec<Foretold>) -> Result<(Request, At, TrialSpec)> {
    let watch = taken::watch(asked)?;
    let trials = || asking.iter().map(|asking| &asking.trial);
    let blocks = trials().map(|trial| trial.runs).max().unwrap_or_default();
    let watching = taken::trial(blocks, trials().map(|trial| trial.window_ms).fold(0.0, f64::max));
    let tried = asking.iter().map(|asking| (std::slice::from_ref(&asking.at), asking.trial.clone()));
    let watched = (std::slice::from_ref(&watch), watching.clone());
    let groups: Vec<(&[At], TrialSpec)> = tried.chain([watched]).collect();
    Ok((asked.request("cipher predict", &groups, frozen), watch, watching))
}

/// Whether nothing was missed, and anything was shown.
fn holds(predicted: &[Predicted]) -> bool {
    let outcomes: Vec<Outcome> = predicted.iter().flat_map(|of| [of.mean(), of.p99()]).collect();
    !outcomes.contains(&Outcome::Missed) && outcomes.contains(&Outcome::Holds)
}

/// What the fitted model says of a point.
fn foresee(fit: &Fit, asking: &Asking, seed: u64) -> tollway_core::Result<Foreseen> {
    let (answer, block) = simulated(fit, asking, seed)?;
    Ok(Foreseen::of(&answer, block))
}

/// A point in simulation, and how many requests a block of its trial has.
///
/// # Errors
/// If the point has no card.
pub(crate) fn simulated(fit: &Fit, asking: &Asking, seed: u64) -> tollway_core::Result<(Answer, u64)> {
    let Asking { at, way, rate, tenants, trial, .. } = asking;
    let question = foreseen::question(at, *rate, *tenants, REQUESTS, seed)?;
    let answer = foreseen::simulated(fit, way, &question);
    let block = answer.responses.len() as f64 / answer.seconds * trial.window_ms / 1e3;
    Ok((answer, block.round() as u64))
}

/// For the store: before the first trial of the point.
pub fn freeze(foreseen: &Foreseen, at: &At, fit: &Fit, hz: f64) -> Foretold {
    let ticks = foreseen.mean * hz / 1e9;
    Foretold {
        path: at.path.into(),
        variant: at.variant.clone(),
        params: at.params.clone(),
        forecast: Forecast {
            of: Quoted::Mean,
            ticks,
            lo: ticks * (1.0 - MEAN_WITHIN),
            hi: ticks * (1.0 + MEAN_WITHIN),
            p99: Some(foreseen.p99 * hz / 1e9),
            counts: Default::default(),
            model: format!(
                "simulation of the steps measured alone; fitted to light loads of `busy`: a service of {:.2} µs, wake-ups {:.2} times \
                 as long, {} µs besides",
                fit.serve / 1e3,
                fit.wakes,
                number::signed(fit.rest / 1e3, 2)
            ),
            from: Vec::new(),
            sharing: None,
        },
    }
}

/// What was measured, against a mean by M/M/1.
///
/// # Errors
/// With fewer than two blocks.
pub fn measured(observed: &Observed, mm1: Option<f64>) -> Result<Measured> {
    let interval = |values: &[f64]| {
        let interval = t_interval(values, CONFIDENCE);
        let interval = interval.map_err(|e| Error::Wrong(format!("an interval of responses: {e}")))?;
        // Nothing takes less than no time.
        Ok::<_, Error>(Interval { lo: interval.lo.max(0.0), ..interval })
    };
    let blocks: Vec<Vec<f64>> = observed.p99s.iter().map(|p99| vec![*p99]).collect();
    let p99 = figure(&blocks, CONFIDENCE);
    let p99 = p99.map_err(|e| Error::Wrong(format!("an interval of 99th percentiles: {e}")))?;
    let location = observed.location()?;
    let seconds = (observed.count("card_nanoseconds") / 1e9).max(1e-9);
    Ok(Measured {
        requests: observed.spread.samples(),
        mean: interval(&observed.means)?,
        p99: Interval { lo: p99.lo.max(0.0), ..p99 },
        queue: observed.count("card_queue_nanoseconds") / seconds / 1e9,
        interrupts: observed.count("card_interrupts") / seconds,
        load: observed.count("card_busy_nanoseconds") / 1e9 / seconds,
        mm1_p: mm1.map(|mean| location.p_different(mean)),
    })
}
