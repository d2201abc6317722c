//! How often intervals hold the truth. Short: 200 series, of which 95 % are 190, and 99.9 % of the binomial lie within
//! 178 … 198. `TOLLWAY_LONG=1`: 1000 series of 1000 values, of which 930 to 970 must be held.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::estimate::{moments, ratio};
use super::member::Member;
use crate::Distribution;

/// Series, values in each, and the shares that must be held.
fn size() -> (u64, usize, std::ops::RangeInclusive<f64>) {
    if std::env::var_os("TOLLWAY_LONG").is_some() {
        (1000, 1000, 0.93..=0.97)
    } else {
        (200, 400, 0.89..=0.99)
    }
}

fn series(of: &str, seed: u64, n: usize) -> Vec<f64> {
    let distribution: Distribution = of.parse().unwrap();
    let member = Member::of(&distribution);
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| member.draw(&mut generator)).collect()
}

#[track_caller]
fn covers(of: &str) {
    let (replications, n, wanted) = size();
    let truth: Distribution = of.parse().unwrap();
    let (mut means, mut variations) = (0, 0);
    for seed in 1..=replications {
        let found = moments(&series(of, seed, n), false, seed).unwrap();
        means += u32::from(found.mean_interval.unwrap().contains(truth.mean()));
        variations += u32::from(found.scv_interval.unwrap().contains(truth.scv()));
    }
    let share = |count: u32| f64::from(count) / replications as f64;
    eprintln!("{of}: mean held in {}, cv² in {}", share(means), share(variations));
    assert!(wanted.contains(&share(means)), "{of}: mean held in {}", share(means));
    assert!(wanted.contains(&share(variations)), "{of}: cv² held in {}", share(variations));
}

#[test]
fn exponential() {
    covers("exponential(3us)");
}

#[test]
fn gamma() {
    covers("gamma(9, 3us)");
}

#[test]
fn uniform() {
    covers("uniform(1us, 5us)");
}

#[test]
fn two_branches() {
    covers("hyperexponential(0.5, 1us, 0.5, 5us)");
}

#[test]
fn utilization() {
    let (replications, n, wanted) = size();
    let held = (1..=replications).filter(|seed| {
        let services = series("gamma(9, 8us)", *seed, n);
        let gaps = series("exponential(10us)", seed + 5000, n);
        ratio(&services, &gaps, false, *seed).unwrap().contains(0.8)
    });
    let share = held.count() as f64 / replications as f64;
    assert!(wanted.contains(&share), "held in {share}");
}
