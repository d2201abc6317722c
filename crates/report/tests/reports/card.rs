//! The score card, in every form of a report.

use crate::synthetic;
use crate::synthetic::{Behaviour, HZ, Made, Noise};
use tollway_core::{Crossing, Missing, TollKey};
use tollway_report::RunReport;
use tollway_store::{PointSpec, PointState};

/// A run with a row that is a rate, one that is a time, one that failed, one that was skipped, and a toll.
fn report() -> RunReport {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("suite", &[])).unwrap();
    let timed = PointSpec {
        variant: "primes".into(),
        title: "primes below <1000000>".into(),
        yields: Vec::new(),
        ..synthetic::rated("own")
    };
    let specs = [
        synthetic::rated("own"),
        timed,
        PointSpec { title: "write, 4 KiB".into(), ..synthetic::rated("own") },
        PointSpec { title: "write, 1 MiB".into(), ..synthetic::rated("own") },
        synthetic::toll(TollKey::of(Crossing::Futex)),
    ];
    let ids = made.store.add_points(run, &specs).unwrap();
    let mut noise = Noise::seeded(7);
    for block in 0..6 {
        for (at, id) in [ids[0], ids[1], ids[4]].into_iter().enumerate() {
            let trial = Behaviour::calm(21_000.0).trial(&mut noise, 1.0, block, 3 * block + at as u32);
            made.store.record_trial(id, &synthetic::one_after_the_other(trial)).unwrap();
        }
    }
    made.store.set_point_state(ids[2], &PointState::Failed("the disk is full".into())).unwrap();
    let missing = Missing::new("io_uring", "this process may not", "allow it");
    made.store.set_point_state(ids[3], &PointState::Skipped(missing)).unwrap();
    RunReport::from_store(&made.store, run).unwrap()
}

/// What is made of a run takes no older one's place where it has come to nothing: it failed, or was interrupted. Where all was skipped,
/// that is what there is to tell.
#[test]
fn a_run_whose_points_all_failed_has_come_to_nothing() {
    let missing = Missing::new("io_uring", "this process may not", "allow it");
    let (failed, skipped) = (PointState::Failed("the disk is full".into()), PointState::Skipped(missing));
    for (states, comes_to_nothing) in
        [([&failed, &failed], true), ([&failed, &skipped], true), ([&skipped, &skipped], false)]
    {
        let mut made = Made::new();
        let run = made.store.begin_run(&synthetic::spec("suite", &[])).unwrap();
        let specs = [synthetic::rated("own"), synthetic::rated("other")];
        for (id, state) in made.store.add_points(run, &specs).unwrap().into_iter().zip(states) {
            made.store.set_point_state(id, state).unwrap();
        }
        let report = RunReport::from_store(&made.store, run).unwrap();
        assert_eq!(report.has_come_to_nothing(), comes_to_nothing, "{states:?}");
    }
    assert!(!report().has_come_to_nothing());
}

#[test]
fn a_rate_is_what_was_done_in_a_second() {
    let report = report();
    let [accesses, bytes] = &report.document().points[0].rates[..] else { panic!() };
    assert_eq!((accesses.unit.as_str(), bytes.unit.as_str()), ("IO/s", "B/s"));
    assert_eq!(accesses.blocks.len(), 6);
    let whole = HZ / report.document().points[0].mean.unwrap().ticks.estimate;
    assert!((accesses.per_second.estimate / whole - 1.0).abs() < 0.02, "{accesses:?}, {whole}");
    assert!((bytes.per_second.estimate / accesses.per_second.estimate - 4096.0).abs() < 1e-6);
    assert!(accesses.per_second.lo < accesses.per_second.estimate);
}

#[test]
fn every_form_has_every_row_and_says_why_one_has_no_figure() {
    let report = report();
    for form in [report.terminal(None), report.terminal(Some(90)), report.markdown(), report.html().unwrap()]
    {
        for text in [
            "What this machine gives",
            "k IO",
            "primes below",
            "the disk is full",
            "write, 1 MiB",
            "this process may not",
        ] {
            assert!(form.contains(text), "{text}: {form}");
        }
        assert_eq!(form.matches("primes below").count(), 1, "in the card alone: {form}");
        assert!(form.contains("futex"), "the price list goes on: {form}");
    }
    assert!(report.terminal(None).contains("MB/s"));
    assert!(!report.html().unwrap().contains("<1000000>"));
}

/// One row had "± 237 %" in one place and "± 100 %" in another: how far its picture reached.
#[test]
fn how_far_a_picture_reaches_is_said_in_figures_and_not_as_an_interval() {
    let page = report().html().unwrap();
    let reaches: Vec<&str> =
        page.split("class=\"reach\">").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert!(reaches.len() >= 2, "{reaches:?}");
    for reach in reaches {
        assert!(!reach.contains('±') && reach.contains(" … "), "{reach}");
    }
}
