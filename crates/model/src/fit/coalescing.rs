//! Completions that are told together: how many at once, held how long, and by which rule: a count, a timer, a cap on
//! interrupts, a period.

use serde::Serialize;

use super::Deliveries;
use super::estimate::moments;

/// A rule must explain this share of interrupts, and five of them, to be seen at all.
const LEAST_SHARE: f64 = 0.02;

/// Times that differ by this share of themselves, or by what the clock tells apart, count as the same.
const SAME: f64 = 1e-3;

/// Seed of the intervals' resamples.
const SEED: u64 = 1;

/// How completions are told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coalescing {
    /// Interrupts, or whatever told of completions.
    pub interrupts: u64,
    /// Interrupts per second.
    pub rate: f64,
    /// Its 95 % interval.
    pub rate_interval: Option<(f64, f64)>,
    /// Completions told by one, on average.
    pub batch_mean: f64,
    /// Its 95 % interval.
    pub batch_interval: Option<(f64, f64)>,
    /// Interrupts by how many completions they told: entry i told i + 1.
    pub sizes: Vec<u64>,
    /// Completions after which an interrupt comes at once.
    pub count: Option<u32>,
    /// The longest that the first completion is held, seconds, with a 95 % interval.
    pub timer: Option<Timer>,
    /// Interrupts per second that are never exceeded.
    pub cap: Option<f64>,
    /// Interrupts come at multiples of this only, seconds.
    pub period: Option<f64>,
    /// Share of interrupts that count, timer, cap and period together explain.
    pub explained: f64,
}

/// A timer that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timer {
    /// Median of the times held, seconds.
    pub seconds: f64,
    /// Lower end of its 95 % interval.
    pub lo: f64,
    /// Upper end of its 95 % interval.
    pub hi: f64,
}

/// One interrupt.
struct Batch {
    told: f64,
    size: u32,
    /// How long its first completion was held.
    held: Option<f64>,
}

/// Looks for rules; `None` where there are too few interrupts to see any.
pub(super) fn detect(deliveries: &Deliveries) -> Option<Coalescing> {
    let batches = batches(deliveries);
    let interrupts = batches.len();
    let (first, last) = (batches.first()?.told, batches.last()?.told);
    if interrupts < 20 || last <= first {
        return None;
    }
    let most = batches.iter().map(|b| b.size).max()?;
    let mut sizes = vec![0_u64; most as usize];
    for batch in &batches {
        sizes[batch.size as usize - 1] += 1;
    }
    // The last interrupt may be there because the trace ended.
    let rules = Rules::of(&batches[..interrupts - 1], deliveries.resolution);
    // Neighbours may depend on each other: each begins where the one before ended.
    let interval = |values: &[f64]| {
        moments(values, true, SEED).and_then(|m| m.mean_interval).map(|interval| (interval.lo, interval.hi))
    };
    let gaps: Vec<f64> = batches.windows(2).map(|pair| pair[1].told - pair[0].told).collect();
    let counted: Vec<f64> = batches.iter().map(|b| f64::from(b.size)).collect();
    Some(Coalescing {
        interrupts: interrupts as u64,
        rate: (interrupts - 1) as f64 / (last - first),
        rate_interval: interval(&gaps).filter(|(lo, _)| *lo > 0.0).map(|(lo, hi)| (1.0 / hi, 1.0 / lo)),
        batch_interval: interval(&counted),
        batch_mean: deliveries.told.len() as f64 / interrupts as f64,
        sizes,
        ..rules
    })
}

fn batches(deliveries: &Deliveries) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for (at, told) in deliveries.told.iter().enumerate() {
        match batches.last_mut() {
            Some(batch) if told - batch.told <= 0.5 * deliveries.resolution => batch.size += 1,
            _ => {
                // In order of completion within an interrupt: the first is the one that was held longest.
                let held = deliveries.completed.as_ref().map(|completed| told - completed[at]);
                batches.push(Batch { told: *told, size: 1, held });
            }
        }
    }
    batches
}

struct Rules;

impl Rules {
    fn of(batches: &[Batch], resolution: f64) -> Coalescing {
        let enough = |found: usize| found >= 5 && found as f64 >= LEAST_SHARE * batches.len() as f64;
        let same = |a: f64, b: f64| (a - b).abs() <= (SAME * b.abs()).max(1.5 * resolution);
        let mut explained = vec![false; batches.len()];

        let longest = batches.iter().filter_map(|b| b.held).fold(0.0, f64::max);
        let mut by_timer: Vec<usize> = Vec::new();
        if longest > 3.0 * resolution {
            let at_limit = |b: &Batch| b.held.is_some_and(|held| same(held, longest));
            by_timer = (0..batches.len()).filter(|i| at_limit(&batches[*i])).collect();
        }
        let timer = enough(by_timer.len()).then(|| {
            for i in &by_timer {
                explained[*i] = true;
            }
            median(by_timer.iter().filter_map(|i| batches[*i].held).collect(), resolution)
        });

        let rest: Vec<u32> = left(batches, &explained).map(|b| b.size).collect();
        let most = rest.iter().copied().max().unwrap_or(0);
        let full = rest.iter().filter(|size| **size == most).count();
        // Beside a timer, all others were told for being so many; without one, nearly all were.
        let count = (most > 1 && enough(full) && full as f64 >= 0.95 * rest.len() as f64).then_some(most);
        if count.is_some() {
            for (done, batch) in explained.iter_mut().zip(batches) {
                *done |= batch.size == most;
            }
        }

        let mut rules = Coalescing {
            interrupts: 0,
            rate: 0.0,
            rate_interval: None,
            batch_mean: 0.0,
            batch_interval: None,
            sizes: Vec::new(),
            count,
            timer,
            cap: None,
            period: None,
            explained: 0.0,
        };
        if count.is_none() && timer.is_none() {
            let gaps: Vec<f64> = batches.windows(2).map(|pair| pair[1].told - pair[0].told).collect();
            let least = gaps.iter().copied().fold(f64::INFINITY, f64::min);
            let at_least = gaps.iter().filter(|gap| same(**gap, least)).count();
            if enough(at_least) && least > 3.0 * resolution {
                let multiples =
                    gaps.iter().filter(|gap| same(**gap, (**gap / least).round() * least)).count();
                if multiples == gaps.len() {
                    rules.period = Some(least);
                    explained.fill(true);
                } else {
                    rules.cap = Some(1.0 / least);
                    for (done, gap) in explained.iter_mut().skip(1).zip(&gaps) {
                        *done = same(*gap, least);
                    }
                }
            }
            // Told at once: nothing to explain.
            for (done, batch) in explained.iter_mut().zip(batches) {
                *done |= batch.size == 1 && batch.held.is_none_or(|held| held <= resolution);
            }
        }
        rules.explained = explained.iter().filter(|done| **done).count() as f64 / batches.len() as f64;
        rules
    }
}

