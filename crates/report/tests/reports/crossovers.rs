//! From which concurrency on one variant is cheaper than another, of made-up trials whose figures are those that the study of
//! asynchronous IPC was read to have.

use crate::synthetic;
use crate::synthetic::{Behaviour, Made, Noise, spec, start};
use tollway_core::{
    Claim, Claims, Crossing, Crossover, Forecast, Metric, Params, Provenance, Quantity, Quoted, Recorder,
    Relation, TollKey, Value,
};
use tollway_report::Reproduction;
use tollway_report::document::{ClaimDocument, ClaimVerdict};
use tollway_store::PointSpec;

const LADDER: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Asynchronous round trips on one core by concurrency, in cycles.
const ASYNC: [f64; 6] = [10550.0, 6000.0, 3450.0, 2550.0, 1950.0, 1700.0];

/// Synchronous ones on the slow path and the fast path, and asynchronous ones between two cores at 32.
const SLOW: f64 = 8050.0;
const FAST: f64 = 3000.0;
const LEAST: f64 = 1450.0;

const BLOCKS: u32 = 8;

fn point(variant: &str, concurrency: u64) -> PointSpec {
    PointSpec {
        path: "ipc".into(),
        variant: variant.into(),
        params: Params::new().with("concurrency", concurrency),
        title: format!("{variant}/{concurrency}"),
        toll: None,
        boundary: None,
        ..synthetic::toll(TollKey::of(Crossing::BufferRead))
    }
}

fn quantity(variant: &str, concurrency: u64) -> Quantity {
    Quantity {
        variant: variant.into(),
        point: Params::new().with("concurrency", concurrency),
        ..Quantity::default()
    }
}

fn claim(id: &str, of: &str, below: &str, relation: Relation) -> Claim {
    let (plain_of, plain_below) = (quantity(of, 1), quantity(below, 1));
    let each = LADDER.iter().map(|n| (*n as f64, quantity(of, *n), quantity(below, *n))).collect();
    Claim {
        id: id.into(),
        says: "Asynchronous overtakes.".into(),
        source: "study".into(),
        provenance: Provenance::Quoted,
        published: "2".into(),
        expected: "yes".into(),
        preset: "crossover".into(),
        metric: Metric::Crossover(Crossover {
            of: plain_of,
            below: plain_below,
            axis: "concurrency".into(),
            values: LADDER.iter().map(|n| Value::Int(*n)).collect(),
            each,
        }),
        relation: Some(relation),
    }
}

fn forecast(ticks: f64) -> Forecast {
    Forecast {
        of: Quoted::Work,
        ticks,
        lo: 0.9 * ticks,
        hi: 1.1 * ticks,
        p99: None,
        counts: Default::default(),
        model: "the sum of the gates".into(),
        from: Vec::new(),
        sharing: None,
    }
}

/// Claims held against trials with these scatters from block to block; what was predicted is so many times what was planted.
fn judged(claims: Vec<Claim>, scatter: f64, predicted: Option<f64>) -> (Vec<ClaimDocument>, Reproduction) {
    let mut made = Made::new();
    let run = made.store.begin_run(&spec("crossovers", &[])).unwrap();
    let mut planted: Vec<(PointSpec, f64)> = Vec::new();
    for (n, cost) in LADDER.into_iter().zip(ASYNC) {
        planted.push((point("async", n), cost));
        planted.push((point("slow-path", n), SLOW));
        planted.push((point("fast-path", n), FAST));
        planted.push((point("least", n), LEAST));
    }
    let specs: Vec<PointSpec> = planted.iter().map(|(spec, _)| spec.clone()).collect();
    let ids = made.store.add_points(run, &specs).unwrap();
    for ((spec, cost), id) in planted.iter().zip(&ids) {
        if let Some(off) = predicted {
            let off = if spec.variant == "async" { off } else { 1.0 };
            made.store.predict(*id, &forecast(cost * off), start()).unwrap();
        }
    }
    let mut noise = Noise::seeded(5);
    let mut ordinal = 0;
    for block in 0..BLOCKS {
        for ((_, cost), id) in planted.iter().zip(&ids) {
            let mut trial = Behaviour::calm(*cost).trial(&mut noise, 1.0, block, ordinal);
            let cost = cost * (scatter * noise.normal()).exp();
            let mut recorder = Recorder::new();
            recorder.set_batch(100);
            (0..20).for_each(|_| recorder.sample((cost * 100.0) as u64));
            trial.spread = recorder.spread();
            made.store.record_trial(*id, &trial).unwrap();
            ordinal += 1;
        }
    }
    let claims = Claims { claim: claims, conditions: Vec::new() };
    let reproduction = Reproduction::from_store(&made.store, &[run], &[("ipc".into(), claims)]).unwrap();
    (reproduction.document().paths[0].claims.clone(), reproduction)
}

