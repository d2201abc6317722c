//! Cut-offs and probabilities against published ones, and against sums that know no logarithm.

use super::super::binomial::{rare, upper_tail};
use super::super::{Continuous, Limits, Monitored, SelfTest, Settings, Test};
use super::super::{histogram, most_common_value};
use crate::engine::source::{Seeded, Source};

/// The distribution of successes, trial by trial: only products and sums of what is positive.
fn distribution(trials: usize, p: f64) -> Vec<f64> {
    let mut chances = vec![1.0];
    for _ in 0..trials {
        let mut next = vec![0.0; chances.len() + 1];
        for (successes, chance) in chances.iter().enumerate() {
            next[successes] += chance * (1.0 - p);
            next[successes + 1] += chance * p;
        }
        chances = next;
    }
    chances
}

#[test]
fn tails_are_the_sums() {
    for (trials, p) in [(512, 1.0 / 256.0), (511, 0.5), (1024, 0.87), (64, 0.001)] {
        let chances = distribution(trials, p);
        let mut tail = 0.0;
        for at_least in (0..=trials).rev() {
            tail += chances[at_least];
            let ours = upper_tail(trials as u32, at_least as u32, p);
            // Below that doubles have fewer digits.
            let differs = if tail > 1e-290 { (ours / tail - 1.0).abs() } else { 0.0 };
            assert!(differs < 1e-9, "{trials} {p} {at_least}: {ours} {tail}");
        }
    }
    assert_eq!([upper_tail(5, 0, 0.3), upper_tail(5, 6, 0.3), upper_tail(5, 5, 1.0)], [1.0, 0.0, 1.0]);
}

/// Table of example cut-offs in the second draft of SP 800-90B (2016), section 4.4.2, α = 2^-20.
#[test]
fn cut_offs_are_the_standards() {
    let of = |window, entropy: f64| rare(window, (-entropy).exp2(), 20.0);
    assert_eq!([0.2, 0.4, 0.6, 0.8, 1.0].map(|h| of(1024, h)), [941, 840, 748, 664, 589]);
    assert_eq!([0.5, 1.0, 2.0, 4.0, 8.0].map(|h| of(512, h)), [410, 311, 177, 62, 13]);
    // The example of section 4.4.1 of the standard: H = 2, α = 2^-20.
    assert_eq!(Limits::new(2.0, 20.0).unwrap().repetition, 11);
}

/// The tables of jitterentropy's test, as in Linux (`crypto/jitterentropy.c`): 2 + critbinom(511, 2^(-1/osr), 1 - α), 512 at
/// most, for α = 2^-30 and 2^-60. Theirs says of the first byte that it is there for certain.
#[test]
fn critical_values_are_those_of_jitterentropy() {
    let of = |bits| (1..=15).map(move |rate| (1 + rare(511, (-1.0 / f64::from(rate)).exp2(), bits)).min(512));
    let published = [325, 422, 459, 477, 488, 494, 499, 502, 505, 507, 508, 509, 510, 511, 512];
    assert!(of(30.0).eq(published), "{:?}", of(30.0).collect::<Vec<_>>());
    let published = [355, 447, 479, 494, 502, 507, 510, 512, 512, 512, 512, 512, 512, 512, 512];
    assert!(of(60.0).eq(published), "{:?}", of(60.0).collect::<Vec<_>>());
}

/// In rational numbers, without rounding (Python's `fractions`): 1 + critbinom(512, 1/256, 1 - 2^-bits) and
/// critbinom(32768, 1/2, 1 - 2^-(bits + 1)).
#[test]
fn cut_offs_are_those_of_rational_numbers() {
    let of = |bits| Limits::new(8.0, bits).unwrap();
    assert_eq!([20.0, 30.0, 40.0, 64.0, 80.0].map(|bits| of(bits).proportion), [13, 16, 19, 26, 30]);
    assert_eq!([20.0, 64.0, 80.0].map(|bits| *of(bits).ones.end()), [16828, 17212, 17315]);
    assert_eq!(of(64.0).ones, 32768 - 17212..=17212);
    let Limits { repetition, words, constant, recurrence, .. } = of(64.0);
    assert_eq!((repetition, words, constant, recurrence), (9, 2, 1, 16));
    assert_eq!(of(64.0).start_up(), 4608);
    // One bit a byte: all values could be ones, and no window of 4096 tells.
    let uneven = Limits::new(1.0, 64.0).unwrap();
    assert_eq!((uneven.repetition, uneven.words, uneven.constant, uneven.recurrence), (65, 9, 8, 76));
    assert_eq!(uneven.ones, 0..=32768);
    for (evenness, bits) in [(0.0, 64.0), (8.1, 64.0), (f64::NAN, 64.0), (8.0, 19.0), (8.0, f64::INFINITY)] {
        assert!(Limits::new(evenness, bits).is_err(), "{evenness} {bits}");
    }
}

