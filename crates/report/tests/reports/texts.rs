//! The texts of a report, compared with what they were.

use crate::synthetic;
use crate::synthetic::{Made, unstyled};
use tollway_report::{Comparison, Proof, RunReport, history};
use tollway_stats::Criteria;

#[test]
fn the_price_list() {
    let mut made = Made::new();
    let run = synthetic::price_list(&mut made.store);
    let report = RunReport::from_store(&made.store, run).unwrap();
    insta::assert_snapshot!("terminal-120", unstyled(&report.terminal(Some(120))));
    insta::assert_snapshot!("terminal-70", unstyled(&report.terminal(Some(70))));
    insta::assert_snapshot!("terminal-plain", unstyled(&report.terminal(None)));
    insta::assert_snapshot!("markdown", report.markdown());
    insta::assert_snapshot!("csv", report.csv());
}

#[test]
fn host_against_guest() {
    let mut made = Made::new();
    let run = synthetic::guests::host_and_guests(&mut made.store);
    let report = RunReport::from_store(&made.store, run).unwrap();
    insta::assert_snapshot!("guests-terminal-140", unstyled(&report.terminal(Some(140))));
    insta::assert_snapshot!("guests-terminal-80", unstyled(&report.terminal(Some(80))));
    insta::assert_snapshot!("guests-markdown", report.markdown());
    insta::assert_snapshot!("guests-csv", report.csv());
}

#[test]
fn a_comparison_of_two_sides() {
    let mut made = Made::new();
    let slower = |i: usize| [1.0, 1.0, 1.08, 0.9][i % 4];
    let run = synthetic::sides(&mut made.store, ["A", "B"], slower, 8);
    let comparison = Comparison::of_sides(&made.store, run, ["A", "B"], Criteria::default()).unwrap();
    insta::assert_snapshot!("sides-terminal", unstyled(&comparison.terminal(Some(110))));
    insta::assert_snapshot!("sides-markdown", comparison.markdown());
}

#[test]
fn a_comparison_of_two_days() {
    let mut made = Made::new();
    let [before, after] = synthetic::two_days(&mut made.store);
    let comparison = Comparison::of_runs(&made.store, before, after, Criteria::default()).unwrap();
    insta::assert_snapshot!("days-terminal", unstyled(&comparison.terminal(Some(100))));
    insta::assert_snapshot!("history", unstyled(&history(&made.store.runs().unwrap(), Some(100))));
}

#[test]
fn the_proof() {
    let mut made = Made::new();
    let same = synthetic::sides(&mut made.store, ["A", "B"], |_| 1.0, 8);
    let slowed = synthetic::sides(&mut made.store, ["A", "B"], |_| 1.1, 8);
    let of = |run| Comparison::of_sides(&made.store, run, ["A", "B"], Criteria::default()).unwrap();
    let proof = Proof::of(&of(same), &of(slowed), 0.1);
    insta::assert_snapshot!("proof", unstyled(&proof.terminal(Some(100))));
    assert_eq!(proof.found, proof.tried, "{proof:?}");
}
