//! A run that may take so long: what its pilots took says how much of it is played.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use tollway_core::{Case, OneOrMany, Preset, PresetHead, Value};
use tollway_lab::Request;
use tollway_lab::point::Selection;
use tollway_lab::progress::Progress;
use tollway_lab::side::Side;
use tollway_store::{PointState, RunState, Store};

use crate::unruly::{lab, preset, registry};

/// What was told.
#[derive(Default)]
struct Told {
    planned: Option<u64>,
    reckoned: Vec<(u64, f64, f64, Option<f64>)>,
    cut: Vec<(Option<String>, (u32, u32), u64)>,
    more: u64,
}

impl Progress for Told {
    fn planned(&mut self, trials: u64, _: f64) {
        self.planned = Some(trials);
    }

    fn reckoned(&mut self, trials: u64, seconds: f64, all: f64, asked: Option<f64>) {
        self.reckoned.push((trials, seconds, all, asked));
    }

    fn cut(&mut self, path: Option<&str>, _: f64, blocks: (u32, u32), trials: u64) {
        self.cut.push((path.map(Into::into), blocks, trials));
    }

    fn more(&mut self, trials: u64) {
        self.more += trials;
    }
}

fn request(runs: u32, within: Option<f64>) -> Request {
    Request {
        title: "t".into(),
        selection: Selection { presets: vec![preset(&["good", "other-good"], runs, 2)], only: Vec::new() },
        sides: Vec::new(),
        seed: 1,
        together: true,
        without_tolls: true,
        foretold: Vec::new(),
        narrow: None,
        within,
    }
}

/// Trials, what was told, and the blocks of the plan that the store keeps.
fn played(request: &Request) -> (usize, Told, u64) {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("t.db")).unwrap();
    let mut told = Told::default();
    let ended = lab(&registry, &calm).run(&mut store, request, &mut told).unwrap();
    assert_eq!(ended.state, RunState::Complete);
    assert!(store.points(ended.run).unwrap().iter().all(|point| point.state == PointState::Done));
    let plan = store.run(ended.run).unwrap().spec.plan;
    let runs = plan["request"]["selection"]["presets"][0]["trial"]["runs"].as_u64().unwrap();
    let error = store.replan(ended.run, &serde_json::Value::Null).unwrap_err().to_string();
    assert!(error.contains("has trials"), "{error}");
    (store.trials(ended.run).unwrap().len(), told, runs)
}

#[test]
fn what_the_pilots_took_cuts_a_run_and_its_plan_to_the_least() {
    // Nobody is done in a thousandth of a second: six blocks are the least.
    let (trials, told, runs) = played(&request(9, Some(0.001)));
    assert_eq!((told.planned, trials, runs), (Some(2 * (9 * 2 + 1)), 2 * 6 * 2, 6));
    let [(left, seconds, all, asked)] = told.reckoned[..] else { panic!("{:?}", told.reckoned) };
    assert_eq!((left, asked), (2 * 6 * 2, Some(0.001)));
    assert!(0.0 < seconds && seconds < all && all > 0.001, "{seconds} of {all}");
}

#[test]
fn who_has_time_has_all_that_was_planned() {
    for within in [None, Some(1e6)] {
        let (trials, told, runs) = played(&request(7, within));
        assert_eq!((trials, runs, told.reckoned.len()), (2 * 7 * 2, 7, 1));
        assert_eq!(told.reckoned[0].0, 2 * 7 * 2);
    }
}

#[test]
fn what_is_known_exactly_enough_has_no_more_trials() {
    // Within a factor of e^100 everything is known after the fewest blocks, within less than nothing never.
    for (narrow, blocks) in [(100.0, 6), (0.0, 9)] {
        for sides in [Vec::new(), vec![Side::as_it_is("A"), Side::as_it_is("B")]] {
            let times = sides.len().max(1);
            let (trials, ..) = played(&Request { narrow: Some(narrow), sides, ..request(9, None) });
            assert_eq!(trials, 2 * blocks * 2 * times, "{narrow}, {times} sides");
        }
    }
}

