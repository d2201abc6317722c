//! Hybrid polling: a server that looks without pause for a while before it sleeps. Who finds it asleep wakes it, which
//! takes time.

use num_complex::Complex64;

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::means::{Load, Means};
use crate::interrupt::parameters::{LAMBDA, SERVICE};
use crate::interrupt::waits::{Parts, Waits};
use crate::{Distribution, Result, Solution, Unit, check};

/// M/G/1 whose server, when nobody is there, spins for a time and sleeps then. Who comes while it spins is served at
/// once; who comes while it sleeps wakes it, and it serves when the set-up is over.
///
/// The first arrival after a busy period ends is 1/λ away on average, whatever the server does until then. With
/// q = e^−λσ it comes after the spin σ, and a set-up U follows in which λU more come. By the decomposition of Fuhrmann
/// and Cooper (1985) the customers in the system are those of M/G/1 and, independent of them, those present at a random
/// time at which the server does not serve: q(E\[U\] + λE\[U²\]/2)/(1/λ + qE\[U\]) on average.
#[derive(Clone, Debug, PartialEq)]
pub struct HybridPolling {
    load: Load,
    service: Distribution,
    /// q: chance that nobody comes while the server spins.
    asleep: f64,
    /// 1 − q.
    caught: f64,
    setup: Distribution,
}

impl HybridPolling {
    /// `lambda` customers per second; `spin` in seconds, 0 for none.
    ///
    /// # Errors
    /// When a parameter is not usable, or customers come as fast as they are served.
    pub fn new(lambda: f64, service: &Distribution, spin: f64, setup: &Distribution) -> Result<Self> {
        let load = Load::new(lambda, service)?;
        let spin = check::non_negative("spin", spin)?;
        let setup = setup.clone().checked("setup")?;
        Ok(Self {
            load,
            asleep: (-lambda * spin).exp(),
            caught: -(-lambda * spin).exp_m1(),
            service: service.clone(),
            setup,
        })
    }

    /// The means: W = λE\[S²\]/(2(1 − ρ)) + q(2E\[U\] + λE\[U²\])/(2(1 + λqE\[U\])).
    pub fn means(&self) -> Means {
        let load = &self.load;
        let added =
            0.5 * self.asleep * (2.0 * self.setup.mean() + load.lambda * self.setup.moment(2)) / self.cycle();
        // All wait but those who find the server spinning: 1 − (1 − ρ)(1 − q)/(1 + λqE[U]).
        let waits = (self.asleep * (1.0 + load.lambda * self.setup.mean())
            + load.utilization() * self.caught)
            / self.cycle();
        load.means(load.pollaczek_khinchine() + added, load.spare() / self.cycle(), waits)
    }

    /// How often the server falls asleep, per second.
    pub fn sleep_rate(&self) -> f64 {
        self.load.lambda * self.load.spare() * self.asleep / self.cycle()
    }

    /// Share of time that the server spins.
    pub fn spinning(&self) -> f64 {
        self.load.spare() * self.caught / self.cycle()
    }

    /// Share of time that the server sleeps.
    pub fn sleeping(&self) -> f64 {
        self.load.spare() * self.asleep / self.cycle()
    }

    /// Share of time that the server is set up.
    pub fn setting_up(&self) -> f64 {
        self.load.spare() * (self.asleep * self.load.lambda * self.setup.mean() / self.cycle())
    }

    /// Mean time between two busy periods, in mean gaps between arrivals: 1 + λqE\[U\].
    fn cycle(&self) -> f64 {
        1.0 + self.load.lambda * self.asleep * self.setup.mean()
    }
}

/// Who comes while the server spins does not wait; who wakes it waits for the set-up; who comes during that, for the
/// rest of it and for the services of those before.
impl Waits for HybridPolling {
    fn service(&self) -> &Distribution {
        &self.service
    }

    fn mean_wait(&self) -> f64 {
        self.means().wait
    }

    fn lumps(&self) -> Vec<(f64, f64)> {
        let mut lumps = vec![(self.spinning(), 0.0)];
        if let Distribution::Constant { value } = self.setup {
            lumps.push((self.sleeping(), value));
        }
        lumps
    }