#[test]
fn false_alarms_are_as_rare_as_told() {
    let limits = Limits::new(8.0, 64.0).unwrap();
    let exactly: f64 = distribution(511, 1.0 / 256.0)[25..].iter().sum::<f64>() / 512.0;
    assert!((limits.chance(Test::Proportion) / exactly - 1.0).abs() < 1e-9);
    let a_year = limits.alarms_a_year(250e6);
    assert!(a_year < 1e-3, "{a_year} a year");
    let often = Limits::new(8.0, 40.0).unwrap().alarms_a_year(250e6);
    assert!((7000.0..20_000.0).contains(&often), "{often} a year");
    let start_up = SelfTest::start_up(&limits);
    assert_eq!(start_up.false_failure(), limits.false_alarm(4608));
    assert!(start_up.false_failure() < 1e-15 && start_up.false_failure() > 1e-17);
    assert_eq!(SelfTest::of(&limits, 10).bytes(), 4608);
}

/// At 2^-20 there are enough to count: of good bytes as many as the bound says, or fewer.
#[test]
fn good_bytes_raise_as_many_alarms_as_told() {
    let limits = Limits::new(8.0, 20.0).unwrap();
    let mut tests = Continuous::new(&limits);
    let (mut source, mut bytes, blocks) = (Seeded::new(17), vec![0; 1 << 20], 100);
    let mut alarms = super::super::Alarms::default();
    for _ in 0..blocks {
        source.fill(&mut bytes).unwrap();
        alarms += tests.feed(&bytes);
    }
    let expected = |test| limits.chance(test) * f64::from(blocks) * (1 << 20) as f64;
    for test in Test::ALL {
        let (seen, expected) = (alarms.of(test) as f64, expected(test));
        assert!(seen <= expected + 4.0 * expected.sqrt() + 1.0, "{}: {seen} {expected}", test.name());
    }
    // Runs of four bytes: 6.25 are expected.
    let runs = alarms.of(Test::Repetition);
    assert!((1..=18).contains(&runs), "{runs}");
}

#[test]
fn an_even_source_never_fails_at_2_to_the_minus_64() {
    let mut source = Monitored::new(Seeded::new(3), Settings::default()).unwrap();
    let mut bytes = vec![0; 1 << 20];
    (0..64).for_each(|_| source.fill(&mut bytes).unwrap());
    assert_eq!((source.health().alarms.total(), source.health().tested), (0, (64 << 20) + 4608));
}

/// The examples of section 6.3.1, and what bounds every estimate.
#[test]
fn the_most_common_value_is_found() {
    let example = [0, 1, 1, 2, 0, 1, 2, 2, 0, 1, 0, 1, 1, 0, 2, 2, 1, 0, 2, 1];
    let estimate = most_common_value(&histogram(&example)).unwrap();
    assert_eq!((estimate.value, estimate.share), (1, 0.4));
    assert!((estimate.share_at_most - 0.6895).abs() < 5e-5, "{estimate:?}");
    assert!((estimate.bits - 0.5363).abs() < 5e-5, "{estimate:?}");
    assert_eq!(most_common_value(&histogram(&[7; 100])).unwrap().bits, 0.0);
    assert_eq!(most_common_value(&histogram(&[7])), None);
    let mut bytes = vec![0; 1_000_003];
    Seeded::new(1).fill(&mut bytes).unwrap();
    let counts = histogram(&bytes);
    let plainly: Vec<u64> = (0..=255).map(|b| bytes.iter().filter(|x| **x == b).count() as u64).collect();
    assert_eq!(counts.to_vec(), plainly);
    let bits = most_common_value(&counts).unwrap().bits;
    assert!((7.8..8.0).contains(&bits), "{bits}");
}
