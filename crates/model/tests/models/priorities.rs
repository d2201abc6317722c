//! Classes by rank, held against the conservation law and against queues without classes.

use proptest::prelude::*;
use tollway_model::Distribution;
use tollway_model::general::Mg1;
use tollway_model::markovian::Mmc;
use tollway_model::priority::{Mg1NonPreemptive, Mg1Preemptive, MmcNonPreemptive};

fn read(text: &str) -> Distribution {
    text.parse().unwrap()
}

fn close(found: f64, known: f64) {
    assert!((found / known - 1.0).abs() < 1e-9, "{found} instead of {known}");
}

#[test]
fn two_classes_by_hand() {
    // Exponential services of mean 1, λ = 0.2 and 0.3: W₀ = 0.5; the findings' 2.5 and 10 are at other rates.
    let services = [read("exponential(1)"), read("exponential(1)")];
    let plain = Mg1NonPreemptive::new(&[0.2, 0.3], &services).unwrap();
    close(plain.class(1).unwrap().wait, 0.5 / 0.8);
    close(plain.class(2).unwrap().wait, 0.5 / (0.8 * 0.5));
    let interrupting = Mg1Preemptive::new(&[0.2, 0.3], &services).unwrap();
    close(interrupting.class(1).unwrap().response, 1.25);
    close(interrupting.class(2).unwrap().response, 1.0 / 0.8 + 0.5 / (0.8 * 0.5));
    let servers = MmcNonPreemptive::new(&[0.2, 0.3], 1.0, 1).unwrap();
    close(servers.class(2).unwrap().wait, plain.class(2).unwrap().wait);
}

#[test]
fn an_overloaded_class_is_named_and_those_before_it_are_solved() {
    let services = [read("constant(1)"), read("exponential(2)"), read("constant(5)")];
    let lambdas = [0.3, 0.5, 0.1];
    let plain = Mg1NonPreemptive::new(&lambdas, &services).unwrap();
    // The second class has 0.7 of the time; what is left of its services is 2 seconds on average.
    close(plain.class(1).unwrap().wait, (0.3 * 0.5 + 0.7 * 2.0) / 0.7);
    let interrupting = Mg1Preemptive::new(&lambdas, &services).unwrap();
    close(interrupting.class(1).unwrap().wait, Mg1::new(0.3, services[0].clone()).unwrap().mean_wait());
    let servers = MmcNonPreemptive::new(&[1.0, 3.0], 1.0, 2).unwrap();
    close(servers.class(1).unwrap().wait, 0.5 / 0.5);
    for told in [
        plain.class(2).unwrap_err().to_string(),
        interrupting.class(2).unwrap_err().to_string(),
        servers.class(2).unwrap_err().to_string(),
    ] {
        assert!(told.starts_with("lambdas: class 2: no steady state"), "{told}");
    }
    assert!(plain.class(3).is_err() && plain.class(0).is_err() && plain.class(4).is_err());
}

#[test]
fn what_does_not_fit_is_named() {
    let one = [read("constant(1)")];
    assert!(Mg1Preemptive::new(&[0.1, 0.1], &one).unwrap_err().to_string().starts_with("services: "));
    assert!(Mg1Preemptive::new(&[f64::NAN], &one).unwrap_err().to_string().starts_with("lambdas: class 1: "));
    assert!(Mg1Preemptive::new(&[0.0], &one).unwrap_err().to_string().starts_with("lambdas: nobody"));
    assert!(Mg1NonPreemptive::new(&[], &[]).is_err());
}

/// Classes whose loads add up to less than one.
fn classes() -> impl Strategy<Value = (Vec<f64>, Vec<Distribution>)> {
    let service = (-6.0..1.0f64, 0.05..20.0f64, 0..3u8).prop_map(|(mean, scv, kind)| {
        let mean = 10f64.powf(mean);
        match kind {
            0 => Distribution::Constant { value: mean },
            1 => Distribution::Lognormal { mean, scv },
            _ => Distribution::Gamma { shape: 1.0 / scv, mean },
        }
    });
    (prop::collection::vec((service, 0.01..1.0f64), 1..7), 0.01..0.999f64).prop_map(|(classes, load)| {
        let parts: f64 = classes.iter().map(|(_, part)| part).sum();
        let lambdas = classes.iter().map(|(s, part)| load * part / parts / s.mean()).collect();
        (lambdas, classes.into_iter().map(|(service, _)| service).collect())
    })
}

proptest! {
    #[test]
    fn work_is_conserved((lambdas, services) in classes()) {
        // Kleinrock: Σ ρᵢWᵢ = ρW₀/(1 − ρ) in whatever order, if services are not interrupted.
        let loads: Vec<f64> = lambdas.iter().zip(&services).map(|(l, s)| l * s.mean()).collect();
        let load: f64 = loads.iter().sum();
        let residual: f64 = loads.iter().zip(&services).map(|(l, s)| l * s.residual_mean()).sum();
        let queue = Mg1NonPreemptive::new(&lambdas, &services).unwrap();
        let waits: Vec<f64> = (1..=loads.len()).map(|k| queue.class(k).unwrap().wait).collect();
        let work: f64 = loads.iter().zip(&waits).map(|(l, w)| l * w).sum();
        prop_assert!((work / (load * residual / (1.0 - load)) - 1.0).abs() < 1e-9);
        prop_assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]));
        // The last class, interrupted by all others: its work and theirs is that of one queue.
        let interrupting = Mg1Preemptive::new(&lambdas, &services).unwrap();
        let first = Mg1::new(lambdas[0], services[0].clone()).unwrap();
        prop_assert!((interrupting.class(1).unwrap().wait / first.mean_wait() - 1.0).abs() < 1e-9);
        for k in 1..=loads.len() {
            // The first classes neither see those after them nor mind how many there are.
            let alone = Mg1Preemptive::new(&lambdas[..k], &services[..k]).unwrap();
            prop_assert_eq!(alone.class(k).unwrap(), interrupting.class(k).unwrap());
        }
    }

    #[test]
    fn classes_of_like_services_wait_as_one_queue(
        shares in prop::collection::vec(0.01..1.0f64, 1..8), load in 0.01..0.9999f64, servers in 1u64..200
    ) {
        let total: f64 = shares.iter().sum();
        let lambdas: Vec<f64> = shares.iter().map(|s| load * s / total * servers as f64).collect();
        let queue = MmcNonPreemptive::new(&lambdas, 1.0, servers).unwrap();
        let all: f64 = lambdas.iter().sum();
        let one = Mmc::new(all, 1.0, servers).unwrap();
        let wait: f64 = (1..=shares.len()).map(|k| lambdas[k - 1] / all * queue.class(k).unwrap().wait).sum();
        prop_assert!((wait / one.mean_wait() - 1.0).abs() < 1e-9, "{wait} {}", one.mean_wait());
    }

    #[test]
    fn one_class_is_mg1((lambdas, services) in classes()) {
        let one = Mg1::new(lambdas[0], services[0].clone()).unwrap();
        let plain = Mg1NonPreemptive::new(&lambdas[..1], &services[..1]).unwrap();
        let interrupting = Mg1Preemptive::new(&lambdas[..1], &services[..1]).unwrap();
        prop_assert!((plain.class(1).unwrap().wait / one.mean_wait() - 1.0).abs() < 1e-12);
        prop_assert!((interrupting.class(1).unwrap().wait / one.mean_wait() - 1.0).abs() < 1e-12);
    }
}
