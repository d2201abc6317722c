//! What a point will cost, from the tolls of others.
//!
//! A batch of io_uring no-ops enters the kernel once: an operation costs its work and its share of the entry,
//! `cost(n) = work + enter / n`. Two depths determine both; every other depth follows. With t₁ and t₂ the tolls at
//! depths 1 and 2, `enter = 2 (t₁ − t₂)` and `work = 2 t₂ − t₁`, so that `cost(n) = (2/n − 1) t₁ + (2 − 2/n) t₂`.
//!
//! The interval treats the two tolls as independent: the distances from each median to the end of its interval that
//! moves the result the same way are weighted and added in quadrature. It says how well the tolls are known, not how
//! well the model holds.

use tollway_core::{
    Crossing, Error, Forecast, Missing, Params, Quoted, Result, TenantKind, Toll, TollKey, TollSource,
};

/// The depths that determine the model.
const FITTED: [u32; 2] = [1, 2];

/// The tolls that predict a depth: those of depths 1 and 2, none for these two themselves.
pub(crate) fn nop_needs(params: &Params) -> Result<Vec<TollKey>> {
    let depth = params.int("depth")?;
    let tenant = params.tenant()?;
    Ok(if depth > 2 { FITTED.map(|depth| nop(tenant, depth)).to_vec() } else { Vec::new() })
}

/// The cost of one no-op at a depth beyond 2.
pub(crate) fn nop_predict(params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
    let predict = || {
        let (depth, tenant) = (params.int("depth")?, params.tenant()?);
        if depth <= 2 {
            return Ok(None);
        }
        let (one, two) = (known(tolls, tenant, 1)?, known(tolls, tenant, 2)?);
        Ok(Some(forecast(depth, &one, &two)))
    };
    predict().transpose()
}

fn nop(tenant: TenantKind, depth: u32) -> TollKey {
    TollKey::of(Crossing::IoUringNop).tenant(tenant).depth(depth)
}

fn known(tolls: &dyn TollSource, tenant: TenantKind, depth: u32) -> Result<Toll> {
    let key = nop(tenant, depth);
    tolls.toll(&key).ok_or_else(|| {
        Error::Missing(Missing::new(
            format!("toll {key}"),
            "it was not measured on this machine",
            "measure `io-uring-nop` at depths 1 and 2 first",
        ))
    })
}

fn forecast(depth: u64, one: &Toll, two: &Toll) -> Forecast {
    let n = depth as f64;
    let weighted = [(2.0 / n - 1.0, one), (2.0 - 2.0 / n, two)];
    let ticks: f64 = weighted.iter().map(|(weight, toll)| weight * toll.median).sum();
    let reach = |downwards: bool| {
        let squares = weighted.iter().map(|(weight, toll)| {
            let end = if downwards == (*weight > 0.0) { toll.lo } else { toll.hi };
            (weight * (end - toll.median)).powi(2)
        });
        squares.sum::<f64>().sqrt()
    };
    Forecast {
        of: Quoted::Median,
        ticks,
        lo: ticks - reach(true),
        hi: ticks + reach(false),
        model: "work + enter / depth, fitted at depths 1 and 2".into(),
        from: vec![one.key.clone(), two.key.clone()],
        p99: None,
        counts: Default::default(),
        sharing: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known(Vec<Toll>);

    impl TollSource for Known {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            self.0.iter().find(|t| t.key == *key).cloned()
        }
    }

    fn toll(depth: u32, median: f64, lo: f64, hi: f64) -> Toll {
        Toll {
            key: nop(TenantKind::Process, depth),
            median,
            lo,
            hi,
            work: median,
            work_lo: lo,
            work_hi: hi,
            hz: 1e9,
            run: 1,
        }
    }

    fn at(depth: u64) -> Params {
        Params::new().with("depth", depth)
    }

    #[test]
    fn a_cost_made_of_work_and_entry_is_found_again() {
        let (work, enter) = (44.0, 322.0);
        let cost = |n: f64| work + enter / n;
        let tolls =
            Known(vec![toll(1, cost(1.0), cost(1.0), cost(1.0)), toll(2, cost(2.0), cost(2.0), cost(2.0))]);
        for depth in [8, 32, 128] {
            let f = nop_predict(&at(depth), &tolls).unwrap().unwrap();
            assert!((f.ticks - cost(depth as f64)).abs() < 1e-9);
            assert!((f.hi - f.lo).abs() < 1e-9);
        }
    }

    #[test]
    fn the_interval_follows_the_tolls() {
        let tolls = Known(vec![toll(1, 400.0, 390.0, 420.0), toll(2, 250.0, 245.0, 252.0)]);
        let f = nop_predict(&at(8), &tolls).unwrap().unwrap();
        // Weights -0.75 and 1.75: downwards are a dearer depth 1 (20) and a cheaper depth 2 (5).
        assert!((f.ticks - f.lo - (15.0f64.powi(2) + 8.75f64.powi(2)).sqrt()).abs() < 1e-9);
        assert!((f.hi - f.ticks - (7.5f64.powi(2) + 3.5f64.powi(2)).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn what_fits_the_model_is_not_predicted_by_it() {
        assert!(nop_predict(&at(1), &Known(vec![])).is_none());
        assert!(nop_needs(&at(2)).unwrap().is_empty());
        assert_eq!(nop_needs(&at(8)).unwrap(), [nop(TenantKind::Process, 1), nop(TenantKind::Process, 2)]);
    }

    #[test]
    fn an_unknown_toll_is_missing() {
        assert!(matches!(nop_predict(&at(8), &Known(vec![])), Some(Err(Error::Missing(_)))));
    }
}
