//! Where the levels are kept: first a look at the whole range, then its turning points, then each end by bracketing.

use super::answer::{Answer, Binds, CapacityError, Closest, Goal, Kept};
use super::axis::NEAR;
use super::question::{Point, Question};
use crate::{ModelError, Unit};

/// Steps of a search for a turning point or an end; the brackets are shorter than any difference long before.
const TURNING_STEPS: u32 = 40;
const END_STEPS: u32 = 200;

/// Turning points that are looked at.
const MOST_TURNS: usize = 8;

/// An end of an interval: the last point that keeps the levels, and the first beyond that does not.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) kept: Point,
    pub(super) beyond: Point,
}

impl Question {
    /// The answer.
    ///
    /// # Errors
    /// When no value of the range keeps the levels, the end of the range that is asked for keeps them, or the model
    /// answers nowhere.
    pub fn answer(&self) -> Result<Answer, CapacityError> {
        let points = self.looked_at()?;
        if points.iter().all(|point| point.figures.is_err()) {
            let first = points.into_iter().next().and_then(|point| point.figures.err());
            return Err(first.unwrap_or_else(nothing).into());
        }
        if !points.iter().any(|point| point.is_kept) {
            return Err(self.never(&points));
        }
        let mut kept = Vec::new();
        let mut wanted = None;
        for run in runs(&points) {
            let [lower, upper] =
                [(run.0, run.0.checked_sub(1)), (run.1, Some(run.1 + 1))].map(|(inside, beyond)| {
                    let beyond = beyond.and_then(|at| points.get(at))?;
                    Some(self.end(points[inside].clone(), beyond.clone(), NEAR))
                });
            let (lower, upper) = (lower.transpose()?, upper.transpose()?);
            kept.push(Kept {
                from: lower.as_ref().map_or(points[run.0].value, |end| end.kept.value),
                to: upper.as_ref().map_or(points[run.1].value, |end| end.kept.value),
                from_first: lower.is_none(),
                to_last: upper.is_none(),
            });
            match self.goal {
                Goal::Largest => wanted = Some(upper),
                Goal::Smallest => wanted = wanted.or(Some(lower)),
            }
        }
        let Some(Some(end)) = wanted else { return Err(self.always(&kept)) };
        let mut answer = Answer {
            vary: self.vary.name,
            value: end.kept.value,
            unit: self.unit(),
            figures: end.kept.figures.clone()?,
            binds: self.binds(&end.beyond),
            kept,
            of_answer: Vec::new(),
            of_figures: Vec::new(),
        };
        answer.of_answer = self.elasticities_of_answer(&end)?;
        answer.of_figures = self.elasticities_of_figures(&end.kept)?;
        Ok(answer)
    }

    /// The points of the first look and those of the turning points between them, rising.
    fn looked_at(&self) -> Result<Vec<Point>, CapacityError> {
        let mut points = Vec::new();
        for value in self.axis.scan() {
            points.push(self.at(value)?);
        }
        let mut found = Vec::new();
        for triple in points.windows(3).filter(|triple| is_turn(triple)).take(MOST_TURNS) {
            found.extend(self.turn(triple)?);
        }
        points.extend(found);
        points.sort_by(|a, b| a.value.total_cmp(&b.value));
        points.dedup_by(|a, b| a.value == b.value);
        Ok(points)
    }

    /// Follows the excess from three points, of which the middle one is lowest and does not keep the levels, to where it
    /// is lowest; or the other way round. Golden section: each step keeps 62 % of the bracket.
    fn turn(&self, triple: &[Point]) -> Result<Option<Point>, CapacityError> {
        const GOLDEN: f64 = 0.381_966_011_250_105_2;
        let (mut a, mut b) = (triple[0].value, triple[2].value);
        let mut middle = triple[1].clone();
        let wanted = !middle.is_kept;
        let better = |new: &Point, old: &Point| {
            if wanted { new.excess < old.excess } else { new.excess > old.excess }
        };
        for _ in 0..TURNING_STEPS {
            let upwards = (b - middle.value).abs() > (middle.value - a).abs();
            let next = self.axis.mix(middle.value, if upwards { b } else { a }, GOLDEN);
            if self.axis.is_near(a, b, NEAR, true) || next == middle.value {
                break;
            }
            let point = self.at(next)?;
            if better(&point, &middle) {
                *(if upwards { &mut a } else { &mut b }) = middle.value;
                middle = point;
                if middle.is_kept == wanted {
                    return Ok(Some(middle));
                }
            } else {
                *(if upwards { &mut b } else { &mut a }) = next;
            }
        }
        // A point that does not keep the levels, but comes nearest, is what an error tells.
        Ok(wanted.then_some(middle))
    }

