//! A cap that follows the load: what adaptive interrupt moderation does, as a mixture of caps.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::cap::Cap;
use crate::interrupt::moderation::{self, Moderation};
use crate::interrupt::parameters::COMPLETIONS;
use crate::interrupt::poisson::Poisson;
use crate::{ModelError, Result, Solution, check};

/// After each window the number of completions in it picks the cap of the next one from a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive {
    lambda: f64,
    /// Each cap with the share of windows that it rules.
    caps: Vec<(Cap, f64)>,
}

impl Adaptive {
    /// `lambda` completions per second; `window` in seconds; `table` has the rates from which on a cap holds, rising
    /// from 0, and the caps, all per second.
    ///
    /// # Errors
    /// When a parameter is not usable or the table does not rise from 0.
    pub fn new(lambda: f64, window: f64, table: &[(f64, f64)]) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("window", window)?;
        check::count("from", table.len() as u64, 1, 1000)?;
        for (from, _) in &table[1..] {
            check::positive("from", *from)?;
        }
        if table[0].0 != 0.0 || table.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(ModelError::parameter(
                "from",
                "it does not rise from 0",
                "write 0 first, then larger rates",
            ));
        }
        let counted = Poisson::new(lambda * window);
        // The fewest completions in a window from which an entry holds.
        let fewest = |i: usize| table.get(i).map(|(from, _)| whole_above(from * window));
        let caps = table.iter().enumerate().map(|(i, (_, cap))| {
            let least = fewest(i).unwrap_or(0.0);
            let share = match fewest(i + 1) {
                Some(next) if next <= least => 0.0,
                // On the side of the mean where the tails are small, so that they keep their digits.
                Some(next) if least > lambda * window => counted.at_least(least) - counted.at_least(next),
                Some(next) => counted.at_most(next - 1.0) - counted.at_most(least - 1.0),
                None => counted.at_least(least),
            };
            Ok((Cap::new(lambda, check::positive("caps", *cap)?)?, share.max(0.0)))
        });
        Ok(Self { lambda, caps: caps.collect::<Result<_>>()? })
    }

    /// Share of windows that each cap rules, in the table's order.
    pub fn shares(&self) -> Vec<f64> {
        self.caps.iter().map(|(_, share)| *share).collect()
    }

    fn mixed(&self, of: impl Fn(&Cap) -> f64) -> f64 {
        self.caps.iter().map(|(cap, share)| share * of(cap)).sum()
    }
}

/// The whole number at or above a product, which may have been rounded off a whole number.
fn whole_above(product: f64) -> f64 {
    let nearest = product.round();
    if (product - nearest).abs() <= 4.0 * f64::EPSILON * product { nearest } else { product.ceil() }
}

impl Moderation for Adaptive {
    fn completions(&self) -> f64 {
        self.lambda
    }

    fn mean_batch(&self) -> f64 {
        self.lambda / self.mixed(Cap::interrupt_rate)
    }

    fn mean_delay(&self) -> f64 {
        self.mixed(Cap::mean_delay)
    }

    fn still_held(&self, time: f64) -> f64 {
        self.mixed(|cap| cap.still_held(time))
    }

