//! M^X/M/1 and M^X/G/1: completions that come in batches, as a device raises one interrupt for several.

use num_complex::Complex64;

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::means::{Load, Means};
use crate::interrupt::waits::{Parts, Waits, powers_between};
use crate::{Distribution, ModelError, Result, Solution, Unit, check};

/// The largest batch that is taken.
const LARGEST_BATCH: f64 = 1e9;

/// How many customers come together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Sizes with their probabilities, which add up to 1.
    sizes: Vec<(u64, f64)>,
    /// E\[X\] − 1.
    beyond_first: f64,
    /// E\[X(X − 1)\].
    factorial: f64,
}

impl Batch {
    /// From sizes and their probabilities.
    ///
    /// # Errors
    /// When a size is no whole number of 1 or more, or probabilities do not add up to 1.
    pub fn new(sizes: &[(f64, f64)]) -> Result<Self> {
        check::count("batch", sizes.len() as u64, 1, 10_000)?;
        for (size, probability) in sizes {
            if !(1.0..=LARGEST_BATCH).contains(size) || size.fract() != 0.0 {
                return Err(ModelError::parameter(
                    "batch",
                    format!("{size} is no size"),
                    "give whole numbers from 1 to 1e9",
                ));
            }
            check::share("batch: probability", *probability)?;
        }
        let sum: f64 = sizes.iter().map(|(_, p)| p).sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(ModelError::parameter(
                "batch: probabilities",
                format!("they add up to {sum}"),
                "let them add up to 1",
            ));
        }
        let mean_of = |f: fn(f64) -> f64| sizes.iter().map(|(size, p)| p * f(*size)).sum::<f64>() / sum;
        Ok(Self {
            sizes: sizes.iter().map(|(size, p)| (*size as u64, p / sum)).collect(),
            beyond_first: mean_of(|x| x - 1.0),
            factorial: mean_of(|x| x * (x - 1.0)),
        })
    }

    /// E\[X\].
    pub fn mean(&self) -> f64 {
        1.0 + self.beyond_first
    }

    /// E\[X(X − 1)\]/(2E\[X\]): customers of the same batch that are served before an arbitrary one, on average.
    pub fn ahead(&self) -> f64 {
        self.factorial / (2.0 * self.mean())
    }

    /// E\[z^J\], J customers of the same batch ahead of an arbitrary one: (1 − X(z))/(E\[X\](1 − z)).
    fn ahead_transform(&self, z: Complex64) -> Complex64 {
        let sum: Complex64 = self.sizes.iter().map(|(x, p)| p * powers_between(Complex64::ONE, z, *x)).sum();
        sum / self.mean()
    }

    fn given(given: &Given) -> Result<Self> {
        let rows = given.rows("batch")?.into_iter().map(|row| match row[..] {
            [size, probability] => Ok((size, probability)),
            _ => Err(ModelError::parameter(
                "batch",
                format!("a row has {} numbers", row.len()),
                "write size,probability;size,probability",
            )),
        });
        Batch::new(&rows.collect::<Result<Vec<_>>>()?)
    }
}

/// One server, Poisson batches, general services, first come first served; no order within a batch but a fixed one.
#[derive(Clone, Debug, PartialEq)]
pub struct MxG1 {
    batch: Batch,
    service: Distribution,
    load: Load,
}

impl MxG1 {
    /// `lambda` batches per second.
    ///
    /// # Errors
    /// When a parameter is not usable, or work comes as fast as it is done.
    pub fn new(lambda: f64, service: &Distribution, batch: Batch) -> Result<Self> {
        check::positive("lambda", lambda)?;
        let remedy = "give a lambda below 1/(mean batch × mean service time)";
        let load = Load::new(lambda * batch.mean(), service).map_err(|error| match error {
            ModelError::Unstable { name, load, .. } => {
                ModelError::Unstable { name, load, remedy: remedy.into() }
            }
            other => other,
        })?;
        Ok(Self { batch, service: service.clone(), load })
    }

    /// The means: W = (λE\[X\]E\[S²\]/2 + E\[S\]·E\[X(X − 1)\]/(2E\[X\]))/(1 − ρ).
    pub fn means(&self) -> Means {
        let load = &self.load;
        let wait = load.pollaczek_khinchine() + load.service * self.batch.ahead() / load.spare();
        // Only the first of a batch can find the server idle: 1 − (1 − ρ)/E[X].
        let waits = (self.batch.beyond_first + load.utilization()) / self.batch.mean();
        load.means(wait, load.spare(), waits)
    }

