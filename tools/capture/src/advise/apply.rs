//! The proof: what is advised, and today's way, at rates around the predicted ones. The predictions are in the store before
//! the first trial.

use serde::Serialize;
use tollway_core::{
    Case, Error, Forecast, OneOrMany, Params, Preset, PresetHead, Quoted, Registry, Result, TrialSpec, Value,
};
use tollway_lab::Foretold;
use tollway_stats::Interval;
use tollway_store::{Grade, Point, PointState, RunId, Store, Trial, WIDEST};

use super::capacity::{Limit, Predicted, cycles_at, plus, predict, work};
use super::choice::Advice;
use super::document::TriedRate;
use super::measured::{BLOCKS_AHEAD, Books, CONFIDENCE, Measured};
use super::setup::{Asked, PATH, Setup};

/// Shares of the predicted rate that are tried.
const AROUND: [f64; 7] = [0.6, 0.75, 0.85, 0.95, 1.05, 1.15, 1.3];

/// Shares of what the sender gives that are tried where it sets the limit, besides all of it.
const UP_TO_SENDER: [f64; 3] = [0.5, 0.75, 0.9];

/// A way, and the rates at which it is tried.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is predicted of it, on one core: the laboratory's cable has one reader.
    pub predicted: Predicted,
    /// Frames per second, ascending; 0 is as many as the sender can.
    points: Vec<(u64, Params, Interval)>,
}

/// What became of the prediction of a largest rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The rate at which loss begins, as close as it was looked for, is in the prediction's interval.
    Holds,
    /// It is not.
    Missed,
    /// The sender never gave the predicted rate: up to what it gave nothing was lost.
    NotReached,
    /// The prediction's interval is so wide that it says nothing.
    SaysNothing,
    /// There are trials missing.
    NotTried,
}

/// A way that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What was predicted.
    pub predicted: Predicted,
    /// The largest rate up to which nothing was lost, in frames per second.
    pub without_loss: Option<f64>,
    /// The smallest rate at which something was lost.
    pub with_loss: Option<f64>,
    /// What became of the prediction.
    pub outcome: Outcome,
    /// Cycles a packet at the largest rate without loss, as measured.
    pub cycles: Option<Interval>,
    /// What had been predicted for it.
    pub cycles_predicted: Option<Interval>,
    /// And what became of that.
    pub grade: Option<Grade>,
    /// Each rate.
    pub rates: Vec<TriedRate>,
}

/// What is to be tried.
///
/// # Errors
/// When a measured figure is not usable.
pub fn plans(asked: &Asked, advice: &Advice, measured: &Measured, registry: &Registry) -> Result<Vec<Plan>> {
    let mut setups = vec![Setup { cores: 1, ..advice.best.setup }];
    if advice.now.is_some() && asked.now != setups[0] {
        setups.push(asked.now);
    }
    let mut plans = Vec::new();
    for setup in setups {
        let way = measured.way(setup.kind, setup.immediate, setup.buffer);
        let (Some(predicted), Some(way)) = (predict(setup, asked, measured)?, way) else { continue };
        let sender = way.full.carried.estimate;
        let mut rates: Vec<f64> = match predicted.limit {
            Limit::Sender => UP_TO_SENDER.iter().map(|share| share * sender).collect(),
            _ => AROUND.iter().map(|share| share * predicted.rate.estimate).collect(),
        };
        // Beyond, in larger steps: a buffer's limit is a careful one.
        rates.extend((1..20).map(|n| 1.3 * predicted.rate.estimate * f64::from(1 << n)));
        rates.extend(asked.rate);
        rates.retain(|rate| (1.0..0.97 * sender).contains(rate));
        rates.sort_by(f64::total_cmp);
        rates.push(0.0);
        let mut points: Vec<(u64, Params, Interval)> = Vec::new();
        for rate in rates {
            let stall = asked.stall.as_millis() as u64;
            let params = setup.params(asked, registry, rate as u64)?;
            let params = params.with("work", u64::from(asked.work)).with("stall", stall);
            let cycles = plus(cycles_at(way, if rate == 0.0 { sender } else { rate }), work(asked, measured));
            if points.iter().all(|(before, _, _)| *before != rate as u64) {
                points.push((rate as u64, params, cycles));
            }
        }
        plans.push(Plan { predicted, points });
    }
    Ok(plans)
}

/// The preset of these plans.
pub fn preset(plans: &[Plan], asked: &Asked) -> Preset {
    let of = |plan: &Plan| -> Vec<Case> {
        plan.points.iter().map(|(_, params, _)| case(&plan.predicted.setup, params)).collect()
    };
    Preset {
        preset: PresetHead { name: "apply".into(), path: PATH.into(), ..PresetHead::default() },
        case: plans.iter().flat_map(of).collect(),
        trial: TrialSpec {
            // One whole stall, with the time around it.
            window_ms: (asked.stall.as_secs_f64() * 1e4).max(400.0),
            warmup_ms: 30.0,
            runs: BLOCKS_AHEAD,
            repeats: 1,
        },
        ..Preset::default()
    }
}

/// One point as a case of a preset.
pub fn case(setup: &Setup, params: &Params) -> Case {
    let mut case = Case::default();
    for (axis, value) in params.iter() {
        case.0.insert(axis.into(), OneOrMany::One(value.clone()));
    }
    case.0.insert("variant".into(), OneOrMany::One(Value::Text(setup.variant().into())));
    case
}

