//! Actors that misbehave: each gets its point the right state, in bounded time, and harms no other point.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tollway_core::{Error, Missing};
use tollway_lab::point::Selection;
use tollway_lab::progress::Progress;
use tollway_lab::{Lab, Request};
use tollway_store::{PointState, RunState, Store};

use crate::unruly::{lab, preset, registry};

/// Counts what a progress bar would show.
#[derive(Default)]
struct Counted {
    planned: u64,
    played: u64,
    fewer: u64,
    failed: Vec<String>,
}

impl Progress for Counted {
    fn planned(&mut self, trials: u64, _: f64) {
        self.planned += trials;
    }
    fn played(&mut self) {
        self.played += 1;
    }
    fn skipped(&mut self, _: &str, _: &Missing, trials: u64) {
        self.fewer += trials;
    }
    fn failed(&mut self, _: &str, error: &Error, trials: u64) {
        self.fewer += trials;
        self.failed.push(error.to_string());
    }
}

const RUNS: u32 = 2;
const REPEATS: u32 = 3;

/// How long actors are waited for where one of them hangs: the others have to answer within it.
const HANGS: Duration = Duration::from_secs(10);

/// Runs that variant between two good ones; returns its state and how many trials it has.
fn beside_good_ones(variant: &str) -> (PointState, u32) {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("t.db")).unwrap();
    let selection = Selection {
        presets: vec![preset(&["good", variant, "other-good"], RUNS, REPEATS)],
        only: Vec::new(),
    };
    let request = Request {
        title: variant.into(),
        selection,
        sides: Vec::new(),
        seed: 3,
        together: false,
        without_tolls: false,
        foretold: Vec::new(),
        narrow: None,
        within: None,
    };
    let mut counted = Counted::default();
    // Who hangs is given up after twice as long, for the second chance; a run with one who hangs and is not
    // given up never ends.
    let hangs = variant.contains("hang");
    let grace = if hangs { HANGS } else { lab(&registry, &calm).grace };
    let lab = Lab { grace, ..lab(&registry, &calm) };
    let ended = lab.run(&mut store, &request, &mut counted).unwrap();
    assert_eq!(ended.state, RunState::Complete);
    assert_eq!(counted.planned, counted.played + counted.fewer, "the bar does not end at its end");
    let points = store.points(ended.run).unwrap();
    for good in [&points[0], &points[2]] {
        assert_eq!((&good.state, good.trials), (&PointState::Done, RUNS * REPEATS), "{}", good.spec.variant);
        assert!(store.figure(good.id).unwrap().is_some());
    }
    assert!(store.figure(points[1].id).unwrap().is_none(), "a point that failed has no figure");
    assert_eq!(ended.failed + ended.skipped, 1);
    (points[1].state.clone(), points[1].trials)
}

fn fails_at_once(variant: &str, why: &str) {
    let (state, trials) = beside_good_ones(variant);
    assert_eq!(trials, 0);
    match state {
        PointState::Failed(reason) => assert!(reason.contains(why), "{reason}"),
        other => panic!("{variant}: {other:?}"),
    }
}

#[test]
fn a_wrong_result_fails() {
    fails_at_once("wrong-result", "verification failed: 2 + 2 is 5");
    fails_at_once("nothing-recorded", "nothing was recorded");
    fails_at_once("server-wrong", "verification failed: 2 + 2 is 5");
}

#[test]
fn a_result_that_is_wrong_later_leaves_no_figure() {
    let (state, trials) = beside_good_ones("wrong-later");
    assert!(matches!(&state, PointState::Failed(why) if why.contains("it was right before")), "{state:?}");
    assert_eq!(trials, 2, "the trials before the wrong one are kept");
}

#[test]
fn a_panic_fails_with_its_message() {
    fails_at_once("panic-in-ready", "panicked: not ready");
    fails_at_once("panic-in-run", "panicked: not running");
    fails_at_once("panic-in-verify", "panicked: not verified");
}

#[test]
fn who_hangs_getting_ready_is_ended() {
    fails_at_once("hang-in-ready", "did not answer in time");
}

#[test]
fn who_hangs_running_is_ended() {
    fails_at_once("hang-in-run", "did not answer in time");
}

#[test]
fn who_hangs_verifying_is_ended() {
    fails_at_once("hang-in-verify", "did not answer in time");
}

#[test]
fn what_ends_its_process_fails() {
    fails_at_once("exit", "it ended (exit status: 7)");
}

#[test]
fn an_error_while_getting_ready_fails_and_something_missing_skips() {
    fails_at_once("error-in-ready", "getting ready: no");
    fails_at_once("not-made", "making it: no");
    let (state, trials) = beside_good_ones("missing-in-ready");
    assert_eq!(trials, 0);
    assert_eq!(state, PointState::Skipped(Missing::new("a thing", "it is not there", "get one")));
}

#[test]
fn the_failure_is_told_and_not_what_hangs_because_of_it() {
    fails_at_once("server-hangs-when-caller-fails", "panicked: not running");
}

#[test]
fn an_actor_that_has_died_explains_others_that_failed_before() {
    fails_at_once("server-dies-when-caller-fails", "it ended (exit status: 7)");
}