#[test]
fn the_study_s_crossovers_are_found_where_they_were_planted() {
    let (claims, reproduction) = judged(
        vec![
            claim("slow", "async", "slow-path", Relation::Between([1.0, 4.0])),
            claim("fast", "async", "fast-path", Relation::Between([4.0, 16.0])),
            claim("late", "async", "fast-path", Relation::AtMost(4.0)),
            claim("never", "async", "least", Relation::AtMost(32.0)),
            claim("at-once", "least", "fast-path", Relation::AtMost(1.0)),
        ],
        0.002,
        Some(1.0),
    );
    let of = |claim: &ClaimDocument| {
        let span = claim.measured.unwrap();
        (span.lo, span.estimate, span.hi, claim.predicted.unwrap())
    };
    let found: Vec<_> = claims.iter().map(of).collect();
    let exactly = |x: f64| (x, x, x, x);
    assert_eq!(found, [2.0, 8.0, 8.0, 64.0, 1.0].map(exactly));
    use ClaimVerdict::{Expired, Reproduced};
    let verdicts: Vec<ClaimVerdict> = claims.iter().map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Reproduced, Reproduced, Expired, Expired, Reproduced]);
    assert!(claims.iter().all(|claim| claim.last_step == Some(32.0)));
    assert_eq!(claims[0].metric, "the concurrency from which on async is below slow-path");
    let page = reproduction.markdown();
    assert!(page.contains("| ipc.never | 2 | > 32.0 | > 32.0 | [> 32.0, > 32.0] | expired |"), "{page}");
    assert!(page.contains("| ipc.fast | 2 | 8.00 | 8.00 | [8.00, 8.00] | reproduced |"), "{page}");
    let text = reproduction.terminal(None);
    assert!(text.contains("> 32.0"), "{text}");
}

#[test]
fn what_is_not_known_well_has_steps_on_either_side() {
    // 2550 of 3000 and 3450 of 3000 cannot be told from 1 where blocks scatter by a third.
    let (claims, _) =
        judged(vec![claim("fast", "async", "fast-path", Relation::Between([4.0, 16.0]))], 0.33, None);
    let span = claims[0].measured.unwrap();
    assert!(
        span.lo <= 4.0 && span.hi >= 8.0 && span.lo <= span.estimate && span.estimate <= span.hi,
        "{span:?}"
    );
    assert_eq!(claims[0].predicted, None);
}

#[test]
fn a_prediction_that_is_off_is_off_by_steps() {
    let (claims, _) =
        judged(vec![claim("fast", "async", "fast-path", Relation::Between([8.0, 8.0]))], 0.002, Some(1.4));
    assert_eq!((claims[0].predicted, claims[0].measured.unwrap().estimate), (Some(16.0), 8.0));
}

#[test]
fn a_point_that_is_not_there_is_why_there_is_no_crossover() {
    let (claims, _) = judged(vec![claim("none", "async", "handoff", Relation::AtMost(1.0))], 0.002, None);
    assert_eq!(claims[0].verdict, ClaimVerdict::NotTestable);
    assert!(claims[0].why.contains("handoff"), "{}", claims[0].why);
}
