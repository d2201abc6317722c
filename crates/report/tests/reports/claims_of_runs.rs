//! Claims on rates and trends, and those that several runs tested.

use crate::synthetic;
use crate::synthetic::{Behaviour, HZ, Made, Noise, rated};
use tollway_core::{
    Claim, Claims, Figured, Forecast, Metric, Params, Provenance, Quantity, Quoted, Relation, Series, Value,
};
use tollway_report::Reproduction;
use tollway_report::document::{ClaimDocument, ClaimVerdict};
use tollway_store::{PointSpec, PointState, RunId};

const BLOCKS: u32 = 6;

fn rate_of(disk: &str) -> Quantity {
    Quantity {
        variant: "disk".into(),
        what: Figured::Rate,
        point: Params::new().with("disk", disk),
        ..Quantity::default()
    }
}

fn claim(id: &str, metric: Metric, relation: Relation) -> Claim {
    Claim {
        id: id.into(),
        says: "Disks are fast.".into(),
        source: "study".into(),
        provenance: Provenance::Quoted,
        published: "> 1".into(),
        expected: "yes".into(),
        preset: "quick".into(),
        metric,
        relation: Some(relation),
    }
}

fn pace(ticks: f64) -> Forecast {
    Forecast {
        of: Quoted::Pace,
        ticks,
        lo: 0.9 * ticks,
        hi: 1.1 * ticks,
        p99: None,
        counts: Default::default(),
        model: "by hand".into(),
        from: Vec::new(),
        sharing: None,
    }
}

/// A run of disks, each with what an access takes on average, foretold to take a tenth more.
fn run(made: &mut Made, disks: &[(&str, f64)]) -> RunId {
    let run = made.store.begin_run(&synthetic::spec("disks", &[])).unwrap();
    let specs: Vec<PointSpec> = disks.iter().map(|(disk, _)| rated(disk)).collect();
    let ids = made.store.add_points(run, &specs).unwrap();
    let mut noise = Noise::seeded(9);
    for ((_, ticks), id) in disks.iter().zip(&ids) {
        made.store.predict(*id, &pace(1.1 * ticks), synthetic::start()).unwrap();
        for block in 0..BLOCKS {
            let trial = Behaviour::calm(*ticks).trial(&mut noise, 1.0, block, block);
            made.store.record_trial(*id, &synthetic::one_after_the_other(trial)).unwrap();
        }
    }
    run
}

fn judged(made: &Made, runs: &[RunId], claims: Vec<Claim>) -> (Vec<ClaimDocument>, String) {
    let claims = Claims { claim: claims, conditions: Vec::new() };
    let reproduction = Reproduction::from_store(&made.store, runs, &[("machine".into(), claims)]).unwrap();
    (reproduction.document().paths[0].claims.clone(), reproduction.markdown())
}

#[test]
fn a_rate_is_in_its_unit_and_was_foretold_by_the_pace() {
    let mut made = Made::new();
    let run = run(&mut made, &[("raw", 21_000.0), ("luks", 42_000.0)]);
    let (claims, page) = judged(
        &made,
        &[run],
        vec![
            claim("iops", Metric::Value(rate_of("raw")), Relation::AtLeast(1e6)),
            claim(
                "faster",
                Metric::Ratio { of: rate_of("raw"), to: rate_of("luks") },
                Relation::AtLeast(1.0),
            ),
        ],
    );
    // The tail of what is made up is above what was asked for.
    let iops = claims[0].measured.unwrap().estimate;
    assert!((0.5..1.0).contains(&(iops / (HZ / 21_000.0))), "{iops}");
    assert_eq!((claims[0].unit.as_deref(), &claims[1].unit), (Some("IO/s"), &None));
    assert!((claims[0].predicted.unwrap() / (HZ / 23_100.0) - 1.0).abs() < 1e-9, "{claims:?}");
    assert!((claims[1].measured.unwrap().estimate - 2.0).abs() < 0.1 && claims[1].predicted == Some(2.0));
    assert_eq!(claims[1].metric, "rate of disk / rate of disk");
    assert!(page.contains("| machine.iops | &gt; 1 | 90.9 k IO/s |"), "{page}");
}

#[test]
fn what_was_foretold_of_a_trend_is_the_trend_of_what_was_foretold() {
    let mut made = Made::new();
    let run = run(&mut made, &[("a", 10_000.0), ("b", 20_000.0), ("c", 30_000.0)]);
    let each = ["a", "b", "c"]
        .into_iter()
        .enumerate()
        .map(|(i, disk)| (i as f64, Quantity { what: Figured::Pace, ..rate_of(disk) }));
    let series = Series {
        of: rate_of("a"),
        axis: "disk".into(),
        values: vec![Value::Int(1)],
        x: Vec::new(),
        each: each.collect(),
    };
    let (claims, _) = judged(
        &made,
        &[run],
        vec![
            claim("rises", Metric::Rank(series.clone()), Relation::AtLeast(0.9)),
            claim("straight", Metric::Bend(series.clone()), Relation::AtMost(0.1)),
            claim(
                "uncounted",
                Metric::Rank(Series {
                    each: series
                        .each
                        .into_iter()
                        .map(|(x, q)| (x, Quantity { what: Figured::Response, ..q }))
                        .collect(),
                    ..series
                }),
                Relation::AtLeast(0.9),
            ),
        ],
    );
    assert_eq!((claims[0].predicted, claims[0].verdict), (Some(1.0), ClaimVerdict::Reproduced));
    assert!(claims[1].predicted.unwrap() < 1e-9, "{:?}", claims[1]);
    assert_eq!(claims[2].predicted, None, "what was foretold speaks of the pace");
}

#[test]
fn a_claim_is_judged_by_the_last_run_that_measured_it() {
    let mut made = Made::new();
    let first = run(&mut made, &[("raw", 21_000.0), ("luks", 42_000.0)]);
    let second = run(&mut made, &[("raw", 10_500.0)]);
    let third = run(&mut made, &[("raw", 21_000.0), ("luks", 42_000.0)]);
    for point in made.store.points(third).unwrap() {
        made.store.set_point_state(point.id, &PointState::Failed("the disk is full".into())).unwrap();
    }
    let claims = || {
        vec![
            claim("iops", Metric::Value(rate_of("raw")), Relation::AtLeast(1.0)),
            claim(
                "faster",
                Metric::Ratio { of: rate_of("raw"), to: rate_of("luks") },
                Relation::AtLeast(1.0),
            ),
        ]
    };
    let (found, page) = judged(&made, &[first, second, third], claims());
    assert_eq!([found[0].run, found[1].run], [Some(second.0), Some(first.0)]);
    assert!(found.iter().all(|claim| claim.verdict == ClaimVerdict::Reproduced), "{found:?}");
    assert!(page.contains("2 claims: 2 reproduced. Measured by run 1 and 2."), "{page}");
    assert_eq!(page.matches("    tollway run --seed 7\n").count(), 3, "{page}");
    // Where nothing else measured it, why it failed is told.
    let (found, _) = judged(&made, &[third], claims());
    assert!(found[0].run == Some(third.0) && found[0].why.contains("the disk is full"), "{found:?}");
}
