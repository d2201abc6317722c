//! How the answer moves: with each other parameter, with the limits; and the figures with the load.

use super::answer::{CapacityError, Goal, Sensitivity};
use super::perturb;
use super::question::{Point, Question};
use super::search::{End, crossing};
use crate::catalogue::Kind;

/// How far a parameter is moved up and down.
const STEP: f64 = 0.01;

/// How well an answer that has moved is known, as a share: an elasticity has four digits then.
const ENOUGH: f64 = 1e-7;

/// Points that are tried for the bracket of an answer that has moved; each is twice as far as the one before.
const REACH: u32 = 10;

impl Question {
    /// The elasticity of the answer to each other parameter and to each limit, by central differences: 1 % up and 1 %
    /// down, counts one up and one down. What cannot be moved so, or has no answer there, is left out.
    pub(super) fn elasticities_of_answer(&self, end: &End) -> Result<Vec<Sensitivity>, CapacityError> {
        let mut found = Vec::new();
        for at in 0..self.given.len() {
            let sides = [-1.0, 1.0].map(|side| self.with_given_moved(at, side));
            found.push((self.given[at].0.to_owned(), sides));
        }
        for at in (0..self.levels.len()).filter(|at| self.levels[*at].limit() != 0.0) {
            let sides = [-1.0, 1.0].map(|side| {
                let mut moved = self.clone();
                moved.levels[at] = self.levels[at].scaled(1.0 + side * STEP);
                Some((moved, (side * STEP).ln_1p()))
            });
            found.push((self.levels[at].to_string(), sides));
        }
        let here = (crossing(end, self.unit()), 0.0);
        let mut elasticities = Vec::new();
        for (of, sides) in found {
            let mut ends = [here; 2];
            for (end_of_side, side) in ends.iter_mut().zip(sides) {
                let Some((moved, by)) = side else { continue };
                if let Some(near) = moved.end_near(end)? {
                    *end_of_side = (crossing(&near, self.unit()), by);
                }
            }
            let [(down, by_down), (up, by_up)] = ends;
            if by_up > by_down && down > 0.0 && up > 0.0 {
                elasticities.push(Sensitivity { of, elasticity: (up / down).ln() / (by_up - by_down) });
            }
        }
        Ok(elasticities)
    }

    /// The same question with one parameter a little smaller (−1) or larger (1), and the logarithm of the factor.
    fn with_given_moved(&self, at: usize, side: f64) -> Option<(Question, f64)> {
        let (name, text) = &self.given[at];
        let kind = self.model.parameters.iter().find(|parameter| parameter.name == *name)?.kind;
        let (changed, by) = if kind == Kind::Count {
            let count: f64 = text.trim().parse().ok().filter(|count| *count > 0.0)?;
            (format!("{}", count + side), ((count + side) / count).ln())
        } else {
            let factor = 1.0 + side * STEP;
            (perturb::scaled(kind, text, factor)?, factor.ln())
        };
        let mut moved = self.clone();
        moved.given[at].1 = changed;
        by.is_finite().then_some((moved, by))
    }

    /// The end that has moved from where it was, if it is near.
    fn end_near(&self, was: &End) -> Result<Option<End>, CapacityError> {
        let mut last = self.at(was.kept.value)?;
        let outwards = last.is_kept == (self.goal == Goal::Largest);
        for reach in 0..REACH {
            let far = if self.axis.is_whole() {
                f64::from(1u32 << reach)
            } else {
                was.kept.value * STEP / 4.0 * f64::from(1u32 << reach)
            };
            let next = if outwards { was.kept.value + far } else { was.kept.value - far };
            if !(next > 0.0 && next.is_finite()) {
                return Ok(None);
            }
            let point = self.at(next)?;
            match (last.is_kept, point.is_kept) {
                (true, false) => return self.end(last, point, ENOUGH).map(Some),
                (false, true) => return self.end(point, last, ENOUGH).map(Some),
                _ => last = point,
            }
        }
        Ok(None)
    }

    /// The elasticity of each figure of the levels to the varied parameter at the answer; nearer than 1 % where there is
    /// no figure so far away, as beyond the last steady state.
    pub(super) fn elasticities_of_figures(&self, here: &Point) -> Result<Vec<Sensitivity>, CapacityError> {
        let mut found: Vec<Sensitivity> = Vec::new();
        let mut step = STEP;
        let (down, up, by) = loop {
            let far = if self.axis.is_whole() { 1.0 } else { here.value * step };
            let sides = [self.at(here.value - far)?, self.at(here.value + far)?];
            if let [Point { figures: Ok(down), .. }, Point { figures: Ok(up), .. }] = &sides {
                break (down.clone(), up.clone(), ((here.value + far) / (here.value - far)).ln());
            }
            step /= 10.0;
            if self.axis.is_whole() || step < 1e-7 {
                return Ok(found);
            }
        };
        for level in &self.levels {
            let figure = level.figure();
            let (Some(down), Some(up)) = (down.get(figure), up.get(figure)) else { continue };
            let elasticity = (up / down).ln() / by;
            if elasticity.is_finite() && found.iter().all(|other| other.of != figure) {
                found.push(Sensitivity { of: figure.to_owned(), elasticity });
            }
        }
        Ok(found)
    }
}
