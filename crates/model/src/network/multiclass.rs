//! Closed networks with several classes of customers: exact by recursion over population vectors, or approximate.

use super::closed::{self, MOST_STATIONS};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{ModelError, Result, Solution, Unit, check};

/// Figures that the exact recursion may keep, and steps that it may take.
const MOST_KEPT: f64 = 8e6;
const MOST_STEPS: f64 = 3e7;

/// Steps that the approximation may take in all, and how near two of its rounds must be.
const MOST_ROUND_STEPS: f64 = 2e8;
const NEAR: f64 = 1e-13;

/// One class of customers.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassLoad {
    /// Seconds of service that one passage needs at each station.
    pub demands: Vec<f64>,
    /// Customers of the class.
    pub customers: u64,
    /// Seconds that each of them thinks between two passages.
    pub think: f64,
}

/// Several classes that pass the same stations of one server each.
#[derive(Clone, Debug, PartialEq)]
pub struct MulticlassMva {
    classes: Vec<ClassLoad>,
}

/// The steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct MulticlassFlows {
    /// The classes, in the order given.
    pub classes: Vec<ClassFlow>,
    /// Share of time that each station is busy.
    pub utilizations: Vec<f64>,
    /// Mean number of customers at each station, of all classes.
    pub numbers: Vec<f64>,
}

/// What one class gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassFlow {
    /// Its customers that pass per second.
    pub throughput: f64,
    /// Their mean time from the end of thinking to its next beginning, seconds.
    pub response: f64,
}

impl MulticlassMva {
    /// The classes.
    ///
    /// # Errors
    /// When there is none, one has no demand above zero, their stations differ in number, or a value is out of range.
    pub fn new(classes: Vec<ClassLoad>) -> Result<Self> {
        check::count("customers: classes", classes.len() as u64, 1, 64)?;
        let stations = classes[0].demands.len();
        for (at, class) in classes.iter().enumerate() {
            let place = format!("demands: row {}", at + 1);
            closed::demands(&place, &class.demands)?;
            if class.demands.len() != stations {
                return Err(ModelError::parameter(
                    place,
                    format!("it has {} entries, and the first row has {stations}", class.demands.len()),
                    "give a demand at each station, 0 where the class does not pass",
                ));
            }
            check::count("customers", class.customers, 1, 1_000_000_000)?;
            check::non_negative("thinks", class.think)?;
        }
        check::count("demands", stations as u64, 1, MOST_STATIONS as u64)?;
        Ok(Self { classes })
    }

    fn stations(&self) -> usize {
        self.classes[0].demands.len()
    }

    /// The exact steady state: one step for each vector of customers up to that of all.
    ///
    /// # Errors
    /// When there are too many such vectors; the error names the approximation.
    pub fn exact(&self) -> Result<MulticlassFlows> {
        let vectors: f64 = self.classes.iter().map(|c| c.customers as f64 + 1.0).product();
        let stations = self.stations();
        let kept = vectors * stations as f64;
        let instead = "add method=schweitzer-bard for an approximation";
        closed::affordable("customers", kept, MOST_KEPT, instead)?;
        closed::affordable("customers", kept * self.classes.len() as f64, MOST_STEPS, instead)?;

        // A vector is the number that its entries are the digits of; `strides` has what each digit is worth.
        let mut strides = Vec::with_capacity(self.classes.len());
        let mut vectors = 1;
        for class in &self.classes {
            strides.push(vectors);
            vectors *= class.customers as usize + 1;
        }
        let mut numbers = vec![0.0; vectors * stations];
        let mut flows = vec![ClassFlow { throughput: 0.0, response: 0.0 }; self.classes.len()];
        let mut times = vec![0.0; stations];
        for vector in 1..vectors {
            let (before, now) = numbers.split_at_mut(vector * stations);
            for ((class, stride), flow) in self.classes.iter().zip(&strides).zip(&mut flows) {
                let customers = vector / stride % (class.customers as usize + 1);
                if customers == 0 {
                    continue;
                }
                let fewer = &before[(vector - stride) * stations..];
                flow.response = 0.0;
                for at in 0..stations {
                    times[at] = class.demands[at] * (1.0 + fewer[at]);
                    flow.response += times[at];
                }
                flow.throughput = customers as f64 / (class.think + flow.response);
                for at in 0..stations {
                    now[at] += flow.throughput * times[at];
                }
            }
        }
        let all = numbers.split_off((vectors - 1) * stations);
        Ok(self.flows(flows, all))
    }