    fn others(&self, s: Complex64) -> Result<Complex64> {
        let Parts { service, left_of_service, plain, coming, net } = Parts::at(s, &self.load, &self.service)?;
        let (setup, mean) = (&self.setup, self.setup.mean());
        let set_up = match setup {
            Distribution::Constant { .. } => Complex64::ZERO,
            _ => setup.transform(s)?,
        };
        // (U*(λ(1 − S*)) − U*(s))/(s − λ(1 − S*)): what is left of the set-up, and arrivals before it, weighted by its
        // length.
        let (left, left_coming) = (setup.residual_transform(s)?, setup.residual_transform(coming)?);
        let during = mean * (left - coming * (left_coming - left) / net);
        let weight = self.load.lambda * self.asleep;
        let not_serving =
            self.sleeping() * set_up + self.load.spare() / self.cycle() * weight * service * during;
        let begun_with = (1.0 + weight * mean * service * left_coming) / self.cycle();
        Ok(not_serving + self.load.utilization() * plain * left_of_service * begun_with)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "hybrid-polling",
    title: "M/G/1, hybrid polling",
    family: Family::Interrupts,
    summary: "the server spins for a while before it sleeps; who finds it asleep pays for waking it",
    formula: "q = e^−λσ; W = λE[S²]/(2(1 − ρ)) + q(2E[U] + λE[U²])/(2(1 + λqE[U])); sleeps λ(1 − ρ)q/(1 + λqE[U]) per second; spinning (1 − ρ)(1 − q)/(1 + λqE[U]); π₀ = (1 − ρ)/(1 + λqE[U])",
    assumptions: "Poisson arrivals; independent services and set-ups; first come, first served; who comes while the server spins is served at once; a set-up once begun is finished",
    source: "Fuhrmann and Cooper (1985), Stochastic decompositions in the M/G/1 queue with generalized vacations, applied to the idle phase; without spin Takagi (1991), Queueing Analysis 1, chapter 2 (set-up times)",
    holds: "exact for λE[S] < 1",
    parameters: &[
        LAMBDA,
        SERVICE,
        Parameter {
            name: "spin",
            kind: Kind::Time,
            means: "time that the server looks without pause before it sleeps",
            default: None,
            example: "50us",
        },
        Parameter {
            name: "setup",
            kind: Kind::Distribution,
            means: "time from being woken to the first service",
            default: None,
            example: "constant(20us)",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = HybridPolling::new(
        given.rate("lambda")?,
        &given.distribution("service")?,
        given.time("spin")?,
        &given.distribution("setup")?,
    )?;
    Ok(queue
        .means()
        .solution()
        .with("sleeps.rate", queue.sleep_rate(), Unit::PerSecond)
        .with("spinning", queue.spinning(), Unit::Share)
        .with("sleeping", queue.sleeping(), Unit::Share)
        .with("setting-up", queue.setting_up(), Unit::Share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials::woken;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    #[test]
    fn agrees_with_trials() {
        let service: Distribution = "uniform(0.1, 1.1)".parse().unwrap();
        let setup: Distribution = "uniform(0.5, 2.5)".parse().unwrap();
        let (lambda, spin) = (0.8, 1.1);
        let queue = HybridPolling::new(lambda, &service, spin, &setup).unwrap();
        let begins = |spinning: bool| {
            woken(
                lambda,
                |u| 0.1 + u,
                move |now, arrivals, count| {
                    let first = arrivals.peek(0);
                    *count += if spinning { (first - now).min(spin) } else { f64::from(first > now + spin) };
                    if first <= now + spin { first } else { first + 0.5 + 2.0 * arrivals.random.uniform() }
                },
            )
        };
        let trial = begins(false);
        trial.wait.holds(queue.means().wait);
        trial.waited.holds(queue.means().wait_probability);
        trial.idle.holds(queue.means().idle);
        trial.counted.holds(queue.sleep_rate());
        trial.distributed(|time| queue.wait_survival(time).unwrap());
        begins(true).counted.holds(queue.spinning());
    }

    #[test]
    fn shares_of_time_fill_it() {
        let service: Distribution = "erlang(4, 100us)".parse().unwrap();
        for spin in [0.0, 1e-12, 1e-4, 1.0] {
            let queue =
                HybridPolling::new(8000.0, &service, spin, &"constant(20us)".parse().unwrap()).unwrap();
            let shares = [queue.spinning(), queue.sleeping(), queue.setting_up(), queue.means().utilization];
            close(shares.iter().sum(), 1.0, 1e-14);
            close(queue.means().idle, queue.spinning() + queue.sleeping(), 1e-14);
            assert!((1.0 - queue.means().wait_probability - queue.spinning()).abs() < 1e-15);
        }
    }

    #[test]
    fn at_the_limits_it_is_set_up_always_or_never() {
        let service = Distribution::exponential(1.0).unwrap();
        let setup = Distribution::exponential(2.0).unwrap();
        // Without spin, M/M/1 with exponential set-up: the wait of M/M/1 and one set-up (Takagi 1991, chapter 2).
        let never = HybridPolling::new(0.5, &service, 0.0, &setup).unwrap();
        close(never.means().wait, 1.0 + 2.0, 1e-14);
        assert_eq!((never.means().wait_probability, never.spinning()), (1.0, 0.0));
        // With a spin that outlasts every gap, M/M/1.
        let always = HybridPolling::new(0.5, &service, 1e6, &setup).unwrap();
        close(always.means().wait, 1.0, 1e-14);
        close(always.means().wait_probability, 0.5, 1e-14);
        close(always.spinning(), 0.5, 1e-14);
    }
}
