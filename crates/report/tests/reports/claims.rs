//! Claims held against made-up trials, whose figures are known.

use crate::synthetic::Made;
use crate::synthetic::billed::{SUM, gates, path, run};
use tollway_core::{Claim, Claims, Metric, Provenance, Quantity, Relation, Series, Value};
use tollway_report::Reproduction;
use tollway_report::document::{ClaimDocument, ClaimVerdict, ReproductionDocument};
use tollway_store::{PointSpec, PointState};

fn of(variant: &str) -> Quantity {
    let point = tollway_core::Params::new().with("size", 60);
    Quantity { variant: variant.into(), point, ..Quantity::default() }
}

fn gate(variant: &str, name: &str) -> Quantity {
    Quantity { gates: vec![name.into()], ..of(variant) }
}

fn claim(id: &str, metric: Metric, relation: Relation) -> Claim {
    Claim {
        id: id.into(),
        says: "packets <are> cheap".into(),
        source: "a study".into(),
        provenance: Provenance::Quoted,
        published: "2 ×".into(),
        expected: "yes".into(),
        preset: "quick".into(),
        metric,
        relation: Some(relation),
    }
}

fn paths() -> Vec<(PointSpec, f64)> {
    let mut longer = path("after", gates());
    longer.params.set("size", 1514);
    vec![(path("before", gates()), SUM), (path("after", gates()), SUM / 2.0), (longer, SUM / 2.0 + 10.0)]
}

fn judged(claims: Vec<Claim>) -> (Vec<ClaimDocument>, Reproduction) {
    let mut made = Made::new();
    let run = run(&mut made, &paths());
    let claims = Claims { claim: claims, conditions: vec!["nobody says which cable".into()] };
    let reproduction = Reproduction::from_store(&made.store, &[run], &[("capture".into(), claims)]).unwrap();
    (reproduction.document().paths[0].claims.clone(), reproduction)
}

fn measured(claim: &ClaimDocument) -> f64 {
    claim.measured.unwrap().estimate
}

#[test]
fn ratios_shares_and_savings_are_those_of_the_trials() {
    let ratio = |of, to| Metric::Ratio { of, to };
    let saved = Quantity { less: Some(Box::new(of("after"))), ..of("before") };
    let without = Quantity { without: vec!["wake".into()], ..of("before") };
    let (claims, _) = judged(vec![
        claim("halved", ratio(of("before"), of("after")), Relation::Between([1.9, 2.1])),
        claim("share", ratio(gate("before", "wake"), of("before")), Relation::AtMost(0.5)),
        claim("saved", ratio(saved, of("before")), Relation::AtLeast(0.49)),
        claim("rest", ratio(without, of("before")), Relation::AtLeast(0.1)),
        claim(
            "visit",
            Metric::Value(Quantity { visit: Some("call".into()), ..of("before") }),
            Relation::AtLeast(1e4),
        ),
    ]);
    let figures: Vec<f64> = claims.iter().map(measured).collect();
    for (got, expected) in figures.iter().zip([2.0, 1000.0 / SUM, 0.5, 50.0 / SUM, 300.0 * 1.165]) {
        assert!((got / expected - 1.0).abs() < 0.01, "{figures:?}");
    }
    let verdicts: Vec<ClaimVerdict> = claims.iter().map(|c| c.verdict).collect();
    use ClaimVerdict::{Expired, Reproduced};
    assert_eq!(verdicts, [Reproduced, Expired, Reproduced, Expired, Expired]);
    assert_eq!(claims[1].why, "above 0.500");
    assert_eq!(claims[4].why, "below 10.0 k");
}

