//! Figures that models give in their typed interface only, under the names that they would have in the catalogue.

use std::collections::BTreeMap;

use num_complex::Complex64;
use tollway_model::interrupt::{Batch, HybridPolling, MxG1, NPolicy, TPolicy, Vacations, Waits};
use tollway_model::{Distribution, Result, quantity};

/// A quantile of the wait or the response; `None`: the model's typed interface has none either.
pub fn figure(model: &str, given: &BTreeMap<String, String>, name: &str) -> Option<Result<f64>> {
    let (subject, level) = name.split_once('.')?;
    let share = match level {
        "p50" => 0.5,
        "p90" => 0.9,
        "p99" => 0.99,
        "p999" => 0.999,
        _ => return None,
    };
    let waits = waits(model, given)?;
    match subject {
        "wait" => Some(waits.wait_quantile(share)),
        "response" => Some(waits.response_quantile(share)),
        _ => None,
    }
}

/// Figures of a distribution by itself.
pub fn of_distribution(given: &BTreeMap<String, String>, name: &str) -> Option<Result<f64>> {
    let law: Distribution = given["law"].parse().unwrap();
    let number = |text: &str| text.parse::<f64>().unwrap();
    let (real, imaginary) = given["s"].split_once(',').unwrap();
    let s = Complex64::new(number(real), number(imaginary));
    Some(match name {
        "mean" => Ok(law.mean()),
        "scv" => Ok(law.scv()),
        "moment.2" => Ok(law.moment(2)),
        "moment.3" => Ok(law.moment(3)),
        "survival" => Ok(law.survival(number(&given["at"]))),
        "cdf" => Ok(law.cdf(number(&given["at"]))),
        "quantile" => law.quantile(number(&given["share"])),
        "residual.mean" => Ok(law.residual_mean()),
        "transform.real" => law.transform(s).map(|phi| phi.re),
        "transform.imaginary" => law.transform(s).map(|phi| phi.im),
        "residual.real" => law.residual_transform(s).map(|phi| phi.re),
        "residual.imaginary" => law.residual_transform(s).map(|phi| phi.im),
        _ => return None,
    })
}

fn waits(model: &str, given: &BTreeMap<String, String>) -> Option<Box<dyn Waits>> {
    let lambda = quantity::rate("lambda", &given["lambda"]).unwrap();
    let time = |name: &str| quantity::time(name, &given[name]).unwrap();
    let law = |name: &str| given[name].parse::<Distribution>().unwrap();
    Some(match model {
        "n-policy" => {
            Box::new(NPolicy::new(lambda, &law("service"), given["count"].parse().unwrap()).unwrap())
        }
        "t-policy" => Box::new(TPolicy::new(lambda, &law("service"), time("timer")).unwrap()),
        "vacations" => Box::new(Vacations::new(lambda, &law("service"), &law("vacation")).unwrap()),
        "polling" => {
            let period = Distribution::constant(time("period")).unwrap();
            Box::new(Vacations::new(lambda, &law("service"), &period).unwrap())
        }
        "hybrid-polling" => {
            Box::new(HybridPolling::new(lambda, &law("service"), time("spin"), &law("setup")).unwrap())
        }
        "mxm1" => {
            let mean = 1.0 / quantity::rate("mu", &given["mu"]).unwrap();
            let rows = given["batch"].split(';').map(|row| {
                let (size, probability) = row.split_once(',').unwrap();
                (size.trim().parse().unwrap(), probability.trim().parse().unwrap())
            });
            let batch = Batch::new(&rows.collect::<Vec<(f64, f64)>>()).unwrap();
            Box::new(MxG1::new(lambda, &Distribution::exponential(mean).unwrap(), batch).unwrap())
        }
        _ => return None,
    })
}
