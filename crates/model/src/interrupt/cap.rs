//! A cap on interrupts per second: what a NIC's throttle (ITR) or a card's interrupt limit does.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::moderation::{self, Moderation};
use crate::interrupt::parameters::COMPLETIONS;
use crate::{Result, Solution, check};

/// Interrupts at least 1/cap apart. Who completes when the last one is long enough ago is told at once; else it is held
/// until it is, with all others that complete until then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cap {
    lambda: f64,
    gap: f64,
}

impl Cap {
    /// Completions and at most so many interrupts per second.
    ///
    /// # Errors
    /// When a rate is not usable.
    pub fn new(lambda: f64, cap: f64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        Ok(Self { lambda, gap: 1.0 / check::positive("cap", cap)? })
    }
}

impl Moderation for Cap {
    fn completions(&self) -> f64 {
        self.lambda
    }

    /// γ + e^−γ, γ = λ/cap: a gap's completions, and one more that ends an empty gap.
    fn mean_batch(&self) -> f64 {
        let mean = self.lambda * self.gap;
        mean + (-mean).exp()
    }

    /// γ/(2cap) over the batch: half a gap for those who complete within one.
    fn mean_delay(&self) -> f64 {
        0.5 * self.gap * (self.lambda * self.gap / self.mean_batch())
    }

    /// λ(1/cap − x) over the batch.
    fn still_held(&self, time: f64) -> f64 {
        (self.lambda * (self.gap - time)).max(0.0) / self.mean_batch()
    }

    fn longest_delay(&self) -> f64 {
        self.gap
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "cap",
    title: "interrupt rate cap",
    family: Family::Interrupts,
    summary: "interrupts are at least 1/cap apart; completions in between are told together",
    formula: "γ = λ/cap; batch γ + e^−γ; interrupts λ/(γ + e^−γ); delay γ/(2cap(γ + e^−γ)); P(delay > x) = λ(1/cap − x)/(γ + e^−γ), x < 1/cap",
    assumptions: "Poisson completions; the gap is counted from the last interrupt; an interrupt tells all that are held",
    source: "renewal-reward over one gap, written out here (Ross 1996, Stochastic Processes, chapter 3); the mechanism: Intel 82576 datasheet, Interrupt Moderation (EITR)",
    holds: "exact",
    parameters: &[
        COMPLETIONS,
        Parameter {
            name: "cap",
            kind: Kind::Rate,
            means: "interrupts at most",
            default: None,
            example: "5000/s",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    moderation::solution(&Cap::new(given.rate("lambda")?, given.rate("cap")?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials::held;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    #[test]
    fn agrees_with_trials() {
        for (lambda, cap) in [(1.0, 1.25), (3.0, 1.0)] {
            let model = Cap::new(lambda, cap).unwrap();
            let mut last = f64::NEG_INFINITY;
            let trial = held(lambda, |arrivals| {
                last = arrivals.peek(0).max(last + 1.0 / cap);
                last
            });
            trial.delay.holds(model.mean_delay());
            trial.interrupts.holds(model.interrupt_rate());
            trial.distributed(|time| model.still_held(time));
        }
    }

    #[test]
    fn without_a_cap_worth_the_name_nothing_is_held() {
        let model = Cap::new(1e4, 1e15).unwrap();
        close(model.interrupt_rate(), 1e4, 1e-12);
        assert!(model.mean_delay() < 1e-25);
        assert_eq!(model.delay_quantile(0.99).unwrap(), 0.0);
    }

    #[test]
    fn far_above_the_cap_there_are_as_many_interrupts_as_it_allows() {
        let model = Cap::new(1e15, 1e3).unwrap();
        close(model.interrupt_rate(), 1e3, 1e-14);
        close(model.mean_delay(), 0.5e-3, 1e-14);
        close(model.delay_quantile(0.9).unwrap(), 0.9e-3, 1e-12);
        assert!(Cap::new(1.0, 0.0).is_err());
    }
}
