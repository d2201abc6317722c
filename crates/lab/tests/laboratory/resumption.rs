//! A run that is interrupted anywhere goes on to exactly what was planned, in the order of its seed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use tollway_lab::point::Selection;
use tollway_lab::progress::{Progress, Unwatched};
use tollway_lab::side::Side;
use tollway_lab::{Lab, LabError, Request};
use tollway_store::{PointState, RunId, RunState, Store};

use crate::unruly::{lab, preset, registry};

/// Interrupts after so many trials, pilots included.
struct Impatient<'a> {
    flag: &'a AtomicBool,
    left: u64,
    planned: u64,
    played: u64,
}

impl<'a> Impatient<'a> {
    fn after(flag: &'a AtomicBool, trials: u64) -> Self {
        flag.store(false, Ordering::Relaxed);
        Impatient { flag, left: trials, planned: 0, played: 0 }
    }
}

impl Progress for Impatient<'_> {
    fn planned(&mut self, trials: u64, _: f64) {
        self.planned = trials;
    }
    fn played(&mut self) {
        self.played += 1;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}

fn request(seed: u64, sides: Vec<Side>) -> Request {
    let selection = Selection { presets: vec![preset(&["good", "other-good"], 3, 2)], only: Vec::new() };
    Request {
        title: "t".into(),
        selection,
        sides,
        seed,
        together: false,
        without_tolls: false,
        foretold: Vec::new(),
        narrow: None,
        within: None,
    }
}

fn fresh() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("t.db")).unwrap();
    (folder, store)
}

/// The points of a run in the order in which they were tried: side and variant.
fn order(store: &Store, run: RunId) -> Vec<(Option<String>, String)> {
    let points = store.points(run).unwrap();
    let trials = store.trials(run).unwrap();
    assert!(trials.iter().enumerate().all(|(at, t)| t.ordinal as usize == at), "a hole, or a trial twice");
    trials
        .iter()
        .map(|t| points.iter().find(|p| p.id == t.point).unwrap())
        .map(|p| (p.spec.side.clone(), p.spec.variant.clone()))
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let lab = lab(&registry, &calm);
    let (_folder, mut store) = fresh();
    let mut orders: Vec<_> = [5, 5, 6, 7, 8, 9]
        .map(|seed| {
            let ended = lab.run(&mut store, &request(seed, Vec::new()), &mut Unwatched).unwrap();
            order(&store, ended.run)
        })
        .into();
    assert_eq!(orders[0], orders[1]);
    assert_eq!(orders[0].len(), 12);
    orders.dedup();
    assert!(orders.len() > 1, "no seed changes the order");
}

fn resumed_everywhere(sides: &[Side]) {
    let (registry, flag) = (registry(), AtomicBool::new(false));
    let lab = lab(&registry, &flag);
    let (_folder, mut store) = fresh();
    let whole = lab.run(&mut store, &request(5, sides.to_vec()), &mut Unwatched).unwrap();
    let in_one_go = order(&store, whole.run);
    let sides_of_all = sides.len().max(1) as u64;
    let planted = sides.iter().any(|s| s.planted > 0.0);

    for step in [3, 4, 7] {
        let mut told = Impatient::after(&flag, step);
        let mut ended = lab.run(&mut store, &request(5, sides.to_vec()), &mut told).unwrap();
        for goes in 0.. {
            assert!(goes < 40, "it does not come to an end");
            if ended.state == RunState::Complete {
                break;
            }
            assert_eq!(told.played, step, "it did not stop when it was told to");
            let before = order(&store, ended.run);
            assert_eq!(before[..], in_one_go[..before.len()]);
            let points = store.points(ended.run).unwrap();
            let without_batch = points.iter().filter(|p| p.batch.is_none()).count() as u64;
            told = Impatient::after(&flag, step);
            ended = lab.resume(&mut store, &mut told).unwrap();
            // A planted delay is measured anew, by a pilot of both points.
            let pilots = if planted { 2 } else { without_batch / sides_of_all };
            assert_eq!(told.planned, 12 * sides_of_all - before.len() as u64 + pilots);
        }
        assert_eq!(order(&store, ended.run), in_one_go, "stopped after every {step} trials");
        for point in store.points(ended.run).unwrap() {
            let batches: BTreeSet<u32> = store
                .trials(ended.run)
                .unwrap()
                .iter()
                .filter(|t| t.point == point.id)
                .map(|t| t.batch)
                .collect();
            assert_eq!(batches, BTreeSet::from([point.batch.unwrap()]), "the batch was not frozen");
        }
    }
}

#[test]
fn it_goes_on_wherever_it_was_stopped() {
    resumed_everywhere(&[]);
}

#[test]
fn two_sides_go_on_wherever_they_were_stopped() {
    resumed_everywhere(&[Side::as_it_is("A"), Side::as_it_is("B")]);
}

