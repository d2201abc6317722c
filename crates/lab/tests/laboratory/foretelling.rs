//! Predictions that come with a request: in the store before the first trial of their points, and of no other.

use std::sync::atomic::AtomicBool;

use tollway_core::{Forecast, Params, Quoted};
use tollway_lab::point::Selection;
use tollway_lab::progress::Unwatched;
use tollway_lab::{Foretold, Request};
use tollway_store::{PointState, Store};

use crate::unruly::{lab, preset, registry};

#[test]
fn what_is_foretold_is_frozen_before_the_first_trial() {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("t.db")).unwrap();
    let path = registry.paths[0].name;
    let foretold = |variant: &str, ticks: f64| Foretold {
        path: path.into(),
        variant: variant.into(),
        params: Params::new(),
        forecast: Forecast {
            of: Quoted::Work,
            ticks,
            lo: ticks * 0.9,
            hi: ticks * 1.1,
            model: "by hand".into(),
            from: Vec::new(),
            p99: None,
            counts: Default::default(),
            sharing: None,
        },
    };
    let request = Request {
        title: "t".into(),
        selection: Selection { presets: vec![preset(&["good", "other-good"], 3, 2)], only: Vec::new() },
        sides: Vec::new(),
        seed: 1,
        together: true,
        without_tolls: true,
        // Of one that is not tried nothing is kept.
        foretold: vec![foretold("good", 50.0), foretold("exit", 7.0)],
        narrow: None,
        within: None,
    };
    let ended = lab(&registry, &calm).run(&mut store, &request, &mut Unwatched).unwrap();
    let (points, trials) = (store.points(ended.run).unwrap(), store.trials(ended.run).unwrap());
    assert!(points.iter().all(|point| point.state == PointState::Done));
    let of = |variant: &str| points.iter().find(|point| point.spec.variant == variant).unwrap().id;
    let frozen = store.prediction(of("good")).unwrap().unwrap();
    assert_eq!(frozen.forecast, request.foretold[0].forecast);
    let first = trials.iter().map(|trial| trial.started).min().unwrap();
    assert!(frozen.made_at <= first);
    assert!(store.figure(of("good")).unwrap().unwrap().grade.is_some());
    assert_eq!(store.prediction(of("other-good")).unwrap(), None);
}
