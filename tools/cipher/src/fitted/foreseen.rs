//! What follows for a load and a way: by simulation, and by formulas where there are some.

use tollway_cipher::engine::device::Delivery;
use tollway_cipher::engine::driver::Waiting;
use tollway_cipher::twin::{Answer, Question, run};
use tollway_core::{Error, Result};
use tollway_model::Distribution;
use tollway_model::general::Mg1Setup;
use tollway_model::markovian::{FiniteSource, Mm1};

use super::asked::{Asked, At};
use super::fit::Fit;
use super::way::Way;

/// Requests that a simulation has.
pub const REQUESTS: u64 = 1_000_000;

/// Simulations to find the rate of a load.
const TRIES: u32 = 8;

/// What simulation foresees; times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foreseen {
    /// Mean response.
    pub mean: f64,
    /// What 99 of 100 do not exceed, in a typical block: the median over blocks.
    pub p99: f64,
    /// Nanoseconds that the card is at work for a request: its calls, and what the machine takes of its core, too.
    pub occupied: f64,
    /// Requests that stand at the card.
    pub queue: f64,
    /// Interrupts a second.
    pub interrupts: f64,
    /// Processors that are at work, all roles together.
    pub processors: f64,
}

impl Foreseen {
    /// Of blocks of so many requests.
    pub(crate) fn of(answer: &Answer, block: u64) -> Foreseen {
        Foreseen {
            mean: answer.mean(),
            p99: answer.typical_quantile(0.99, block as usize),
            occupied: occupied(answer),
            queue: answer.queue,
            interrupts: answer.interrupts as f64 / answer.seconds,
            processors: (answer.card_busy + answer.tenant_busy) / answer.seconds,
        }
    }
}

fn occupied(answer: &Answer) -> f64 {
    1e9 * answer.card_busy / answer.responses.len().max(1) as f64
}

/// What is known to be off for so many tenants (docs/cipher.md, "What is not in the model").
pub fn remark(tenants: u32) -> Option<&'static str> {
    (tenants >= 4).then_some("four tenants and more were foretold to wait a quarter to a third too long")
}

/// Of the way that is fitted.
pub fn busy(rate: f64, seed: u64) -> Question {
    Question {
        delivery: Delivery::Never,
        waiting: Waiting::Busy,
        awake: false,
        tenants: 1,
        rate,
        requests: REQUESTS,
        seed,
    }
}

/// What is asked of the simulation at that point, `rate` requests a second of each of its tenants.
///
/// # Errors
/// If the point's variant has no card.
pub fn question(at: &At, rate: f64, tenants: u32, requests: u64, seed: u64) -> Result<Question> {
    let Some((delivery, waiting)) = tollway_cipher::told(&at.variant, &at.params)? else {
        return Err(Error::Wrong(format!("`{}` has no card to tell anybody", at.variant)));
    };
    let awake = at.params.word("card")? == "awake";
    Ok(Question { delivery, waiting, awake, tenants: tenants as usize, rate, requests, ..busy(rate, seed) })
}

/// Simulates the fitted card.
pub fn simulated(fit: &Fit, way: &Way, question: &Question) -> Answer {
    run(&fit.parts(way), question)
}

/// Requests a second of one tenant at which the card is at work for that share of time by that way: to half a hundredth, or as near as
/// a few simulations come.
///
/// # Errors
/// If the way has no such point.
pub fn rate_of(load: f64, fit: &Fit, way: &Way, asked: &Asked<'_>) -> Result<f64> {
    let mut rate = load * 1e9 / fit.occupied;
    for _ in 0..TRIES {
        let at = asked.card(way, rate as u64, 1, false)?;
        let answer = simulated(fit, way, &question(&at, rate, 1, REQUESTS / 4, asked.seed)?);
        let off = load / (rate * occupied(&answer) * 1e-9);
        if (off - 1.0).abs() < 0.005 {
            break;
        }
        rate *= off;
    }
    Ok(rate.round())
}

/// Mean response by M/M/1, and what 99 of 100 do not exceed: as if services were exponential, of so many nanoseconds, and nothing but
/// them took time. `None` where more comes than can be done.
pub fn mm1(occupied: f64, rate: f64) -> Option<(f64, f64)> {
    let queue = Mm1::new(rate, 1e9 / occupied).ok()?;
    Some((1e9 * queue.mean_response(), 1e9 * queue.response_quantile(0.99).ok()?))
}

/// The same of so many tenants that loop: M/M/1//N, who is not at the card writes, takes and wakes up.
pub fn finite_source(fit: &Fit, way: &Way, occupied: f64, tenants: u32) -> Option<(f64, f64)> {
    let parts = fit.parts(way);
    let wakes =
        if way.keeps_its_core() { 0.0 } else { parts.tenant.first().map_or(0.0, |(_, law)| law.mean()) };
    let elsewhere = parts.submit.mean() + parts.take.mean() + wakes;
    let queue = FiniteSource::new(1e9 / elsewhere, 1e9 / occupied, 1, u64::from(tenants)).ok()?;
    Some((1e9 * queue.mean_response() + elsewhere, 1e9 * queue.response_quantile(0.99).ok()? + elsewhere))
}

/// Mean response of the way that is fitted, by M/G/1 with set-ups: services of one length with what the machine takes of them, the
/// card's wake-up as the set-up, and the steps of the tenant besides.
pub fn mg1_setup(fit: &Fit, rate: f64) -> Option<f64> {
    let parts = fit.parts(&Way::busy());
    let taken = &parts.interruptions;
    // Services with interruptions (Gaver 1962, Journal of the Royal Statistical Society B 24:73): the second moment has that of those
    // that fall into one.
    let mean = fit.occupied * 1e-9;
    let squares = taken.a_second(|long| (long * 1e-9).powi(2));
    let scv = fit.serve * 1e-9 * squares / (mean * mean);
    let service = match scv {
        scv if scv > 1e-6 => Distribution::Lognormal { mean, scv },
        _ => Distribution::constant(mean).ok()?,
    };
    let (_, setup) = parts.card.first()?;
    let setup =
        Distribution::Lognormal { mean: (setup.mean() + parts.cold) * 1e-9, scv: setup.scv().max(1e-6) };
    let wait = Mg1Setup::new(rate, service, setup).ok()?.mean_wait();
    // A request that comes when the tenant's core is taken waits for what is left of that, and so does its result.
    Some(1e9 * (wait + mean + squares) + parts.submit.mean() + parts.take.mean() + parts.rest)
}
