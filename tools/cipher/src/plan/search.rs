//! The largest load, or the most tenants, at which a fitted card keeps a service level, with as much to spare as the model may be off.

use tollway_cipher::twin::Answer;
use tollway_core::Result;

use crate::args::plan::Level;
use crate::args::predict::LARGEST_LOAD;
use crate::fitted::asked::Asked;
use crate::fitted::fit::Fit;
use crate::fitted::foreseen::{self, Foreseen};
use crate::fitted::way::Way;

/// Requests of a simulation while it is looked for a load.
const REQUESTS: u64 = 200_000;

/// Requests of a block: quantiles are those of a typical one.
pub(super) const BLOCK: u64 = 12_500;

/// How often the stretch in which it must be is halved: to a five-hundredth of what the card can do.
const HALVINGS: u32 = 9;

/// The most tenants that are thought of.
const MOST_TENANTS: u32 = 64;

/// What is looked for, and in what.
pub(super) struct Looked<'a> {
    pub(super) fit: &'a Fit,
    pub(super) asked: &'a Asked<'a>,
    pub(super) level: Level,
}

/// A way, and how much it can do.
pub(super) struct Choice {
    pub(super) way: Way,
    /// `None`: the level is not kept at any load.
    pub(super) found: Option<Found>,
    /// Why it was not looked for.
    pub(super) left_out: Option<&'static str>,
}

/// How much a way can do.
pub(super) struct Found {
    /// Requests a second of each tenant.
    pub(super) rate: f64,
    pub(super) tenants: u32,
    /// What the level speaks of, in nanoseconds.
    pub(super) at: f64,
    pub(super) foreseen: Foreseen,
}

impl Looked<'_> {
    /// The largest load of as many tenants as were asked for.
    pub(super) fn largest_load(&self, way: &Way) -> Result<Choice> {
        let tenants = self.asked.tenants;
        if let Some(choice) = left_out(way, tenants) {
            return Ok(choice);
        }
        let all = 1e9 / self.fit.occupied;
        let (mut low, mut high, mut found) = (0.0, all, None);
        for _ in 0..HALVINGS {
            let rate = 0.5 * (low + high) / f64::from(tenants);
            match self.kept(way, rate.floor().max(1.0), tenants)? {
                Some(kept) => (low, found) = (0.5 * (low + high), Some(kept)),
                None => high = 0.5 * (low + high),
            }
        }
        Ok(Choice { way: way.clone(), found, left_out: None })
    }

    /// The most tenants that ask so many times a second each.
    pub(super) fn most_tenants(&self, way: &Way, rate: f64) -> Result<Choice> {
        let all = if way.keeps_its_core() { 1 } else { MOST_TENANTS };
        let (mut low, mut high, mut found) = (0, all + 1, None);
        while high - low > 1 {
            let tenants = low + (high - low) / 2;
            match self.kept(way, rate, tenants)? {
                Some(kept) => (low, found) = (tenants, Some(kept)),
                None => high = tenants,
            }
        }
        Ok(Choice { way: way.clone(), found, left_out: None })
    }

    fn kept(&self, way: &Way, rate: f64, tenants: u32) -> Result<Option<Found>> {
        if rate * f64::from(tenants) * self.fit.occupied >= 1e9 {
            return Ok(None);
        }
        let at = self.asked.card(way, rate as u64, tenants, false)?;
        let question = foreseen::question(&at, rate, tenants, REQUESTS, self.asked.seed)?;
        let answer = foreseen::simulated(self.fit, way, &question);
        let at = spoken_of(self.level, &answer);
        let kept = at < self.level.foretold() && answer.card_busy <= LARGEST_LOAD * answer.seconds;
        Ok(kept.then(|| Found { rate, tenants, at, foreseen: Foreseen::of(&answer, BLOCK) }))
    }
}

fn left_out(way: &Way, tenants: u32) -> Option<Choice> {
    let why = "a tenant that looks without end leaves its core to no other";
    (tenants > 1 && way.keeps_its_core()).then(|| Choice {
        way: way.clone(),
        found: None,
        left_out: Some(why),
    })
}

fn spoken_of(level: Level, answer: &Answer) -> f64 {
    level.share.map_or_else(|| answer.mean(), |share| answer.typical_quantile(share, BLOCK as usize))
}
