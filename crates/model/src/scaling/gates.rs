//! What a whole path will cost: the sum of its gates' tolls.

use std::collections::BTreeMap;

use tollway_core::{Error, Forecast, Gate, Missing, Quoted, Result, TollKey, TollSource, Visits};
use tollway_stats::Interval;

use super::weighted;

/// Confidence of the intervals of tolls.
const CONFIDENCE: f64 = 0.95;

/// Adds up visits × tolls, each toll once: gates may share one, or have another's less.
///
/// # Errors
/// Names the toll that is not known.
pub fn sum_of_gates(gates: &[Gate], tolls: &dyn TollSource) -> Result<Forecast> {
    let mut weights: BTreeMap<&TollKey, f64> = BTreeMap::new();
    for gate in gates {
        // Those of this path are all fixed.
        let Visits::Fixed(visits) = gate.visits else { continue };
        for (key, weight) in
            gate.toll.iter().map(|k| (k, visits)).chain(gate.less.iter().map(|k| (k, -visits)))
        {
            *weights.entry(key).or_default() += weight;
        }
    }
    let parts =
        weights.iter().map(|(key, weight)| Ok((*weight, known(key, tolls)?))).collect::<Result<Vec<_>>>()?;
    let sum = weighted(&parts).map_err(|e| Error::Wrong(e.to_string()))?;
    Ok(Forecast {
        of: Quoted::Work,
        ticks: sum.estimate,
        lo: sum.lo,
        hi: sum.hi,
        model: "sum of the gates, visits × tolls".into(),
        from: weights.into_keys().cloned().collect(),
        p99: None,
        counts: Default::default(),
        sharing: None,
    })
}

fn known(key: &TollKey, tolls: &dyn TollSource) -> Result<Interval> {
    let toll = tolls.toll(key).ok_or_else(|| {
        Error::Missing(Missing::new(
            format!("toll {key}"),
            "it was not measured on this machine",
            "measure the path's gates first",
        ))
    })?;
    Ok(Interval { estimate: toll.work, lo: toll.work_lo, hi: toll.work_hi, confidence: CONFIDENCE })
}

#[cfg(test)]
mod tests {
    use tollway_core::{Crossing, Toll};

    use super::*;

    struct Known;

    impl TollSource for Known {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            let work = match (key.crossing, key.size) {
                (Crossing::PacketStamp, _) => 30.0,
                (Crossing::BufferRead, Some(84)) => 300.0,
                (Crossing::BufferRead, Some(_)) => 30_000.0,
                _ => return None,
            };
            Some(Toll {
                key: key.clone(),
                median: 0.0,
                lo: 0.0,
                hi: 0.0,
                work,
                work_lo: work * 0.9,
                work_hi: work * 1.1,
                hz: 1e9,
                run: 1,
            })
        }
    }

    #[test]
    fn a_toll_that_two_gates_share_counts_once() {
        let read = |size| TollKey::of(Crossing::BufferRead).size(size);
        let often = Visits::Fixed(1.0 / 3000.0);
        let gates = [
            Gate::new("timestamp", "path", TollKey::of(Crossing::PacketStamp)),
            Gate::new("call", "path", read(84)).visits(often),
            Gate::new("copy 2", "path", read(252_000)).less(read(84)).visits(often),
        ];
        let forecast = sum_of_gates(&gates, &Known).unwrap();
        assert!((forecast.ticks - 40.0).abs() < 1e-9);
        // ±3 and ±1; the short read cancels.
        assert!((forecast.hi - 40.0 - 10_f64.sqrt()).abs() < 1e-9, "{forecast:?}");
    }

    #[test]
    fn a_toll_that_is_not_known_is_named() {
        let error =
            sum_of_gates(&[Gate::new("tap", "path", TollKey::of(Crossing::Pipe))], &Known).unwrap_err();
        assert!(error.to_string().contains("toll pipe"), "{error}");
    }
}
