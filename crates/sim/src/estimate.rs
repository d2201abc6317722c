//! From the rows of totals to figures with intervals.
//!
//! Each replication is cut into batches. A figure is a ratio of totals; what each batch deviates from it is what the
//! interval is made of (Law 2015, Simulation Modeling and Analysis, 5th ed., section 9.5.3: batch means of a ratio).
//! Batches that resemble their neighbours are joined, two and two, until they no longer do: at last there is one batch for
//! each replication, and replications are independent.

use tollway_stats::{Interval, Location};

use crate::SimError;
use crate::figures::Figure;
use crate::histogram::Quantile;
use crate::replication::Rows;
use crate::totals::Column;

/// Fewer batches than this tell too little for an interval.
const FEWEST: usize = 4;

/// So many batches over all replications are enough to begin with: more of them make an interval hardly narrower, and
/// their correlation harder to see (Schmeiser 1982, Operations Research 30:556).
const ENOUGH: usize = 32;

/// One-sided 5 % point of the normal distribution: for the correlation of neighbours.
const CORRELATED: f64 = 1.645;

/// Differences of some totals over each batch of each replication, with so many batches joined.
fn differences(rows: &[Rows], columns: &[Column], joined: usize) -> Vec<Vec<f64>> {
    let sum = |row: &[f64]| columns.iter().map(|column| row[*column]).sum::<f64>();
    let of_one = |rows: &Rows| {
        let sums: Vec<f64> = rows.iter().map(sum).collect();
        let batches = (sums.len() - 1) / joined;
        let end = |batch: usize| if batch == batches { sums.len() - 1 } else { batch * joined };
        (0..batches).map(|batch| sums[end(batch + 1)] - sums[end(batch)]).collect()
    };
    rows.iter().map(of_one).collect()
}

/// Who the figure was seen on.
pub(crate) fn count(figure: &Figure, rows: &[Rows]) -> f64 {
    differences(rows, &[figure.count], 1).iter().flatten().sum()
}

/// The figure; `None` where what it is a share of never happened.
///
/// # Errors
/// When a sum leaves floating point.
pub(crate) fn estimate(
    figure: &Figure,
    rows: &[Rows],
    confidence: f64,
) -> Result<Option<(f64, Option<Interval>)>, SimError> {
    let top: f64 = differences(rows, &figure.top, 1).iter().flatten().sum();
    let bottom: f64 = differences(rows, &figure.bottom, 1).iter().flatten().sum();
    if bottom <= 0.0 || !top.is_finite() || !bottom.is_finite() {
        return Ok(None);
    }
    // Nothing is below zero, but the difference of two areas that are alike may be, by rounding.
    let ratio = (top / bottom).max(0.0);
    let value = figure.scale * ratio;
    let fewest = rows.iter().map(|rows| rows.iter().count() - 1).min().unwrap_or(0);
    let mut joined = (fewest / ENOUGH.div_ceil(rows.len())).max(1);
    while joined <= fewest {
        let tops = differences(rows, &figure.top, joined);
        let bottoms = differences(rows, &figure.bottom, joined);
        let off = |(top, bottom): (&f64, &f64)| top - ratio * bottom;
        let offs: Vec<Vec<f64>> =
            tops.iter().zip(&bottoms).map(|(t, b)| t.iter().zip(b).map(off).collect()).collect();
        let count: usize = offs.iter().map(Vec::len).sum();
        if count < FEWEST {
            return Ok(Some((value, None)));
        }
        if !correlated(&offs) {
            let pull = count as f64 / bottom;
            let values: Vec<f64> =
                offs.iter().flatten().map(|off| figure.scale * (ratio + off * pull)).collect();
            return Ok(Some((value, Some(interval(value, &values, confidence)?))));
        }
        joined *= 2;
    }
    Ok(Some((value, None)))
}

/// Student's interval over independent values of something that is not negative.
fn interval(value: f64, values: &[f64], confidence: f64) -> Result<Interval, SimError> {
    let spread = Location::student(values)?.interval(confidence)?;
    let half = spread.half_width();
    Ok(Interval::new(value, (value - half).max(0.0).min(value), value + half, confidence)?)
}

/// Whether neighbours within a replication are visibly correlated.
fn correlated(offs: &[Vec<f64>]) -> bool {
    let squares: f64 = offs.iter().flatten().map(|off| off * off).sum();
    let products: f64 = offs.iter().flat_map(|offs| offs.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    let pairs: usize = offs.iter().map(|offs| offs.len() - 1).sum();
    let count: usize = offs.iter().map(Vec::len).sum();
    if pairs == 0 || squares <= 0.0 {
        return false;
    }
    // A sum over pairs against one over all; the mean of independent values was taken out, which costs 1/count.
    let correlation = products / squares * count as f64 / pairs as f64;
    correlation > CORRELATED / (pairs as f64).sqrt() - 1.0 / count as f64
}

/// The interval of a quantile over all replications, from those of each: not narrower than the bin that it was read from.
///
/// # Errors
/// When a value leaves floating point.
pub(crate) fn quantile(all: Quantile, each: &[f64], confidence: f64) -> Result<Option<Interval>, SimError> {
    if each.len() < FEWEST {
        return Ok(None);
    }
    let of_each = interval(all.value, each, confidence)?;
    let (low, high) = (of_each.lo.min(all.low), of_each.hi.max(all.high));
    Ok(Some(Interval::new(all.value, low, high, confidence)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is like its neighbour is correlated, and what is unlike it or stands alone is not.
    #[test]
    fn correlation_of_neighbours_is_seen() {
        let wave = |period: usize| -> Vec<Vec<f64>> {
            let of = |at: usize| if at % period < period / 2 { 1.0 } else { -1.0 };
            vec![(0..200).map(of).collect(); 4]
        };
        assert!(correlated(&wave(20)));
        assert!(!correlated(&wave(2)));
        assert!(!correlated(&[vec![1.0], vec![-1.0]]) && !correlated(&[vec![0.0; 50]]));
    }
}