    /// Customers that come together, on average.
    pub fn mean_batch(&self) -> f64 {
        self.batch.mean()
    }
}

/// A batch waits as one customer of M/G/1 whose service is that of the whole batch, and a customer for those of the
/// batch who are ahead.
impl Waits for MxG1 {
    fn service(&self) -> &Distribution {
        &self.service
    }

    fn mean_wait(&self) -> f64 {
        self.means().wait
    }

    /// Who is first of a batch that finds nobody; where services are constant, all of such a batch, up to a thousand.
    fn lumps(&self) -> Vec<(f64, f64)> {
        let (value, most) = match self.service {
            Distribution::Constant { value } => (value, 1000),
            _ => (0.0, 1),
        };
        let beyond = |j: u64| self.batch.sizes.iter().filter(|(x, _)| *x > j).map(|(_, p)| p).sum::<f64>();
        (0..most)
            .map(|j| (self.load.spare() * beyond(j) / self.batch.mean(), j as f64 * value))
            .take_while(|(share, _)| *share > 0.0)
            .collect()
    }

    fn others(&self, s: Complex64) -> Result<Complex64> {
        let parts = Parts::at(s, &self.load, &self.service)?;
        let ahead = self.batch.ahead_transform(parts.service);
        let busy = self.load.utilization() * parts.left_of_service * ahead;
        // All less those who find nobody: spare·ahead/(1 − busy) − spare·ahead, and those whose waits are no lumps.
        let found_nobody = match (&self.service, self.lumps().len()) {
            (Distribution::Constant { .. }, lumps) => {
                let known: Complex64 =
                    self.lumps().iter().map(|(share, wait)| (-s * wait).exp() * share).sum();
                if lumps < 1000 { Complex64::ZERO } else { self.load.spare() * ahead - known }
            }
            (_, _) => self.load.spare() * (ahead - 1.0 / self.batch.mean()),
        };
        Ok(found_nobody + self.load.spare() * ahead * busy / (1.0 - busy))
    }
}

const BATCH: Parameter = Parameter {
    name: "batch",
    kind: Kind::Numbers,
    means: "sizes of a batch with their probabilities, `size,probability;…`",
    default: None,
    example: "1,0.5;4,0.5",
};

const BATCHES: Parameter =
    Parameter { name: "lambda", kind: Kind::Rate, means: "batches", default: None, example: "2000/s" };

/// In the catalogue.
pub(crate) const MARKOVIAN: Model = Model {
    name: "mxm1",
    title: "M^X/M/1",
    family: Family::Interrupts,
    summary: "completions come in batches; memoryless services, one by one",
    formula: "ρ = λE[X]/μ; W = (ρ/μ + E[X(X − 1)]/(2E[X]μ))/(1 − ρ); π₀ = 1 − ρ",
    assumptions: "Poisson batches of independent sizes; exponential services; first come, first served, within a batch in a fixed order; no limit on the queue",
    source: "Gross and Harris (1998), Fundamentals of Queueing Theory, 3rd edition, section 3.1; Burke (1975), Delays in single-server queues with batch input",
    holds: "exact for λE[X] < μ",
    parameters: &[
        BATCHES,
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of a busy server",
            default: None,
            example: "10000/s",
        },
        BATCH,
    ],
    solve: |given| {
        let mu = given.rate("mu")?;
        solve(given, &Distribution::exponential(1.0 / mu)?)
    },
};

/// In the catalogue.
pub(crate) const GENERAL: Model = Model {
    name: "mxg1",
    title: "M^X/G/1",
    family: Family::Interrupts,
    summary: "completions come in batches; general services, one by one",
    formula: "ρ = λE[X]E[S]; W = (λE[X]E[S²]/2 + E[S]·E[X(X − 1)]/(2E[X]))/(1 − ρ); π₀ = 1 − ρ",
    assumptions: "Poisson batches of independent sizes; independent services; first come, first served, within a batch in a fixed order; no limit on the queue",
    source: "Burke (1975), Delays in single-server queues with batch input, Operations Research 23; Tijms (2003), A First Course in Stochastic Models, chapter 9",
    holds: "exact for λE[X]E[S] < 1",
    parameters: &[
        BATCHES,
        Parameter {
            name: "service",
            kind: Kind::Distribution,
            means: "time of one service",
            default: None,
            example: "constant(100us)",
        },
        BATCH,
    ],
    solve: |given| solve(given, &given.distribution("service")?),
};

