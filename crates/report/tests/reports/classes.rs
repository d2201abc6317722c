//! What classes of tenants waited, in every form of a report.

use crate::synthetic;
use crate::synthetic::{Behaviour, Made, Noise};
use tollway_core::{ActorRecord, Crossing, Recorder, TollKey};
use tollway_report::RunReport;
use tollway_store::{PointSpec, PointState};

/// One of that class, whose operations took these ticks, twice these, and so on.
fn actor(class: &str, operations: u64, ticks: u64) -> ActorRecord {
    let mut recorder = Recorder::new();
    (1..=operations).for_each(|i| recorder.sample(i * ticks));
    ActorRecord { class: Some(class.into()), spread: Some(recorder.spread()), ..ActorRecord::default() }
}

#[test]
fn every_form_has_the_tails_of_classes_and_leaves_no_class_out() {
    let mut made = Made::new();
    let run = made.store.begin_run(&synthetic::spec("classes", &[])).unwrap();
    let spec =
        PointSpec { toll: None, title: "cipher".into(), ..synthetic::toll(TollKey::of(Crossing::Futex)) };
    let point = made.store.add_points(run, &[spec]).unwrap()[0];
    let mut noise = Noise::seeded(5);
    for block in 0..3 {
        let mut trial = Behaviour::calm(1000.0).trial(&mut noise, 1.0, block, block);
        // The last is served in one block only.
        let last = if block == 0 { 20 } else { 0 };
        // Two are of one class.
        trial.actors = vec![
            actor("urgent", 1000, 21),
            actor("other", 1000, 2100),
            actor("other", 1000, 2100),
            actor("<i>", last, 21),
        ];
        made.store.record_trial(point, &trial).unwrap();
    }
    made.store.set_point_state(point, &PointState::Done).unwrap();
    let report = RunReport::from_store(&made.store, run).unwrap();
    let [urgent, other, starved] = &report.document().points[0].classes[..] else {
        panic!("{:?}", report.document().points[0].classes)
    };
    // 990 times 21 ticks of 2.1 GHz.
    assert!((urgent.p99.unwrap().ns.estimate - 9900.0).abs() < 20.0, "{urgent:?}");
    assert!((other.mean.unwrap().ns.estimate - 500_500.0).abs() < 1000.0, "{other:?}");
    assert_eq!((urgent.timed, other.timed, starved.timed), (3000, 6000, 20));
    assert_eq!((starved.mean, starved.p99), (None, None));
    for form in [report.terminal(None), report.terminal(Some(100)), report.markdown(), report.html().unwrap()]
    {
        for text in ["How long each class took", "urgent (3000 timed)", "9.90", "990", "(20 timed)"] {
            assert!(form.contains(text), "{text}: {form}");
        }
    }
    assert!(!report.html().unwrap().contains("<i>"));
}