    /// Closes in on the end between a point that keeps the levels and one that does not: by the secant with the weight
    /// of an end that stays halved (Illinois), every third step in the middle, so that the bracket at least halves in
    /// three steps whatever the figures do.
    pub(super) fn end(&self, mut kept: Point, mut beyond: Point, near: f64) -> Result<End, CapacityError> {
        let (mut low, mut high) = (kept.excess, beyond.excess);
        let mut last_side = None;
        for step in 0..END_STEPS {
            if self.axis.is_near(kept.value, beyond.value, near, beyond.figures.is_ok()) {
                break;
            }
            let between = |value: f64| value != kept.value && value != beyond.value;
            let along = low / (low - high);
            let secant = (step % 3 < 2 && along > 0.0 && along < 1.0)
                .then(|| self.axis.mix(kept.value, beyond.value, along))
                .filter(|value| between(*value));
            let next = secant.unwrap_or_else(|| self.axis.middle(kept.value, beyond.value));
            if !between(next) {
                break;
            }
            let point = self.at(next)?;
            let again = last_side == Some(point.is_kept);
            last_side = Some(point.is_kept);
            if point.is_kept {
                low = point.excess;
                high = if again { high / 2.0 } else { beyond.excess };
                kept = point;
            } else {
                high = point.excess;
                low = if again { low / 2.0 } else { kept.excess };
                beyond = point;
            }
        }
        Ok(End { kept, beyond })
    }

    /// What is broken at the first point beyond.
    fn binds(&self, beyond: &Point) -> Binds {
        match &beyond.figures {
            Ok(figures) => {
                let broken = self
                    .levels
                    .iter()
                    .filter(|level| figures.get(level.figure()).is_none_or(|figure| !level.is_kept(figure)));
                Binds::Levels(broken.map(ToString::to_string).collect())
            }
            Err(ModelError::Unstable { .. }) => Binds::NoSteadyState,
            Err(error) => Binds::Model(error.to_string()),
        }
    }

    fn never(&self, points: &[Point]) -> CapacityError {
        let nearest = points.iter().filter(|point| point.figures.is_ok());
        let nearest = nearest.min_by(|a, b| a.excess.total_cmp(&b.excess));
        let closest = nearest.and_then(|point| {
            let figures = point.figures.as_ref().ok()?;
            let missed = self.levels.iter().filter_map(|level| {
                let metric = figures.metrics().iter().find(|metric| metric.name == level.figure())?;
                Some((level.excess(metric.value), level.figure(), metric.value, metric.unit))
            });
            let (_, level, figure, unit) = missed.max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(Closest { at: point.value, level: level.to_owned(), figure, unit })
        });
        let Some(closest) = closest else { return nothing().into() };
        CapacityError::NeverKept {
            levels: self.levels_text(),
            vary: self.vary.name,
            unit: self.unit(),
            from: self.axis.from,
            to: self.axis.to,
            closest: Box::new(closest),
        }
    }

    fn always(&self, kept: &[Kept]) -> CapacityError {
        let of = match self.goal {
            Goal::Largest => kept.last(),
            Goal::Smallest => kept.first(),
        };
        let (from, to) = of.map_or((self.axis.from, self.axis.to), |kept| (kept.from, kept.to));
        let (levels, vary, goal) = (self.levels_text(), self.vary.name, self.goal);
        CapacityError::AlwaysKept { levels, vary, unit: self.unit(), goal, from, to }
    }
}

/// Whether the middle one of three points turns: lowest and not kept, or highest and kept.
fn is_turn(triple: &[Point]) -> bool {
    let [a, b, c] = triple else { return false };
    let finite = b.excess.is_finite();
    let lowest = !(a.is_kept || b.is_kept || c.is_kept) && b.excess <= a.excess && b.excess <= c.excess;
    let highest = a.is_kept && b.is_kept && c.is_kept && b.excess > a.excess && b.excess > c.excess;
    finite && (lowest || highest)
}

/// First and last of each run of points that keep the levels.
fn runs(points: &[Point]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in points.iter().enumerate().filter(|(_, point)| point.is_kept) {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == at => run.1 = at,
            _ => runs.push((at, at)),
        }
    }
    runs
}

fn nothing() -> ModelError {
    ModelError::Numerical { method: "capacity", reason: "the model answers nowhere in the range".into() }
}

/// The value at which the levels are just kept: between two counts by the line through them.
pub(super) fn crossing(end: &End, unit: Unit) -> f64 {
    let (low, high) = (end.kept.excess, end.beyond.excess);
    if unit != Unit::Count || !high.is_finite() || high <= low {
        return end.kept.value;
    }
    end.kept.value + (end.beyond.value - end.kept.value) * (-low / (high - low)).clamp(0.0, 1.0)
}