fn solve(given: &Given, service: &Distribution) -> Result<Solution> {
    let queue = MxG1::new(given.rate("lambda")?, service, Batch::given(given)?)?;
    Ok(queue.means().solution().with("batch.mean", queue.mean_batch(), Unit::Count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    /// The chain on 0 … `most` customers, its stationary law by balance across each cut: what flows up over it in
    /// batches flows down one by one.
    fn by_cuts(lambda: f64, mu: f64, batch: &[(usize, f64)], most: usize) -> (f64, f64) {
        let mut law = vec![1.0];
        for n in 0..most {
            // Over the cut between n and n + 1: every state k ≤ n jumps it with batches larger than n − k.
            let up: f64 = (0..=n)
                .map(|k| {
                    law[k] * lambda * batch.iter().filter(|(x, _)| k + x > n).map(|(_, p)| p).sum::<f64>()
                })
                .sum();
            law.push(up / mu);
        }
        let sum: f64 = law.iter().sum();
        let number: f64 = law.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
        (law[0] / sum, number / sum)
    }

    #[test]
    fn agrees_with_the_chain_solved_by_its_cuts() {
        let batch = [(1, 0.5), (2, 0.2), (7, 0.3)];
        let sizes: Vec<_> = batch.iter().map(|(x, p)| (*x as f64, *p)).collect();
        let queue =
            MxG1::new(0.2, &Distribution::exponential(1.0).unwrap(), Batch::new(&sizes).unwrap()).unwrap();
        let (idle, number) = by_cuts(0.2, 1.0, &batch, 600);
        close(queue.means().idle, idle, 1e-12);
        close(queue.means().number, number, 1e-12);
        close(queue.mean_batch(), 3.0, 1e-15);
    }

    #[test]
    fn agrees_with_trials_at_general_services() {
        let service: Distribution = "uniform(0.2, 1.0)".parse().unwrap();
        let queue = MxG1::new(0.3, &service, Batch::new(&[(1.0, 0.4), (4.0, 0.6)]).unwrap()).unwrap();
        let trial = trials::batches(0.3, |u| if u < 0.4 { 1 } else { 4 }, |u| 0.2 + 0.8 * u);
        trial.wait.holds(queue.means().wait);
        trial.waited.holds(queue.means().wait_probability);
        trial.distributed(|time| queue.wait_survival(time).unwrap());
    }

    #[test]
    fn batches_of_constant_services_wait_in_lumps() {
        let queue = MxG1::new(
            0.3,
            &Distribution::constant(0.7).unwrap(),
            Batch::new(&[(1.0, 0.4), (4.0, 0.6)]).unwrap(),
        );
        let queue = queue.unwrap();
        let trial = trials::batches(0.3, |u| if u < 0.4 { 1 } else { 4 }, |_| 0.7);
        trial.distributed(|time| queue.wait_survival(time).unwrap());
    }

    #[test]
    fn one_at_a_time_it_is_mg1() {
        let service: Distribution = "erlang(3, 2us)".parse().unwrap();
        let single = MxG1::new(1e5, &service, Batch::new(&[(1.0, 1.0)]).unwrap()).unwrap();
        let load = Load::new(1e5, &service).unwrap();
        close(single.means().wait, load.pollaczek_khinchine(), 1e-15);
        close(single.means().wait_probability, 0.2, 1e-15);
    }

    #[test]
    fn batches_that_cannot_be_are_refused() {
        for bad in [&[(0.0, 1.0)][..], &[(1.5, 1.0)], &[(1.0, 0.5)], &[], &[(f64::NAN, 1.0)], &[(2.0, -1.0)]]
        {
            assert!(Batch::new(bad).is_err(), "{bad:?}");
        }
        let batch = Batch::new(&[(4.0, 1.0)]).unwrap();
        let told = MxG1::new(1.0, &Distribution::exponential(0.25).unwrap(), batch).unwrap_err().to_string();
        assert!(told.starts_with("lambda: no steady state"), "{told}");
    }
}
