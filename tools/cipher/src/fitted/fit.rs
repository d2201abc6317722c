//! What light loads say that the steps do not: how long a service is under load, how far wake-ups are from those measured alone, and
//! what is left over.
//!
//! Four figures are fitted, to the loads of one way only. A service, and how much longer the first after a sleep is, are counted by the
//! card itself. The factor of all wake-ups and
//! the rest of a response are those with which simulation comes closest to the quartiles of the responses, by least squares of what is
//! off, in parts of each: quartiles hardly hang on the long pieces that the machine took meanwhile, as means do, so these are left out of
//! it.

use tollway_cipher::twin::{Answer, Interruptions, Law, Parts, Question, Wakes, run};

use super::alone::{Alone, serve};
use super::asked::At;
use super::foreseen;
use super::observed::Observed;
use super::way::Way;

/// Requests of a simulation of the fit.
const REQUESTS: u64 = 60_000;

/// What of a light load's responses the model is fitted to.
const QUARTILES: [f64; 3] = [0.25, 0.5, 0.75];

/// Between which factors one is looked for, and how often the stretch is narrowed: to a thousandth.
const FACTORS: (f64, f64) = (0.2, 4.0);
const STEPS: u32 = 18;

/// A light load.
pub struct Light {
    /// Where it was measured.
    pub at: At,
    /// Requests a second.
    pub rate: f64,
    /// What came of it.
    pub observed: Observed,
}

/// What was fitted.
#[derive(Clone, Debug)]
pub struct Fit {
    alone: Alone,
    /// What the machine takes of each core.
    pub taken: Interruptions,
    /// Nanoseconds of a service in which nothing interrupts it.
    pub serve: f64,
    /// How much longer the first after a sleep is.
    pub cold: f64,
    /// The same, interruptions included.
    pub occupied: f64,
    /// By how much longer wake-ups are than alone.
    pub wakes: f64,
    /// Nanoseconds of a response that no step explains.
    pub rest: f64,
    /// How far the fitted model's median is from each light load's: fitted over measured, less 1.
    pub off: Vec<f64>,
}

impl Fit {
    /// Fits, on cores of which that was taken meanwhile.
    pub fn of(alone: Alone, taken: Interruptions, light: &[Light], seed: u64) -> Fit {
        let loads = light.iter().map(|light| (sleeps(&light.observed), serve(&light.observed)));
        let (occupied, cold) = line([(0.0, alone.serve)].into_iter().chain(loads));
        let undisturbed = 1.0 - taken.share();
        let ticks = Interruptions { windows: Vec::new(), ..taken.clone() };
        let mut fit = Fit {
            alone,
            taken: ticks,
            serve: occupied * undisturbed,
            cold: cold * undisturbed,
            occupied,
            wakes: 1.0,
            rest: 0.0,
            off: Vec::new(),
        };
        let tried = |fit: &Fit, factor: f64| {
            let fit = Fit { wakes: factor, rest: 0.0, ..fit.clone() };
            // What is off of each quartile, and its weight.
            let mut left = Vec::new();
            for light in light {
                let simulated = fit.simulated(light, seed);
                for share in QUARTILES {
                    let seen = light.observed.quantile(share);
                    left.push((seen - simulated.quantile(share), seen.powi(-2)));
                }
            }
            let all: f64 = left.iter().map(|(_, weight)| weight).sum();
            let rest = left.iter().map(|(off, weight)| off * weight).sum::<f64>() / all;
            (left.iter().map(|(off, weight)| weight * (off - rest).powi(2)).sum::<f64>(), rest)
        };
        fit.wakes = golden(FACTORS, STEPS, |factor| tried(&fit, factor).0);
        fit.rest = tried(&fit, fit.wakes).1;
        let off =
            |light: &Light| fit.simulated(light, seed).quantile(0.5) / light.observed.quantile(0.5) - 1.0;
        fit.off = light.iter().map(off).collect();
        Fit { taken, ..fit }
    }

    /// A light load, by simulation.
    fn simulated(&self, light: &Light, seed: u64) -> Answer {
        let question = Question { requests: REQUESTS, ..foreseen::busy(light.rate, seed) };
        run(&self.parts(&Way::busy()), &question)
    }

    /// The same model on cores of which something else is taken: what was fitted stays as it is.
    pub fn while_taken(&self, taken: Interruptions) -> Fit {
        let occupied = self.serve / (1.0 - taken.share());
        Fit { taken, occupied, ..self.clone() }
    }

    /// The parts of a request by that way.
    pub fn parts(&self, way: &Way) -> Parts {
        let parts = self.alone.parts(way, self.serve, self.cold, &self.taken);
        let longer = |wakes: Wakes| -> Wakes {
            wakes.into_iter().map(|(slept, law): (f64, Law)| (slept, law.times(self.wakes))).collect()
        };
        Parts {
            card: longer(parts.card),
            tenant: longer(parts.tenant),
            nap: longer(parts.nap),
            nap_idle: longer(parts.nap_idle),
            rest: self.rest,
            ..parts
        }
    }
}

/// How often the card slept for a request.
fn sleeps(card: &Observed) -> f64 {
    card.count("card_sleeps") / card.count("card_requests").max(1.0)
}

/// The line nearest to these by least squares, which does not fall: where it begins, and how it rises.
fn line(points: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let points: Vec<(f64, f64)> = points.collect();
    let many = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / many, y + point.1 / many));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let rise = if variance > 0.0 { (covariance / variance).max(0.0) } else { 0.0 };
    (y - rise * x, rise)
}

/// Where a function of one valley is least: golden section search (Kiefer 1953, Proceedings of the AMS 4:502).
fn golden((mut low, mut high): (f64, f64), steps: u32, of: impl Fn(f64) -> f64) -> f64 {
    let part = 0.5 * (5f64.sqrt() - 1.0);
    let (mut a, mut b) = (high - part * (high - low), low + part * (high - low));
    let (mut at_a, mut at_b) = (of(a), of(b));
    for _ in 0..steps {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - part * (high - low);
            at_a = of(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + part * (high - low);
            at_b = of(b);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valley_is_found() {
        let found = golden((0.2, 4.0), 30, |x| (x - 1.7).powi(2) + 3.0);
        assert!((found - 1.7).abs() < 1e-5, "{found}");
    }
}