/// The predictions to be frozen: of each point its cycles, and in words the rate that is claimed of its way.
pub fn foretold(plans: &[Plan]) -> Vec<Foretold> {
    let of = |plan: &Plan, params: &Params, cycles: &Interval| Foretold {
        path: PATH.into(),
        variant: plan.predicted.setup.variant().into(),
        params: params.clone(),
        forecast: Forecast {
            of: Quoted::Work,
            ticks: cycles.estimate,
            lo: cycles.lo,
            hi: cycles.hi,
            model: claim(&plan.predicted),
            from: Vec::new(),
            p99: None,
            counts: Default::default(),
            sharing: None,
        },
    };
    plans.iter().flat_map(|plan| plan.points.iter().map(|(_, p, cycles)| of(plan, p, cycles))).collect()
}

fn claim(predicted: &Predicted) -> String {
    let Interval { estimate, lo, hi, .. } = predicted.rate;
    format!(
        "cycles of the source at this rate, and the application's work; no loss up to {estimate:.0} [{lo:.0}, {hi:.0}] frames/s, \
         by the {}",
        predicted.limit.words()
    )
}

/// Reads what became of the plans.
///
/// # Errors
/// If the store cannot be read.
pub fn read(store: &Store, run: RunId, plans: &[Plan], spec: &TrialSpec) -> anyhow::Result<Vec<Tried>> {
    let (points, trials) = (store.points(run)?, store.trials(run)?);
    plans.iter().map(|plan| tried(store, plan, &points, &trials, spec)).collect()
}

fn tried(
    store: &Store,
    plan: &Plan,
    points: &[Point],
    trials: &[Trial],
    spec: &TrialSpec,
) -> anyhow::Result<Tried> {
    let mut rates: Vec<(TriedRate, &Point)> = Vec::new();
    let mut complete = true;
    for (asked, params, _) in &plan.points {
        let variant = plan.predicted.setup.variant();
        let Some(point) = points.iter().find(|p| p.spec.variant == variant && p.spec.params == *params)
        else {
            continue;
        };
        let of: Vec<&Trial> = trials.iter().filter(|trial| trial.point == point.id).collect();
        complete &= point.state == PointState::Done && !of.is_empty();
        if !of.is_empty() && !matches!(point.state, PointState::Failed(_)) {
            rates.push((rate(*asked, &of, &plan.predicted.setup, spec), point));
        }
    }
    rates.sort_by(|a, b| a.0.carried.total_cmp(&b.0.carried));
    // A single trial that ended just when another program had the processor is no sign of a rate that is too high.
    let lossless = |rate: &TriedRate| rate.dropped == 0 && 2 * rate.kept_up > rate.trials;
    let good = rates.iter().take_while(|(rate, _)| lossless(rate)).count();
    let without_loss = good.checked_sub(1).map(|at| &rates[at]);
    let with_loss = rates.get(good).map(|(rate, _)| rate.carried);
    let figure = match without_loss {
        Some((_, point)) => store.figure(point.id)?,
        None => None,
    };
    let forecast = figure.as_ref().and_then(|f| f.prediction.as_ref()).map(|p| p.forecast.clone());
    let cycles = match without_loss {
        Some((_, point)) => store.work(point.id)?,
        None => None,
    };
    let without_loss = without_loss.map(|(rate, _)| rate.carried);
    Ok(Tried {
        outcome: if complete && !rates.is_empty() {
            outcome(&plan.predicted, without_loss, with_loss)
        } else {
            Outcome::NotTried
        },
        predicted: plan.predicted.clone(),
        without_loss,
        with_loss,
        cycles_predicted: forecast.as_ref().map(|f| Interval {
            estimate: f.ticks,
            lo: f.lo,
            hi: f.hi,
            confidence: CONFIDENCE,
        }),
        grade: figure.and_then(|figure| figure.grade),
        cycles,
        rates: rates.into_iter().map(|(rate, _)| rate).collect(),
    })
}

/// The trials of one rate.
fn rate(asked: u64, trials: &[&Trial], setup: &Setup, spec: &TrialSpec) -> TriedRate {
    let mut tried = TriedRate { asked, carried: 0.0, trials: 0, without_loss: 0, kept_up: 0, dropped: 0 };
    for trial in trials {
        let books = Books::of(trial, spec.warmup_ms);
        // What waits at the end in a capture that keeps up: what came within its patience, twice, and a fiftieth of all.
        let waits = 2e-3 * f64::from(setup.patience.max(1)) + 0.02 * spec.window_ms / 1e3;
        let keeps_up = books.count("read_late") as f64 <= books.carried_per_second * waits;
        tried.trials += 1;
        tried.dropped += books.count("dropped");
        tried.without_loss += u32::from(books.count("dropped") == 0);
        tried.kept_up += u32::from(keeps_up);
        tried.carried += books.carried_per_second / trials.len() as f64;
    }
    tried
}

/// What becomes of a prediction by where loss began: between the largest rate without and the smallest with it.
pub fn outcome(predicted: &Predicted, without_loss: Option<f64>, with_loss: Option<f64>) -> Outcome {
    let Interval { lo, hi, .. } = predicted.rate;
    let (from, to) = (without_loss.unwrap_or(0.0), with_loss.unwrap_or(f64::INFINITY));
    let meets = lo <= to && from <= hi;
    match (meets, with_loss) {
        (false, _) => Outcome::Missed,
        (true, _) if hi > WIDEST * lo => Outcome::SaysNothing,
        // What the sender gives was what was predicted, or it could not give more.
        (true, None) if predicted.limit == Limit::Sender && from >= lo => Outcome::Holds,
        (true, None) => Outcome::NotReached,
        (true, Some(_)) => Outcome::Holds,
    }
}

/// What a request of this tool can lack.
///
/// # Errors
/// If no trial could be made at all.
pub fn nothing_tried(tried: &[Tried]) -> Result<()> {
    match tried.iter().all(|tried| tried.rates.is_empty()) {
        true => Err(Error::Wrong("no trial of what is advised could be made".into())),
        false => Ok(()),
    }
}
