//! What is remarkable: each rule speaks when the intervals carry it, and keeps silent when they do not.

use crate::synthetic;
use crate::synthetic::{Behaviour, Made};
use tollway_core::{Crossing, Placement, TollKey};
use tollway_report::RunReport;

/// The remarks of a run with these tolls, by rule.
fn remarks(tolls: &[(TollKey, Behaviour)]) -> Vec<(String, String)> {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("remarks", &[])).unwrap();
    let specs: Vec<_> = tolls.iter().map(|(key, _)| synthetic::toll(key.clone())).collect();
    let ids = made.store.add_points(run, &specs).unwrap();
    let points: Vec<_> = ids.into_iter().zip(tolls).map(|(id, (_, behaviour))| (id, *behaviour)).collect();
    synthetic::measure(&mut made.store, &points, 5, 1, 2);
    let report = RunReport::from_store(&made.store, run).unwrap();
    report.document().remarks.iter().map(|r| (r.rule.clone(), r.text.clone())).collect()
}

fn said<'a>(remarks: &'a [(String, String)], rule: &str) -> Option<&'a str> {
    remarks.iter().find(|(r, _)| r == rule).map(|(_, text)| text.as_str())
}

fn of(crossing: Crossing) -> TollKey {
    TollKey::of(crossing)
}

fn calm(ticks: f64) -> Behaviour {
    Behaviour { noisy: 0.0, ..Behaviour::calm(ticks) }
}

#[test]
fn without_figures_nothing_is_remarkable() {
    assert_eq!(remarks(&[]), []);
    assert_eq!(remarks(&[(of(Crossing::Getppid), calm(218.0))]), []);
}

#[test]
fn what_the_intervals_do_not_carry_is_not_said() {
    let wide = Behaviour { between: 0.5, ..calm(5000.0) };
    let both = |same, across| {
        let at = |placement| of(Crossing::Futex).placement(placement);
        remarks(&[(at(Placement::Same), same), (at(Placement::Across), across)])
    };
    assert_eq!(said(&both(wide, wide), "wake-across-cores"), None);
    let dearer = both(calm(5000.0), calm(20_000.0));
    assert!(said(&dearer, "wake-across-cores").unwrap().starts_with("Waking another core costs 4"));
    let cheaper = both(calm(20_000.0), calm(5000.0));
    assert!(said(&cheaper, "wake-across-cores").unwrap().contains("is cheaper here"));
}

#[test]
fn two_that_cannot_be_told_apart_share_the_first_place() {
    let told = remarks(&[
        (of(Crossing::Getppid), calm(218.0)),
        (of(Crossing::ExitPort), calm(30_000.0)),
        (of(Crossing::ExitMmio), calm(30_100.0)),
    ]);
    assert!(said(&told, "dearest").unwrap().contains("not separable"), "{told:?}");
    assert!(said(&told, "vm-exit").unwrap().contains("system calls ["), "{told:?}");
}

#[test]
fn a_clock_that_falls_back_to_the_kernel_comes_with_a_remedy() {
    let told = remarks(&[(of(Crossing::ClockVdso), calm(290.0)), (of(Crossing::ClockRaw), calm(287.0))]);
    assert!(said(&told, "clock-without-kernel").unwrap().contains("→ look at the clock source"), "{told:?}");
}

#[test]
fn io_uring_that_never_wins_is_told_so() {
    let nop = |depth| of(Crossing::IoUringNop).depth(depth);
    let told = |deep| {
        remarks(&[
            (of(Crossing::Getppid), calm(218.0)),
            (nop(1), calm(900.0)),
            (nop(8), calm(400.0)),
            (nop(64), calm(deep)),
        ])
    };
    assert!(said(&told(300.0), "io-uring-break-even").unwrap().contains("never gets cheaper"));
    assert!(said(&told(100.0), "io-uring-break-even").unwrap().contains("from 64 at once on"));
    assert_eq!(said(&told(218.0), "io-uring-break-even"), None);
}

#[test]
fn noise_comes_with_its_cause_and_a_remedy() {
    let loud = Behaviour { noisy: 1.0, ..Behaviour::calm(5000.0) };
    let told = remarks(&[(of(Crossing::Pipe), loud)]);
    let noise = said(&told, "noise").unwrap();
    assert!(noise.starts_with("None of 5 trials was quiet") && noise.contains('→'), "{noise}");
}

#[test]
fn eight_are_enough_and_trust_is_among_them() {
    let mut made = Made::new();
    let run = synthetic::price_list(&mut made.store);
    let report = RunReport::from_store(&made.store, run).unwrap();
    let rules: Vec<&str> = report.document().remarks.iter().map(|r| r.rule.as_str()).collect();
    assert_eq!(rules.len(), 8);
    assert_eq!(rules.last(), Some(&"predictions"));
}