/// A variant that times itself and plants nothing was compared with itself, and the proof found "nothing".
#[test]
fn a_row_that_plants_nothing_and_a_share_too_small_to_plant_are_refused() {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let lab = lab(&registry, &calm);
    let slower = |planted: f64| vec![Side::as_it_is("A"), Side { planted, ..Side::as_it_is("B") }];
    let run = |variant: &str, planted: f64| {
        let (_folder, mut store) = fresh();
        let selection = Selection { presets: vec![preset(&[variant], 2, 2)], only: Vec::new() };
        let request = Request { selection, ..request(5, slower(planted)) };
        let ended = lab.run(&mut store, &request, &mut Unwatched).unwrap();
        (ended, store.points(ended.run).unwrap()[1].state.clone())
    };
    let (ended, state) = run("good", 0.5);
    assert_eq!((ended.failed, state), (0, PointState::Done));
    for (variant, planted, says) in
        [("plants-nothing", 0.5, "does not take"), ("good", 1e-8, "plant:0.000001%")]
    {
        let (ended, state) = run(variant, planted);
        assert_eq!((ended.state, ended.failed), (RunState::Complete, 1), "{state:?}");
        assert!(matches!(&state, PointState::Failed(why) if why.contains(says)), "{state:?}");
    }
}

#[test]
fn a_planted_slowdown_is_still_planted_after_resuming() {
    let slower = Side { planted: 0.5, ..Side::as_it_is("B") };
    resumed_everywhere(&[Side::as_it_is("A"), slower]);
}

/// A store as a kill leaves it: a running run whose process is gone.
fn left_running(lab: &Lab<'_>, store: &mut Store, request: &Request, flag: &AtomicBool) -> RunId {
    let mut told = Impatient::after(flag, 5);
    let ended = lab.run(store, request, &mut told).unwrap();
    flag.store(false, Ordering::Relaxed);
    store.reopen_run(ended.run).unwrap();
    ended.run
}

#[test]
fn a_run_whose_process_is_gone_is_marked_when_the_next_begins() {
    let (registry, flag) = (registry(), AtomicBool::new(false));
    let lab = lab(&registry, &flag);
    let (_folder, mut store) = fresh();
    let older = left_running(&lab, &mut store, &request(1, Vec::new()), &flag);
    let newer = left_running(&lab, &mut store, &request(2, Vec::new()), &flag);
    let ended = lab.run(&mut store, &request(3, Vec::new()), &mut Unwatched).unwrap();
    for run in [older, newer] {
        assert_eq!(store.run(run).unwrap().state, RunState::Interrupted, "run {run}");
    }
    assert_eq!(ended.state, RunState::Complete);
    // Going on takes up the newest first, then the one before.
    assert_eq!(lab.resume(&mut store, &mut Unwatched).unwrap().run, newer);
    assert_eq!(lab.resume(&mut store, &mut Unwatched).unwrap().run, older);
    assert!(matches!(lab.resume(&mut store, &mut Unwatched), Err(LabError::NoResume { .. })));
}

#[test]
fn a_run_that_was_killed_before_it_had_points_gets_them() {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let lab = lab(&registry, &calm);
    let (_folder, mut store) = fresh();
    let whole = lab.run(&mut store, &request(5, Vec::new()), &mut Unwatched).unwrap();
    let spec = store.run(whole.run).unwrap().spec;
    let bare = store.begin_run(&spec).unwrap();
    let ended = lab.resume(&mut store, &mut Unwatched).unwrap();
    assert_eq!((ended.run, ended.state), (bare, RunState::Complete));
    assert_eq!(order(&store, bare), order(&store, whole.run));
}

#[test]
fn another_program_or_machine_does_not_go_on() {
    let (registry, flag) = (registry(), AtomicBool::new(false));
    let lab_here = lab(&registry, &flag);
    let (_folder, mut store) = fresh();
    left_running(&lab_here, &mut store, &request(1, Vec::new()), &flag);
    let elsewhere = Lab { machine: "there".into(), ..lab(&registry, &flag) };
    let refused = elsewhere.resume(&mut store, &mut Unwatched).unwrap_err().to_string();
    assert!(refused.contains("another machine"), "{refused}");
    let mut fewer = crate::unruly::registry();
    fewer.paths[0].variants.retain(|v| v.name() != "other-good");
    let changed = lab(&fewer, &flag);
    assert!(changed.resume(&mut store, &mut Unwatched).is_err());
    assert_eq!(lab_here.resume(&mut store, &mut Unwatched).unwrap().state, RunState::Complete);
}

#[test]
fn a_store_does_not_choose_which_files_are_written() {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let lab = lab(&registry, &calm);
    let (folder, mut store) = fresh();
    let whole = lab.run(&mut store, &request(5, Vec::new()), &mut Unwatched).unwrap();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "untouched").unwrap();
    let mut spec = store.run(whole.run).unwrap().spec;
    spec.plan["before"] = serde_json::json!([{ "file": victim, "value": "written" }]);
    let killed = store.begin_run(&spec).unwrap();
    lab.run(&mut store, &request(6, Vec::new()), &mut Unwatched).unwrap();
    assert_eq!(store.run(killed).unwrap().state, RunState::Interrupted);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
}

#[test]
fn a_run_of_another_machine_is_left_alone() {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let lab = lab(&registry, &calm);
    let (_folder, mut store) = fresh();
    let whole = lab.run(&mut store, &request(5, Vec::new()), &mut Unwatched).unwrap();
    let mut spec = store.run(whole.run).unwrap().spec;
    spec.machine = "there".into();
    let elsewhere = store.begin_run(&spec).unwrap();
    lab.run(&mut store, &request(6, Vec::new()), &mut Unwatched).unwrap();
    assert_eq!(store.run(elsewhere).unwrap().state, RunState::Running);
}
