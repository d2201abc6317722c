//! What must hold for any input: order, invariance, and never NaN, never a panic.

use proptest::collection::vec;
use proptest::prelude::*;
use tollway_stats::bootstrap::{self, Resampling};
use tollway_stats::{
    Comparison, Criteria, Direction, Interval, StatsError, batch_means, benjamini_hochberg, figure,
    judge_all, mann_whitney, paired_ratio, signed_rank, spearman, summary, t_interval, unpaired_ratio,
};

fn any_finite() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![
        8 => -1e6..1e6_f64,
        1 => any::<f64>().prop_map(|v| if v.is_finite() { v } else { 1.0 }),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324]),
    ]
}

fn any_positive() -> impl Strategy<Value = f64> + Clone {
    any_finite().prop_map(|v| v.abs().max(5e-324))
}

fn cost() -> impl Strategy<Value = f64> + Clone {
    1.0..1e5_f64
}

fn blocks(value: impl Strategy<Value = f64>) -> impl Strategy<Value = Vec<Vec<f64>>> {
    vec(vec(value, 1..5), 2..12)
}

fn pairs(value: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Vec<Vec<(f64, f64)>>> {
    vec(vec((value.clone(), value), 1..5), 2..25)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
}

fn sound(i: &Interval) -> bool {
    i.estimate.is_finite() && i.lo.is_finite() && i.hi.is_finite() && i.lo <= i.hi && i.half_width() >= 0.0
}

/// A result is sound, or an overflow that was reported.
fn sound_or_overflow(result: Result<Interval, StatsError>) -> bool {
    match result {
        Ok(i) => sound(&i),
        Err(e) => e == StatsError::Overflow,
    }
}

fn few() -> Resampling {
    Resampling { resamples: 50, ..Resampling::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn summaries_of_anything(x in vec(any_finite(), 1..30), share in 0.0..0.5_f64) {
        let least = x.iter().copied().fold(f64::INFINITY, f64::min);
        let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let median = summary::median(&x).unwrap();
        prop_assert!(least <= median && median <= most);
        for result in [summary::mean(&x), summary::variance(&x), summary::mad(&x), summary::scaled_mad(&x),
            summary::trimmed_mean(&x, share)] {
            match result {
                Ok(value) => prop_assert!(value.is_finite()),
                Err(e) => prop_assert!(e == StatsError::Overflow || x.len() == 1),
            }
        }
    }

    #[test]
    fn quantiles_rise(x in vec(any_finite(), 1..30), p in 0.0..=1.0_f64, q in 0.0..=1.0_f64) {
        let v = summary::quantiles(&x, &[p.min(q), p.max(q)]).unwrap();
        prop_assert!(v[0] <= v[1]);
    }

    #[test]
    fn order_does_not_matter(
        (x, shuffled) in vec(cost(), 2..15).prop_flat_map(|x| (Just(x.clone()), Just(x).prop_shuffle())),
    ) {
        prop_assert_eq!(summary::quantile(&x, 0.3), summary::quantile(&shuffled, 0.3));
        prop_assert!(close(summary::variance(&x).unwrap() + 1.0, summary::variance(&shuffled).unwrap() + 1.0));
        let (one, other): (Vec<_>, Vec<_>) = x.iter().zip(&shuffled).map(|(a, b)| (vec![*a], vec![*b])).unzip();
        prop_assert_eq!(figure(&one, 0.95), figure(&other, 0.95));
    }

    #[test]
    fn figures_of_anything(b in blocks(any_finite()), confidence in 0.01..0.999_f64) {
        prop_assert!(sound_or_overflow(figure(&b, confidence)));
        prop_assert!(sound_or_overflow(bootstrap::hierarchical(&b, |g| summary::median(&g.concat()).unwrap(), few())));
    }

    #[test]
    fn figures_hold_their_estimate_and_widen_with_confidence(b in blocks(cost())) {
        let narrow = figure(&b, 0.8).unwrap();
        let wide = figure(&b, 0.95).unwrap();
        prop_assert!(narrow.contains(narrow.estimate));
        prop_assert!(wide.lo <= narrow.lo && narrow.hi <= wide.hi);
    }

    #[test]
    fn figures_change_with_the_unit(b in blocks(cost()), factor in 1e-3..1e3_f64) {
        let i = figure(&b, 0.95).unwrap().scaled(factor).unwrap();
        let scaled: Vec<Vec<f64>> = b.iter().map(|t| t.iter().map(|v| v * factor).collect()).collect();
        let j = figure(&scaled, 0.95).unwrap();
        let size = i.hi.abs().max(i.lo.abs());
        for (a, b) in [(i.estimate, j.estimate), (i.lo, j.lo), (i.hi, j.hi)] {
            prop_assert!((a - b).abs() <= 1e-9 * size);
        }
    }

    #[test]
    fn bootstraps_of_anything(x in vec(any_finite(), 2..12), seed in any::<u64>()) {
        let how = Resampling { seed, ..few() };
        for interval in [bootstrap::percentile, bootstrap::bca] {
            prop_assert!(sound_or_overflow(interval(&x, |x: &[f64]| summary::median(x).unwrap(), how)));
        }
        prop_assert!(sound_or_overflow(t_interval(&x, 0.95)));
    }

    #[test]
    fn ratios_of_anything_positive(p in pairs(any_positive()), margin in 1e-6..10.0_f64) {
        let ratio = paired_ratio(&p).unwrap();
        prop_assert!(sound(&ratio.interval(0.95).unwrap()));
        prop_assert!((0.0..=1.0).contains(&ratio.p_different()));
        prop_assert!((0.0..=1.0).contains(&ratio.equivalence(margin).unwrap().p));
        let (a, b): (Vec<Vec<f64>>, Vec<Vec<f64>>) = p.iter().map(|block| block.iter().copied().unzip()).unzip();
        let ratio = unpaired_ratio(&a, &b).unwrap();
        prop_assert!(sound(&ratio.interval(0.95).unwrap()));
        prop_assert!((0.0..=1.0).contains(&ratio.p_different()));
    }

    #[test]
    fn interval_and_p_value_agree(p in pairs(cost())) {
        let ratio = paired_ratio(&p).unwrap();
        let difference = ratio.p_different();
        prop_assume!((difference - 0.05).abs() > 1e-6 && ratio.log.standard_error > 0.0);
        prop_assert_eq!(difference < 0.05, !ratio.interval(0.95).unwrap().contains(1.0));
    }

    #[test]
    fn paired_ratios_do_not_know_the_unit(p in pairs(cost()), factor in 1e-3..1e3_f64) {
        let scaled: Vec<Vec<(f64, f64)>> =
            p.iter().map(|t| t.iter().map(|(a, b)| (a * factor, b * factor)).collect()).collect();
        let (one, other) = (paired_ratio(&p).unwrap(), paired_ratio(&scaled).unwrap());
        prop_assert!((one.log.estimate - other.log.estimate).abs() < 1e-9);
        prop_assert!((one.log.standard_error - other.log.standard_error).abs() < 1e-9);
    }

    #[test]
    fn verdicts_on_anything(p in vec(pairs(any_positive()), 1..6)) {
        let all: Vec<Comparison> = p
            .iter()
            .map(|p| Comparison { ratio: paired_ratio(p).unwrap(), direction: Direction::LowerIsBetter })
            .collect();
        for j in judge_all(&all, Criteria::default()).unwrap() {
            prop_assert!(j.q_different >= j.p_different && j.q_same >= j.p_same);
        }
    }

    #[test]
    fn rank_tests_of_anything(a in vec(any_finite(), 1..12), b in vec(any_finite(), 1..12)) {
        let (there, back) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
        prop_assert!((0.0..=1.0).contains(&there.p) && close(there.p, back.p));
        prop_assert!((-1.0..=1.0).contains(&there.cliffs_delta));
        prop_assert!((there.cliffs_delta + back.cliffs_delta).abs() < 1e-12);
        prop_assert!((0.0..=1.0).contains(&signed_rank(&a).unwrap().p));
    }

    #[test]
    fn rank_correlation_knows_only_order(xy in vec((-3.0..3.0_f64, -3.0..3.0_f64), 3..7)) {
        let (x, y): (Vec<f64>, Vec<f64>) = xy.iter().copied().unzip();
        let warped: Vec<f64> = x.iter().map(|v| v.exp()).collect();
        let (s, t) = (spearman(&x, &y), spearman(&warped, &y));
        if let Ok(s) = s {
            prop_assert!((-1.0..=1.0).contains(&s.rho) && s.p > 0.0 && s.p <= 1.0);
            prop_assert_eq!(s, t.unwrap());
        }
    }

    #[test]
    fn adjusted_p_values_keep_their_order(p in vec(0.0..=1.0_f64, 1..30)) {
        let q = benjamini_hochberg(&p).unwrap();
        for i in 0..p.len() {
            prop_assert!(q[i] >= p[i] && q[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || q[i] <= q[j]);
            }
        }
    }

    #[test]
    fn batches_of_anything(x in vec(any_finite(), 10..60), batches in 5..10_usize) {
        match batch_means(&x, batches, 0.95) {
            Ok(b) => prop_assert!(sound(&b.interval) && (-1.0..=1.0).contains(&b.lag1)),
            Err(e) => prop_assert!(e == StatsError::Overflow || x.len() < 2 * batches),
        }
    }

    #[test]
    fn a_single_bad_value_is_refused(mut x in vec(cost(), 10..20), at in any::<prop::sample::Index>(),
        bad in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY])) {
        let at = at.index(x.len());
        x[at] = bad;
        let refused = StatsError::NotFinite { index: at };
        prop_assert_eq!(summary::mean(&x), Err(refused.clone()));
        prop_assert_eq!(summary::quantile(&x, 0.5), Err(refused.clone()));
        prop_assert_eq!(summary::mad(&x), Err(refused.clone()));
        prop_assert_eq!(figure(&[&x], 0.95), Err(refused.clone()));
        prop_assert_eq!(figure(&[&x, &vec![1.0]], 0.95), Err(refused.clone()));
        prop_assert_eq!(t_interval(&x, 0.95), Err(refused.clone()));
        prop_assert_eq!(batch_means(&x, 5, 0.95), Err(refused.clone()));
        prop_assert_eq!(bootstrap::bca(&x, |_| 0.0, few()), Err(refused.clone()));
        prop_assert_eq!(bootstrap::hierarchical(&[x.clone()], |_| 0.0, few()), Err(refused.clone()));
        prop_assert_eq!(mann_whitney(&x, &[1.0]), Err(refused.clone()));
        prop_assert_eq!(signed_rank(&x), Err(refused.clone()));
        prop_assert_eq!(spearman(&x, &x), Err(refused.clone()));
        let pairs: Vec<(f64, f64)> = x.iter().map(|&v| (v, 1.0)).collect();
        prop_assert_eq!(paired_ratio(&[pairs.clone(), pairs]), Err(refused.clone()));
        prop_assert_eq!(unpaired_ratio(&[&x, &x], &[[1.0], [2.0]]), Err(refused));
    }
}