#[test]
fn counters_and_series_are_judged_too() {
    let dropped = Quantity { counter: Some("dropped".into()), per: Some("sent".into()), ..of("before") };
    // 10, 20 … 120 of 1000, by block: 0.065 on average, and not known well.
    let (claims, _) = judged(vec![
        claim("drops", Metric::Value(dropped.clone()), Relation::AtLeast(0.065)),
        claim("some-drop", Metric::Value(dropped), Relation::AtLeast(0.01)),
    ]);
    assert!((measured(&claims[0]) - 0.065).abs() < 1e-9);
    assert_eq!(
        (claims[0].verdict, claims[1].verdict),
        (ClaimVerdict::NotSeparable, ClaimVerdict::Reproduced)
    );
    let mut each = vec![(1.0, of("after")), (2.0, of("before")), (1.5, of("after"))];
    each[2].1.point.set("size", 1514);
    let series =
        Series { of: of("after"), axis: "size".into(), values: vec![Value::Int(1)], x: vec![], each };
    let (claims, _) = judged(vec![
        claim("grows", Metric::Rank(series.clone()), Relation::AtLeast(0.9)),
        claim("straight", Metric::Bend(series), Relation::AtMost(0.1)),
    ]);
    assert_eq!(measured(&claims[0]), 1.0);
    assert_eq!(claims[0].verdict, ClaimVerdict::Reproduced);
    // 525, 535 and 1050 at 1, 1.5 and 2: the line rises by 525, the middle is 168 below it.
    assert!((measured(&claims[1]) - 168.33 / 525.0).abs() < 0.01, "{claims:?}");
    assert_eq!(claims[1].verdict, ClaimVerdict::Expired);
}

#[test]
fn what_was_not_measured_is_not_testable_and_says_why() {
    let mut made = Made::new();
    let run = run(&mut made, &paths());
    let failed = made.store.points(run).unwrap().into_iter().find(|p| p.spec.variant == "after").unwrap();
    made.store.set_point_state(failed.id, &PointState::Failed("lost a packet".into())).unwrap();
    let ratio = |of, to| Metric::Ratio { of, to };
    let untestable = Claim {
        relation: None,
        ..claim("none", Metric::None("there is no adapter".into()), Relation::AtMost(1.0))
    };
    let claims = vec![
        claim("failed", ratio(of("before"), of("after")), Relation::AtMost(1.0)),
        claim("nowhere", ratio(of("before"), of("sideways")), Relation::AtMost(1.0)),
        claim("gateless", Metric::Value(gate("before", "turnstile")), Relation::AtMost(1.0)),
        untestable,
    ];
    let claims = Claims { claim: claims, conditions: Vec::new() };
    let reproduction = Reproduction::from_store(&made.store, &[run], &[("capture".into(), claims)]).unwrap();
    let found = &reproduction.document().paths[0].claims;
    for (claim, says) in
        found.iter().zip(["lost a packet", "does not have `sideways`", "no gate `turnstile`", "no adapter"])
    {
        assert_eq!((claim.verdict, claim.measured), (ClaimVerdict::NotTestable, None), "{claim:?}");
        assert!(claim.why.contains(says), "{claim:?}");
    }
}

#[test]
fn every_form_has_every_claim_and_the_document_reads_back() {
    let (_, reproduction) = judged(vec![claim(
        "halved",
        Metric::Ratio { of: of("before"), to: of("after") },
        Relation::Between([1.9, 2.1]),
    )]);
    let page = reproduction.markdown();
    for part in [
        "| [capture](#capture) | 1 | 1 | 0 | 0 | 0 |",
        "## capture\n\n1 claim: 1 reproduced.",
        "Expected: yes. Verdict: reproduced: all of the interval is from 1.90 to 2.10.",
        "\n    tollway ",
        "| capture.halved | 2 × | – | 2.00 |",
        "packets &lt;are&gt; cheap",
        "which cable",
    ] {
        assert!(page.contains(part), "`{part}` is not in\n{page}");
    }
    for width in [None, Some(100), Some(50)] {
        let text = reproduction.terminal(width);
        assert!(text.contains("capture.halved") && text.contains("reproduced"), "{text}");
    }
    let json = serde_json::to_string(reproduction.document()).unwrap();
    assert_eq!(&serde_json::from_str::<ReproductionDocument>(&json).unwrap(), reproduction.document());
}