fn left<'a>(batches: &'a [Batch], explained: &'a [bool]) -> impl Iterator<Item = &'a Batch> {
    batches.iter().zip(explained).filter(|(_, done)| !**done).map(|(batch, _)| batch)
}

/// The median, and the order statistics that hold the true one in 95 % of the cases (Conover 1999, "Practical
/// Nonparametric Statistics", section 3.2), as far apart as readings are rounded at least.
fn median(mut values: Vec<f64>, resolution: f64) -> Timer {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let at = |position: f64| values[position.clamp(0.0, n - 1.0) as usize];
    let reach = 0.98 * n.sqrt();
    Timer {
        seconds: at(0.5 * (n - 1.0)),
        lo: (at((0.5 * n - reach - 1.0).floor()) - resolution).max(0.0),
        hi: at((0.5 * n + reach).ceil()) + resolution,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    /// Completions at random, told by a rule: as soon as `count` are held, or the first has been held for `timer`, but
    /// not before 1/`cap` after the last telling. Stamps are rounded to nanoseconds.
    fn told(count: usize, timer: f64, cap: f64, jitter: f64) -> Deliveries {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(9);
        let completed: Vec<f64> = (0..20_000)
            .scan(0.0, |now, _| {
                *now += -10e-6 * generator.random::<f64>().ln();
                Some(*now)
            })
            .collect();
        let mut told = Vec::new();
        let (mut first, mut last) = (0, f64::NEG_INFINITY);
        while first < completed.len() {
            let full = completed.get(first + count - 1).copied().unwrap_or(f64::INFINITY);
            let mut at = full.min(completed[first] + timer).max(last + 1.0 / cap);
            if at > *completed.last().unwrap() {
                at = *completed.last().unwrap() + 1e-9;
            }
            let held = completed[first..].iter().take_while(|done| **done <= at).count();
            let at = at + jitter * generator.random::<f64>();
            told.resize(told.len() + held, (at * 1e9).round() / 1e9);
            (first, last) = (first + held, at);
        }
        Deliveries { told, completed: Some(completed), resolution: 1e-9 }
    }

    #[test]
    fn count_and_timer_are_found_again() {
        // Both at work: 8 completions take 80 µs on average.
        let found = detect(&told(8, 70e-6, 1e12, 0.0)).unwrap();
        assert_eq!((found.count, found.cap, found.period), (Some(8), None, None), "{found:?}");
        let timer = found.timer.unwrap();
        assert!(
            (timer.seconds - 70e-6).abs() < 2e-9 && timer.lo <= timer.seconds && timer.seconds <= timer.hi
        );
        assert!(found.explained > 0.999, "{found:?}");
        assert!(found.sizes.len() == 8 && (found.batch_mean - 6.5).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn each_rule_alone_is_found() {
        let count = detect(&told(4, 1.0, 1e12, 0.0)).unwrap();
        assert_eq!((count.count, count.timer.is_none(), count.cap), (Some(4), true, None), "{count:?}");
        let timer = detect(&told(10_000, 50e-6, 1e12, 0.0)).unwrap();
        assert_eq!((timer.count, timer.cap), (None, None), "{timer:?}");
        assert!((timer.timer.unwrap().seconds - 50e-6).abs() < 2e-9);
        let cap = detect(&told(1, 1.0, 20_000.0, 0.0)).unwrap();
        assert_eq!((cap.count, cap.timer.is_none()), (None, true), "{cap:?}");
        assert!((cap.cap.unwrap() / 20_000.0 - 1.0).abs() < 1e-3, "{cap:?}");
    }

    #[test]
    fn a_timer_is_seen_through_some_jitter() {
        let found = detect(&told(10_000, 50e-6, 1e12, 40e-9)).unwrap();
        assert!((found.timer.unwrap().seconds - 50e-6).abs() < 50e-9, "{found:?}");
    }

    #[test]
    fn where_nothing_is_held_back_no_rule_is_found() {
        let found = detect(&told(1, 1.0, 1e12, 0.0)).unwrap();
        assert_eq!(
            (found.count, found.timer, found.cap, found.period),
            (None, None, None, None),
            "{found:?}"
        );
        assert!(found.batch_mean < 1.01 && found.explained > 0.99, "{found:?}");
    }

    #[test]
    fn too_few_interrupts_tell_nothing() {
        assert_eq!(detect(&Deliveries { told: vec![0.0; 100], ..Deliveries::default() }), None);
        assert_eq!(detect(&Deliveries::default()), None);
    }
}