#[test]
fn what_is_to_be_known_exactly_ends_with_the_time_it_has_after_the_fewest_blocks() {
    // Never known exactly enough: the time decides, and what was planned only where there is enough of it.
    for (within, blocks, runs) in [(0.001, 6, 9), (1e6, 9, 9)] {
        let (trials, told, kept) = played(&Request { narrow: Some(0.0), ..request(9, Some(within)) });
        assert_eq!((trials, kept), (2 * blocks * 2, runs), "{within} s");
        assert_eq!(told.reckoned[0].0, 2 * blocks as u64 * 2);
    }
}

/// A preset of a variant that may take so many seconds.
fn budgeted(variant: &str, runs: u32, repeats: u32, budget_s: f64) -> Preset {
    let preset = preset(&[variant], runs, repeats);
    let head = PresetHead { budget_s: Some(budget_s), ..preset.preset };
    Preset { preset: head, ..preset }
}

/// How many blocks each point has, and what was told.
fn blocks(presets: Vec<Preset>, within: f64) -> (Vec<usize>, Told) {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("t.db")).unwrap();
    let selection = Selection { presets, only: Vec::new() };
    let request = Request { selection, ..request(1, Some(within)) };
    let mut told = Told::default();
    let ended = lab(&registry, &calm).run(&mut store, &request, &mut told).unwrap();
    assert_eq!(ended.state, RunState::Complete);
    let trials = store.trials(ended.run).unwrap();
    let of = |point: &tollway_store::Point| {
        assert_eq!(point.state, PointState::Done);
        let blocks: BTreeSet<u32> = trials.iter().filter(|t| t.point == point.id).map(|t| t.block).collect();
        blocks.len()
    };
    (store.points(ended.run).unwrap().iter().map(of).collect(), told)
}

#[test]
fn a_preset_that_runs_over_its_share_is_cut_and_others_are_not() {
    // By its pilot it would take some milliseconds a trial, or 100 where others have the processors. From the third actor in a process on each takes 480, six of
    // them in a block: 23 s.
    let presets = vec![budgeted("good", 9, 2, 20.0), budgeted("slow-later", 8, 8, 20.0)];
    let (blocks, told) = blocks(presets, 40.0);
    assert_eq!(blocks[0], 9);
    assert!((6..8).contains(&blocks[1]), "{blocks:?}");
    let [(path, (played, planned), trials)] = &told.cut[..] else { panic!("{:?}", told.cut) };
    assert_eq!((path.as_deref(), *played as usize), (Some("unruly"), blocks[1]));
    assert_eq!(*trials, u64::from((planned - played) * 8));
}

#[test]
fn headlines_have_the_time_that_is_left_and_no_more() {
    let named = Case([("variant".to_string(), OneOrMany::One(Value::from("good")))].into());
    let with = |headline: Case| Preset { headline: vec![headline], ..preset(&["good", "other-good"], 3, 2) };
    // Known after the fewest blocks that can tell, or else after some more.
    let (of_plenty, told) = blocks(vec![with(named.clone())], 600.0);
    assert!(of_plenty[0] >= 6 && of_plenty[1] == 3, "{of_plenty:?}");
    assert_eq!(told.more, 2 * (of_plenty[0] - 3) as u64);
    let (of_nothing, told) = blocks(vec![with(named)], 0.001);
    assert_eq!((of_nothing, told.more), (vec![3, 3], 0));

    let nobody = Case([("variant".to_string(), OneOrMany::One(Value::from("exit")))].into());
    let selection = Selection { presets: vec![with(nobody)], only: Vec::new() };
    let error = Request { selection, ..request(1, None) }.points(&registry()).unwrap_err().to_string();
    assert!(error.contains("headline 1") && error.contains("no such point"), "{error}");
}

#[test]
fn an_axis_of_a_side_that_no_point_has_is_refused() {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("t.db")).unwrap();
    let sides = vec![Side::as_it_is("A"), Side::parse("B", "self,axis:disk=luks").unwrap()];
    let request = Request { sides, ..request(6, None) };
    let error =
        lab(&registry, &calm).run(&mut store, &request, &mut Told::default()).unwrap_err().to_string();
    assert!(error.contains("side B") && error.contains("`disk`"), "{error}");
    assert!(store.runs().unwrap().is_empty(), "it is told before a run begins");
}