    fn longest_delay(&self) -> f64 {
        self.caps.iter().map(|(cap, _)| cap.longest_delay()).fold(0.0, f64::max)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "adaptive",
    title: "adaptive interrupt rate",
    family: Family::Interrupts,
    summary: "the completions of each window pick the cap on interrupts in the next one",
    formula: "πᵢ = P(fromᵢ ≤ Poisson(λw)/w < fromᵢ₊₁); delay Σπᵢdᵢ and interrupts Σπᵢrᵢ with dᵢ, rᵢ of cap i",
    assumptions: "Poisson completions; each window is long against the gaps 1/cap, so that every window is in the steady state of its cap",
    source: "mixture over the counts of independent windows, written out here; the mechanism: Linux net/core dim (dynamic interrupt moderation)",
    holds: "approximation: shares of windows are exact, what happens at the borders of windows is left out; its share is of the order of 1/(cap·w)",
    parameters: &[
        COMPLETIONS,
        Parameter {
            name: "window",
            kind: Kind::Time,
            means: "length of a window",
            default: None,
            example: "10ms",
        },
        Parameter {
            name: "from",
            kind: Kind::Rates,
            means: "completions per second from which the cap beside it holds, rising; the first is 0",
            default: None,
            example: "0/s,5000/s,8000/s",
        },
        Parameter {
            name: "caps",
            kind: Kind::Rates,
            means: "interrupts at most, for each of `from`",
            default: None,
            example: "10k/s,5000/s,2000/s",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let (from, caps) = (given.rates("from")?, given.rates("caps")?);
    if from.len() != caps.len() {
        return Err(ModelError::parameter(
            "caps",
            format!("there are {} for {} of from", caps.len(), from.len()),
            "give one for each",
        ));
    }
    let table: Vec<_> = from.into_iter().zip(caps).collect();
    moderation::solution(&Adaptive::new(given.rate("lambda")?, given.time("window")?, &table)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials::held_by_window;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    #[test]
    fn one_entry_is_a_cap() {
        let (adaptive, cap) = (Adaptive::new(3.0, 1.0, &[(0.0, 2.0)]).unwrap(), Cap::new(3.0, 2.0).unwrap());
        close(adaptive.mean_delay(), cap.mean_delay(), 1e-15);
        close(adaptive.interrupt_rate(), cap.interrupt_rate(), 1e-15);
        close(adaptive.delay_quantile(0.9).unwrap(), cap.delay_quantile(0.9).unwrap(), 1e-14);
    }

    #[test]
    fn shares_of_windows_are_those_of_a_poisson_count() {
        // λw = 2: P(0 or 1) = 3e^−2, P(2 or 3) = (2 + 4/3)e^−2, the rest.
        let adaptive = Adaptive::new(20.0, 0.1, &[(0.0, 1e3), (20.0, 1e2), (40.0, 10.0)]).unwrap();
        let e = (-2.0_f64).exp();
        for (got, want) in
            adaptive.shares().iter().zip([3.0 * e, (2.0 + 4.0 / 3.0) * e, 1.0 - (5.0 + 4.0 / 3.0) * e])
        {
            close(*got, want, 1e-14);
        }
        // Far beyond what sums can do, and between two entries that no whole number separates.
        let table = [(0.0, 1.0), (1e14, 2.0), (1e15, 3.0)];
        let shares = Adaptive::new(1e14, 1e15, &table).unwrap().shares();
        close(shares[0] + shares[1] + shares[2], 1.0, 1e-14);
        close(shares[0], 0.5, 1e-6);
        assert_eq!(Adaptive::new(1.0, 1.0, &[(0.0, 1.0), (0.2, 1.0), (0.7, 1.0)]).unwrap().shares()[1], 0.0);
    }

    #[test]
    fn windows_long_against_the_gaps_agree_with_trials() {
        // 100 gaps in a window at the least: the borders are worth less than 1 %.
        let table = [(0.0, 4.0), (1.0, 1.0)];
        let (lambda, window) = (1.0, 100.0);
        let model = Adaptive::new(lambda, window, &table).unwrap();
        let seen = held_by_window(lambda, window, |rate| if rate >= 1.0 { 1.0 } else { 4.0 });
        seen.delay.holds_nearly(model.mean_delay(), 0.01);
        seen.interrupts.holds_nearly(model.interrupt_rate(), 0.01);
        // What a wrong mixture would say is farther away than that.
        assert!((Cap::new(1.0, 1.0).unwrap().mean_delay() / model.mean_delay() - 1.0).abs() > 0.1);
    }

    #[test]
    fn tables_that_do_not_rise_from_zero_are_refused() {
        for bad in
            [&[][..], &[(1.0, 1.0)], &[(0.0, 1.0), (2.0, 1.0), (2.0, 1.0)], &[(0.0, 1.0), (f64::NAN, 1.0)]]
        {
            assert!(Adaptive::new(1.0, 1.0, bad).is_err(), "{bad:?}");
        }
    }
}
