//! The JSON documents: they read back and refuse surprises.

use crate::synthetic;
use crate::synthetic::Made;
use serde_json::Value;
use tollway_report::document::{ComparisonDocument, Document, RunDocument, schema};
use tollway_report::{Comparison, RunReport};
use tollway_stats::Criteria;

#[test]
fn a_run_reads_back_and_refuses_surprises() {
    let mut made = Made::new();
    let guests = synthetic::guests::host_and_guests(&mut made.store);
    let report = RunReport::from_store(&made.store, guests).unwrap();
    assert_eq!(&serde_json::from_str::<RunDocument>(&report.json().unwrap()).unwrap(), report.document());
    let run = synthetic::price_list(&mut made.store);
    let report = RunReport::from_store(&made.store, run).unwrap();
    let json = report.json().unwrap();
    assert_eq!(&serde_json::from_str::<RunDocument>(&json).unwrap(), report.document());

    let mut value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema_version"], 1);
    value["points"][0]["surprise"] = Value::Bool(true);
    let refused = serde_json::from_value::<RunDocument>(value).unwrap_err().to_string();
    assert!(refused.contains("surprise"), "{refused}");
    let closed: Value = serde_json::from_str(schema(Document::Run)).unwrap();
    for definition in ["Estimate", "Span", "PointDocument", "RunHead", "QualityDocument"] {
        assert_eq!(closed["$defs"][definition]["additionalProperties"], false, "{definition}");
    }
}

#[test]
fn there_is_no_figure_without_its_interval() {
    let mut made = Made::new();
    let run = synthetic::price_list(&mut made.store);
    let report = RunReport::from_store(&made.store, run).unwrap();
    for point in &report.document().points {
        let figures = [&point.median, &point.mean, &point.p99, &point.min];
        assert!(figures.iter().all(|f| f.is_none() == point.median.is_none()), "{point:?}");
        assert_eq!(point.median.is_some(), point.trials > 1 && point.error.is_none(), "{}", point.title);
        for figure in figures.into_iter().flatten() {
            assert!(figure.ns.lo <= figure.ns.estimate && figure.ns.estimate <= figure.ns.hi, "{point:?}");
            assert!((figure.ns.estimate / figure.ticks.estimate - 1e9 / synthetic::HZ).abs() < 1e-9);
        }
    }
    let single = report.document().points.iter().find(|p| p.trials == 1).unwrap();
    assert_eq!((single.median, single.state.as_str()), (None, "done"));
    let json: Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let skipped = json["points"].as_array().unwrap().iter().find(|p| p["state"] == "skipped").unwrap();
    assert!(skipped["median"].is_null() && skipped["skipped"]["remedy"].is_string());
}

#[test]
fn a_comparison_reads_back() {
    let mut made = Made::new();
    let [before, after] = synthetic::two_days(&mut made.store);
    let comparison = Comparison::of_runs(&made.store, before, after, Criteria::default()).unwrap();
    let read: ComparisonDocument = serde_json::from_str(&comparison.json().unwrap()).unwrap();
    assert_eq!(&read, comparison.document());
}

#[test]
fn a_run_without_a_point_is_a_report_too() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("nothing", &[])).unwrap();
    let report = RunReport::from_store(&made.store, run).unwrap();
    assert!(report.terminal(Some(80)).contains("running"));
    assert!(report.html().unwrap().contains("No trial was run"));
    assert_eq!(report.csv().lines().count(), 1);
    assert!(report.markdown().contains("nothing"));
    serde_json::from_str::<RunDocument>(&report.json().unwrap()).unwrap();
}