    /// The approximation of Schweitzer and Bard: an arrival finds its own class as it is, less one customer's share.
    ///
    /// # Errors
    /// When the iteration does not settle.
    pub fn schweitzer_bard(&self) -> Result<MulticlassFlows> {
        let stations = self.stations();
        let spread = |class: &ClassLoad| vec![class.customers as f64 / stations as f64; stations];
        let mut by_class: Vec<Vec<f64>> = self.classes.iter().map(spread).collect();
        let mut totals = vec![0.0; stations];
        let mut flows = vec![ClassFlow { throughput: 0.0, response: 0.0 }; self.classes.len()];
        let rounds = (MOST_ROUND_STEPS / (stations * self.classes.len()) as f64).min(1e6) as u64;
        for _ in 0..rounds {
            for (at, total) in totals.iter_mut().enumerate() {
                *total = by_class.iter().map(|numbers| numbers[at]).sum();
            }
            let mut moved = 0.0f64;
            for ((class, numbers), flow) in self.classes.iter().zip(&mut by_class).zip(&mut flows) {
                let own = 1.0 / class.customers as f64;
                let time =
                    |at: usize, number: f64| class.demands[at] * (1.0 + (totals[at] - own * number).max(0.0));
                flow.response = numbers.iter().enumerate().map(|(at, number)| time(at, *number)).sum();
                flow.throughput = class.customers as f64 / (class.think + flow.response);
                for (at, number) in numbers.iter_mut().enumerate() {
                    let next = flow.throughput * time(at, *number);
                    moved = moved.max((next - *number).abs() / class.customers as f64);
                    *number = next;
                }
            }
            if moved < NEAR {
                return Ok(self.flows(flows, totals));
            }
        }
        Err(ModelError::Numerical {
            method: "Schweitzer–Bard",
            reason: format!("the iteration has not settled after {rounds} rounds"),
        })
    }

    fn flows(&self, classes: Vec<ClassFlow>, numbers: Vec<f64>) -> MulticlassFlows {
        let busy = |at: usize| {
            let each = self.classes.iter().zip(&classes).map(|(c, f)| f.throughput * c.demands[at]);
            check::share_of_time(each.sum())
        };
        MulticlassFlows { utilizations: (0..self.stations()).map(busy).collect(), classes, numbers }
    }
}

