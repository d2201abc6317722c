//! What each tenant of a point got: of a processor, and done with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollway_core::{ActorRecord, TenantKind};
use tollway_store::{PointRecord, Trial};

use super::{Range, Span};

/// Share of intervals that hold the true value.
const CONFIDENCE: f64 = 0.95;

/// What the tenants of a point got. It is there where several actors were measured at once, or one lived in a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TenantsDocument {
    /// Where the measured actors lived; null where that was not kept.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tenant: Option<TenantKind>,
    /// How many actors were measured at once.
    pub measured: u32,
    /// Share of a processor that this machine gave to each measured actor, over the actors.
    pub share: Option<Range>,
    /// The same by the reckoning of the systems that they ran under, over the actors.
    pub own_share: Option<Range>,
    /// Operations a second of each measured actor, over the actors.
    pub rate: Option<Range>,
    /// Operations a second of all measured actors together; null with fewer than two trials.
    pub total_rate: Option<Span>,
    /// The rate of the fastest over that of the slowest, trial by trial, 1 at least; null with one actor, with fewer than two
    /// trials, and where an actor got nothing done.
    pub fastest_over_slowest: Option<Span>,
    /// Trials in which a measured actor got nothing done.
    pub starved_trials: u32,
    /// Each actor, those that were not measured too.
    pub actors: Vec<ActorDocument>,
}

/// One actor, over all trials of its point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ActorDocument {
    /// The role it played.
    pub role: String,
    /// Its number among the actors of that role, from 0.
    pub number: u32,
    /// Where it lived; null where that was not kept.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tenant: Option<TenantKind>,
    /// Whether its operations were recorded.
    pub measured: bool,
    /// Share of a processor that this machine gave it, over the trials.
    pub share: Option<Range>,
    /// The same by the reckoning of the system that it ran under, over the trials.
    pub own_share: Option<Range>,
    /// Operations a second, over the trials.
    pub rate: Option<Range>,
    /// Mean of its operations in ticks, over the trials.
    pub mean_ticks: Option<Range>,
    /// Operations in all trials.
    pub ops: Option<u64>,
    /// The latest that it was told to run after its warm-up should have begun, in ticks; 0 where it was always in time.
    pub latest_ticks: u64,
}

impl TenantsDocument {
    /// Of a point; `None` where nothing is to be told of its tenants.
    pub(crate) fn of(record: &PointRecord) -> Option<TenantsDocument> {
        let trials = &record.measured;
        let mut actors: BTreeMap<(&str, u32), Vec<&ActorRecord>> = BTreeMap::new();
        for actor in trials.iter().flat_map(|t| &t.actors) {
            actors.entry((&actor.role, actor.number)).or_default().push(actor);
        }
        let actors: Vec<ActorDocument> = actors.values().filter_map(|a| ActorDocument::of(a)).collect();
        let measured: Vec<&ActorDocument> = actors.iter().filter(|a| a.measured).collect();
        let guest =
            |a: &ActorDocument| matches!(a.tenant, Some(TenantKind::MicroGuest | TenantKind::LinuxGuest));
        if measured.len() < 2 && !actors.iter().any(guest) {
            return None;
        }
        let over = |of: fn(&ActorDocument) -> Option<Range>| {
            Range::of(&measured.iter().filter_map(|a| of(a)).map(|r| r.median).collect::<Vec<f64>>())
        };
        Some(TenantsDocument {
            tenant: measured.first().and_then(|a| a.tenant),
            measured: u32::try_from(measured.len()).unwrap_or(u32::MAX),
            share: over(|a| a.share),
            own_share: over(|a| a.own_share),
            rate: over(|a| a.rate),
            total_rate: over_blocks(trials, |rates| Some(rates.iter().sum()))
                .map(|s| Span { lo: s.lo.max(0.0), ..s }),
            fastest_over_slowest: over_blocks(trials, log_fastest_over_slowest).map(|log| Span {
                estimate: log.estimate.exp(),
                // Nobody is faster than the fastest.
                lo: log.lo.max(0.0).exp(),
                hi: log.hi.exp(),
            }),
            starved_trials: u32::try_from(trials.iter().filter(|t| rates(t).contains(&0.0)).count())
                .unwrap_or(u32::MAX),
            actors,
        })
    }
}

impl ActorDocument {
    fn of(records: &[&ActorRecord]) -> Option<ActorDocument> {
        let first = records.first()?;
        let over = |of: fn(&ActorRecord) -> Option<f64>| {
            Range::of(&records.iter().filter_map(|r| of(r)).collect::<Vec<f64>>())
        };
        Some(ActorDocument {
            role: first.role.clone(),
            number: first.number,
            tenant: first.tenant,
            measured: first.ops.is_some(),
            share: over(ActorRecord::share),
            own_share: over(ActorRecord::own_share),
            rate: over(ActorRecord::rate),
            mean_ticks: over(|r| r.mean_ticks),
            ops: first.ops.map(|_| records.iter().filter_map(|r| r.ops).sum()),
            latest_ticks: records.iter().map(|r| r.late_ticks).max().unwrap_or_default(),
        })
    }
}

/// The rates of a trial's measured actors.
fn rates(trial: &Trial) -> Vec<f64> {
    trial.actors.iter().filter_map(ActorRecord::rate).collect()
}

/// On a logarithm, as it is a ratio: an interval of it does not reach below zero.
fn log_fastest_over_slowest(rates: &[f64]) -> Option<f64> {
    let slowest = rates.iter().copied().reduce(f64::min).filter(|r| *r > 0.0 && rates.len() > 1)?;
    Some((rates.iter().copied().fold(slowest, f64::max) / slowest).ln())
}

/// A figure made of one number a trial, as the median of a point is; `None` where a trial has none.
fn over_blocks(trials: &[Trial], of: impl Fn(&[f64]) -> Option<f64>) -> Option<Span> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        let rates = rates(trial);
        let value = if rates.is_empty() { None } else { of(&rates) };
        blocks.entry(trial.block).or_default().push(value?);
    }
    let blocks: Vec<Vec<f64>> = blocks.into_values().collect();
    let found = tollway_stats::figure(&blocks, CONFIDENCE).ok()?;
    Some(Span { estimate: found.estimate, lo: found.lo, hi: found.hi })
}
