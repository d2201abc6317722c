//! What is advised: the way that is cheapest where it was asked for, and whether ends that have nothing to do look or sleep.

use anyhow::Result;
use tollway_stats::Interval;

use super::asked::{Asked, Way};
use super::foretold::{Foreseen, Said};
use super::nothing;
use crate::args::words::Cores;
use crate::step::{StepDocument, foretold_ratio};

/// What an end does that has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// It looks for the next message: that comes before a sleep would have been worth its wake-up.
    Look,
    /// It sleeps: to look would cost more than the wake-up.
    Sleep,
    /// On one core it sleeps always: the other needs the core.
    GiveWay,
}

/// From where on another way is the cheaper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    /// The synchronous way that asynchronous requests come below.
    pub(super) below: Way,
    /// From how many requests at a time on.
    pub(super) step: StepDocument,
}

/// The advice.
#[derive(Clone, Debug)]
pub(super) struct Advice {
    /// Requests that are on their way at once: as many as were asked for, or as the rate takes.
    pub(super) together: u64,
    /// Whether they come so seldom that ends sleep in between: then each pays its wake-ups, and what is compared is how long one takes.
    pub(super) is_asleep: bool,
    /// The way.
    pub(super) best: Way,
    /// What it costs.
    pub(super) ticks: Interval,
    /// The best of the other style.
    pub(super) other: Option<Way>,
    /// The other's cost over the best's.
    pub(super) gain: Option<Interval>,
    /// Whether that leaves no doubt.
    pub(super) is_certain: bool,
    /// Look or sleep.
    pub(super) waiting: Waiting,
    /// How long an end has nothing to do, in nanoseconds.
    pub(super) gap_ns: f64,
    /// How long a sleep and the wake-up from it take, in nanoseconds.
    pub(super) wake_ns: Option<f64>,
    /// Requests a second from which on looking is better than sleeping.
    pub(super) look_from: Option<f64>,
    /// Where asynchronous comes below each synchronous way.
    pub(super) crossings: Vec<Crossing>,
    /// Whether the rate that was asked for can be done.
    pub(super) is_enough: Option<bool>,
}

/// Advises.
///
/// # Errors
/// If nothing is foretold of what was asked.
pub(super) fn advise(asked: &Asked, foreseen: &Foreseen) -> Result<Advice> {
    let together = together(asked, foreseen);
    let Some(awake) = cheapest(foreseen, Way::LADDER, together) else {
        let said = foreseen.silent.iter().map(|(way, why)| format!("{}: {why}", way.title()));
        return Err(nothing(said.collect::<Vec<_>>().join("; ")).into());
    };
    let wake_ns = foreseen.wake.map(|ticks| ticks * foreseen.ns);
    let cost_ns = awake.0.forecast.ticks * foreseen.ns;
    // With all requests on their way at once the next comes when one is done; else there is nothing to do in between.
    let gap_ns = asked.rate.map_or(cost_ns, |rate| (1e9 / rate - cost_ns).max(0.0));
    let is_long = wake_ns.is_some_and(|wake| gap_ns > wake);
    let waiting = match asked.cores {
        Cores::One => Waiting::GiveWay,
        Cores::Two if is_long => Waiting::Sleep,
        Cores::Two => Waiting::Look,
    };
    // The forecasts of the ladder are of requests one upon another, whose ends are awake when the next comes.
    let asleep = (asked.rate.is_some() && together == 1 && is_long)
        .then(|| cheapest(foreseen, Way::ASLEEP, together))
        .flatten();
    let (best, other) = asleep.unwrap_or(awake);
    let gain = other.and_then(|other| foretold_ratio(&other.ticks(), &best.ticks()));
    let look_from = wake_ns.filter(|_| asked.cores == Cores::Two).map(|wake| 1e9 / (wake + cost_ns));
    let crossings = Way::LADDER
        .into_iter()
        .filter(|way| way.is_sync())
        .filter_map(|below| {
            let step = foreseen.step(Way::Async, below, &asked.ladder)?;
            Some(Crossing { below, step })
        })
        .collect();
    Ok(Advice {
        together,
        is_asleep: asleep.is_some(),
        best: best.way,
        ticks: best.ticks(),
        other: other.map(|said| said.way),
        is_certain: gain.is_some_and(|gain| gain.lo > 1.0),
        gain,
        waiting,
        gap_ns,
        wake_ns,
        look_from,
        crossings,
        is_enough: asked.rate.map(|rate| rate * cost_ns <= 1e9),
    })
}

/// The cheapest of these ways with so many at a time, and the cheapest of the other style; `None` where nothing is foretold of any.
fn cheapest(foreseen: &Foreseen, ways: [Way; 3], together: u64) -> Option<(&Said, Option<&Said>)> {
    let of_style = |sync: bool| {
        let all = ways.into_iter().filter(|way| way.is_sync() == sync);
        let said = all.filter_map(|way| foreseen.at(way, together));
        said.min_by(|a, b| a.forecast.ticks.total_cmp(&b.forecast.ticks))
    };
    match (of_style(true), of_style(false)) {
        (Some(sync), Some(other)) if other.forecast.ticks < sync.forecast.ticks => Some((other, Some(sync))),
        (Some(sync), other) => Some((sync, other)),
        (None, other) => Some((other?, None)),
    }
}

/// How many requests are on their way at once: by Little's law no more than a rate takes, if some way keeps up with it.
fn together(asked: &Asked, foreseen: &Foreseen) -> u64 {
    let Some(rate) = asked.rate else { return asked.concurrency };
    let keeps_up = |n: &&u64| {
        let cost = |way: &Way| Some(foreseen.at(*way, **n)?.forecast.ticks * foreseen.ns);
        Way::LADDER.iter().filter_map(cost).any(|ns| rate * ns <= 1e9)
    };
    let fewer = asked.ladder.iter().filter(|n| **n <= asked.concurrency);
    fewer.clone().find(keeps_up).copied().unwrap_or(asked.concurrency)
}