/// The ways to solve it.
const METHODS: &[&str] = &["exact", "schweitzer-bard"];

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mva-multiclass",
    title: "Closed network with classes",
    family: Family::Networks,
    summary: "several classes, each with a fixed number of customers, pass the same stations of one server each",
    formula: "Rᵣₖ(n) = Dᵣₖ(1 + Qₖ(n − eᵣ)); Xᵣ(n) = nᵣ/(Zᵣ + Σₖ Rᵣₖ(n)); Qₖ(n) = Σᵣ Xᵣ(n)·Rᵣₖ(n). Schweitzer–Bard: \
              Qₖ(n − eᵣ) ≈ Qₖ(n) − Qᵣₖ(n)/nᵣ",
    assumptions: "product form: at first-come-first-served stations exponential services of the same mean for all \
                  classes, else the processor is shared; routes do not depend on the state; no priorities",
    source: "Reiser and Lavenberg (1980), J. ACM 27(2), 313–322; Lazowska et al. (1984), Quantitative System \
             Performance, chapter 7",
    holds: "exact while stations × Π (customers + 1) is up to 8e6, and times the classes up to 3e7; \
            method=schweitzer-bard: an approximation for any number, whose errors are mostly below 10 %",
    parameters: &[
        Parameter {
            name: "demands",
            kind: Kind::Times,
            means: "service that one passage needs at each station; one row a class, `;` between rows",
            default: None,
            example: "50us,20us;30us,90us",
        },
        Parameter {
            name: "customers",
            kind: Kind::Numbers,
            means: "customers of each class",
            default: None,
            example: "12,4",
        },
        Parameter {
            name: "thinks",
            kind: Kind::Times,
            means: "mean time away of each class; a single time is that of all",
            default: Some("0"),
            example: "500us,1ms",
        },
        Parameter {
            name: "method",
            kind: Kind::Word(METHODS),
            means: "exact, or an approximation for many customers",
            default: Some("exact"),
            example: "exact",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let demands = given.time_rows("demands")?;
    let customers = given.counts("customers", 1, 1_000_000_000)?;
    let mut thinks = given.times("thinks")?;
    if let [one] = thinks[..] {
        thinks = vec![one; demands.len()];
    }
    for (name, len) in [("customers", customers.len()), ("thinks", thinks.len())] {
        if len != demands.len() {
            return Err(ModelError::parameter(
                name,
                format!("it has {len} entries, and demands has {} rows", demands.len()),
                "give one for each class",
            ));
        }
    }
    let classes = demands.into_iter().zip(customers).zip(thinks);
    let classes = classes.map(|((demands, customers), think)| ClassLoad { demands, customers, think });
    let network = MulticlassMva::new(classes.collect())?;
    let flows = if given.word("method", METHODS)? == "exact" {
        network.exact()?
    } else {
        network.schweitzer_bard()?
    };
    let mut solution = Solution::new();
    for (at, class) in flows.classes.iter().enumerate() {
        let name = |figure: &str| format!("class.{}.{figure}", at + 1);
        solution = solution.with(name("throughput"), class.throughput, Unit::PerSecond).with(
            name("response.mean"),
            class.response,
            Unit::Seconds,
        );
    }
    for (at, (utilization, number)) in flows.utilizations.iter().zip(&flows.numbers).enumerate() {
        let name = |figure: &str| format!("station.{}.{figure}", at + 1);
        solution = solution.with(name("utilization"), *utilization, Unit::Share).with(
            name("number.mean"),
            *number,
            Unit::Count,
        );
    }
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use super::super::Mva;
    use super::*;
    use proptest::prelude::*;

    fn class(demands: &[f64], customers: u64, think: f64) -> ClassLoad {
        ClassLoad { demands: demands.to_vec(), customers, think }
    }

    #[test]
    fn too_many_are_refused_with_the_way_out() {
        let network =
            MulticlassMva::new(vec![class(&[1.0, 2.0], 10_000, 0.0), class(&[2.0, 1.0], 10_000, 0.0)])
                .unwrap();
        let told = network.exact().unwrap_err().to_string();
        assert!(told.starts_with("customers: ") && told.contains("schweitzer-bard"), "{told}");
        let near = network.schweitzer_bard().unwrap();
        // By symmetry each station is busy all the time.
        assert!(near.utilizations.iter().all(|u| (u - 1.0).abs() < 1e-3), "{near:?}");
    }

    #[test]
    fn rows_of_different_length_are_named() {
        let told = MulticlassMva::new(vec![class(&[1.0, 2.0], 1, 0.0), class(&[1.0], 1, 0.0)]).unwrap_err();
        assert!(told.to_string().starts_with("demands: row 2"), "{told}");
    }

    proptest! {
        #[test]
        fn classes_that_are_alike_are_one(
            demands in prop::collection::vec(0.01..10.0f64, 1..4), split in prop::collection::vec(1u64..8, 1..4), think in 0.0..50.0f64,
        ) {
            let classes = split.iter().map(|n| class(&demands, *n, think)).collect();
            let apart = MulticlassMva::new(classes).unwrap().exact().unwrap();
            let one = Mva::new(demands, split.iter().sum(), think).unwrap().solve();
            let throughput: f64 = apart.classes.iter().map(|c| c.throughput).sum();
            prop_assert!((throughput / one.throughput - 1.0).abs() < 1e-12);
            for (a, b) in apart.numbers.iter().zip(&one.stations) {
                prop_assert!((a / b.number - 1.0).abs() < 1e-11);
            }
        }

        #[test]
        fn laws_hold_and_the_approximation_is_near(
            rows in prop::collection::vec((prop::collection::vec(0.05..5.0f64, 3), 1u64..10, 0.0..20.0f64), 1..4),
        ) {
            let classes: Vec<ClassLoad> = rows.iter().map(|(d, n, z)| class(d, *n, *z)).collect();
            let network = MulticlassMva::new(classes.clone()).unwrap();
            let near = network.schweitzer_bard().unwrap();
            let exact = network.exact().unwrap();
            for flows in [&exact, &near] {
                let inside: f64 = flows.numbers.iter().sum();
                let by_little: f64 = flows.classes.iter().map(|c| c.throughput * c.response).sum();
                prop_assert!((inside / by_little - 1.0).abs() < 1e-9);
                prop_assert!(flows.utilizations.iter().all(|u| *u <= 1.0 + 1e-12));
                for (flow, class) in flows.classes.iter().zip(&classes) {
                    let all = flow.throughput * (flow.response + class.think);
                    prop_assert!((all / class.customers as f64 - 1.0).abs() < 1e-12);
                }
            }
            for (a, b) in exact.classes.iter().zip(&near.classes) {
                prop_assert!((a.throughput / b.throughput - 1.0).abs() < 0.35, "{:?} {:?}", exact, near);
            }
        }
    }
}
