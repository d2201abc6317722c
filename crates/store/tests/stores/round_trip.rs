//! What is written reads back, and what is worked out of it is right.

use crate::sample::*;
use jiff::ToSpan;
use tollway_core::{Crossing, Forecast, TollKey, TollSource};
use tollway_store::{Interval, Outcome, PointState, RunId, RunRecord, RunState, Store, StoreError, grade};

fn interval(lo: f64, estimate: f64, hi: f64) -> Interval {
    Interval { estimate, lo, hi, confidence: 0.95 }
}

fn new_store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("tollway.db")).unwrap();
    (dir, store)
}

#[test]
fn everything_reads_back() {
    let (_dir, mut store) = new_store();
    let (run, points) = one_of_everything(&mut store);
    let stored = store.run(run).unwrap();
    assert_eq!(stored.spec, run_spec(0));
    assert_eq!((stored.state, stored.ended, stored.pid), (RunState::Running, None, std::process::id()));
    assert!(stored.guests.is_empty());
    store.note_guests(run, &guests()).unwrap();
    store.end_run(run, RunState::Complete, at(60)).unwrap();
    assert_eq!(store.run(run).unwrap().guests, guests());
    assert_eq!(store.run(run).unwrap().ended, Some(at(60)));

    let read = store.points(run).unwrap();
    assert_eq!(read.iter().map(|p| p.id).collect::<Vec<_>>(), points);
    assert_eq!(read[0].spec, point_spec(Some(pipe())));
    assert_eq!((read[0].batch, read[0].trials, &read[0].state), (Some(16), 8, &PointState::Done));
    assert_eq!(read[1].state, PointState::Skipped(missing()));
    assert_eq!(read[2].state, PointState::Failed("verification failed: 3 of 4 bytes".into()));
    assert_eq!(store.point(points[1]).unwrap(), read[1]);

    let trials = store.trials(run).unwrap();
    assert_eq!(trials.len(), 8);
    let (first, given) = (&trials[0], trial(0, 0, &[]));
    assert_eq!((first.block, first.ordinal, first.started), (0, 0, given.started));
    assert_eq!((&first.tally, &first.meters, &first.actors), (&given.tally, &given.meters, &given.actors));
    assert_eq!((first.ops, first.samples, first.batch, first.quiet), (100, 100, 1, false));
    let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-3, "{got} for {want}");
    near(first.min, 1000.0);
    near(first.max, 1006.0);
    let spread = store.spread_of_trial(first.id).unwrap();
    assert_eq!(Some(first.median), spread.quantile(0.5));
    assert_eq!(store.spread(points[0]).unwrap().samples(), 800);
    assert_eq!(store.prediction(points[0]).unwrap().unwrap().forecast, forecast(1000.0));
    store.check().unwrap();
}

#[test]
fn a_list_of_runs_counts() {
    let (_dir, mut store) = new_store();
    let (first, _) = one_of_everything(&mut store);
    let second = store.begin_run(&run_spec(100)).unwrap();
    let runs = store.runs().unwrap();
    assert_eq!(runs.iter().map(|r| r.id).collect::<Vec<_>>(), [second, first]);
    let count = |i: usize| (runs[i].points, runs[i].skipped, runs[i].failed, runs[i].trials);
    assert_eq!((count(0), count(1)), ((0, 0, 0, 0), (3, 1, 1, 8)));
}

#[test]
fn a_figure_has_an_interval_or_is_none() {
    let (_dir, mut store) = new_store();
    let (run, points) = one_of_everything(&mut store);
    let figures = store.figures(run).unwrap();
    assert_eq!(figures.len(), 1, "neither what was skipped nor what failed has a figure");
    let figure = &figures[0];
    assert_eq!((figure.point, figure.trials, figure.blocks, figure.quiet), (points[0], 8, 4, 0.75));
    let median = figure.median.unwrap();
    assert!((1003.0..1025.0).contains(&median.estimate) && median.lo < median.hi, "{median:?}");
    assert!(figure.mean.is_some() && figure.p99.is_some());
    let graded = figure.grade.unwrap();
    assert!((graded.ratio.unwrap() - median.estimate / 1000.0).abs() < 1e-12);
    assert_eq!(graded.outcome, Outcome::Holds);
    assert_eq!(store.figures(run).unwrap(), figures, "the same every time");

    let lone = store.add_points(run, &[point_spec(None)]).unwrap()[0];
    assert!(store.figure(lone).unwrap().is_none());
    store.record_trial(lone, &trial(0, 0, &[5; 30])).unwrap();
    let figure = store.figure(lone).unwrap().unwrap();
    assert_eq!((figure.trials, figure.median, figure.mean, figure.p99), (1, None, None, None));
}

#[test]
fn a_prediction_comes_first_and_stays() {
    let (dir, mut store) = new_store();
    let (run, points) = one_of_everything(&mut store);
    let refused = |answer: tollway_store::Result<()>| {
        assert!(matches!(answer, Err(StoreError::Refused { .. })), "{answer:?}");
    };
    let fresh = store.add_points(run, &[point_spec(None), point_spec(None)]).unwrap();
    store.record_trial(fresh[0], &trial(0, 0, &[5; 30])).unwrap();
    refused(store.predict(fresh[0], &forecast(5.0), at(0)));
    store.predict(fresh[1], &forecast(5.0), at(0)).unwrap();
    refused(store.predict(fresh[1], &forecast(6.0), at(0)));

    // Not even a person with the sqlite3 shell changes it in passing.
    let other = rusqlite::Connection::open(dir.path().join("tollway.db")).unwrap();
    for sql in [
        "UPDATE prediction SET forecast = '{}'",
        "DELETE FROM prediction",
        "REPLACE INTO prediction SELECT * FROM prediction",
        "UPDATE trial SET median_ticks = 1",
        "DELETE FROM trial",
        "REPLACE INTO trial (id, point, block, ordinal, started_us, median_ticks, mean_ticks, p99_ticks, min_ticks,
         max_ticks, ops, samples, batch, lost_ticks, actors, tally, meters, spread)
         SELECT id, point, block, ordinal, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, '[]', '{}', '{}', x'' FROM trial",
    ] {
        assert!(other.execute(sql, []).is_err(), "{sql}");
    }
    assert_eq!(store.prediction(points[0]).unwrap().unwrap().forecast, forecast(1000.0));
}

#[test]
fn a_grade_of_nothing_has_no_ratio() {
    assert_eq!(grade(&forecast(0.0), &interval(3.0, 3.0, 3.0)).ratio, None);
}

#[test]
fn a_grade_says_nothing_where_an_interval_decides_nothing() {
    let outcome =
        |forecast: &Forecast, lo, measured, hi| grade(forecast, &interval(lo, measured, hi)).outcome;
    let narrow = forecast(100.0);
    assert_eq!(outcome(&narrow, 105.0, 111.0, 117.0), Outcome::Missed);
    assert_eq!(outcome(&narrow, 85.0, 90.0, 95.0), Outcome::Holds);
    let wide = Forecast { lo: 40.0, hi: 160.0, ..forecast(100.0) };
    assert_eq!(outcome(&wide, 99.0, 100.0, 101.0), Outcome::SaysNothing);
    assert_eq!(outcome(&wide, 159.0, 161.0, 163.0), Outcome::SaysNothing);
    assert_eq!(outcome(&wide, 200.0, 210.0, 220.0), Outcome::Missed);
    // A figure that was measured badly neither bears a prediction out nor refutes it.
    assert_eq!(outcome(&narrow, 50.0, 100.0, 150.0), Outcome::SaysNothing);
    assert_eq!(outcome(&narrow, 90.0, 150.0, 250.0), Outcome::SaysNothing);
    assert_eq!(outcome(&narrow, 0.0, 0.0, 0.0), Outcome::Missed);
    let zero = Forecast { lo: 0.0, ..forecast(100.0) };
    assert_eq!(outcome(&zero, 99.0, 100.0, 101.0), Outcome::SaysNothing);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let (_dir, mut store) = new_store();
    let (run, points) = one_of_everything(&mut store);
    let repeated = store.record_trial(points[0], &trial(0, 0, &[1]));
    assert!(matches!(repeated, Err(StoreError::Refused { .. })), "{repeated:?}");
    assert!(store.record_trial(points[0], &trial(9, 9, &[])).is_err(), "a trial without a sample");
    let orphan = store.record_trial(tollway_store::PointId(999), &trial(0, 0, &[1]));
    assert!(matches!(orphan, Err(StoreError::NoSuch { .. })), "{orphan:?}");
    let mut spec = point_spec(None);
    spec.params.set("rate", tollway_core::Value::Real(f64::NAN));
    assert!(store.add_points(run, &[point_spec(None), spec]).is_err());
    spec = point_spec(Some(pipe().kind("a/b")));
    assert!(store.add_points(run, &[spec]).is_err());
    assert_eq!(store.points(run).unwrap().len(), 3, "all or none");
    assert!(store.predict(points[1], &forecast(f64::INFINITY), at(0)).is_err());
    assert!(store.set_batch(points[0], 0).is_err());
    assert!(matches!(store.run(RunId(77)), Err(StoreError::NoSuch { .. })));
    assert!(matches!(store.record(RunId(77)), Err(StoreError::NoSuch { .. })));
    for state in [RunState::Running, RunState::Killed] {
        let refused = store.end_run(run, state, at(1)).unwrap_err().to_string();
        assert!(refused.contains(state.name()), "{refused}");
    }
    assert!(matches!(store.note_guests(RunId(77), &guests()), Err(StoreError::NoSuch { .. })));
}

/// To whoever wants to know it, by everything that has a state; of runs of another machine, and of those that have ended, nothing else is told.
#[test]
fn a_run_whose_process_is_gone_was_killed() {
    let (_dir, mut store) = new_store();
    let (run, _) = one_of_everything(&mut store);
    let states = |store: &Store| {
        let of_list = store.runs().unwrap()[0].state;
        [of_list, store.run(run).unwrap().state, store.record(run).unwrap().run.state]
    };
    assert_eq!(states(&store), [RunState::Running; 3]);
    store.tell_killed(|| "another".into());
    assert_eq!(states(&store), [RunState::Running; 3]);
    assert!(!store.is_killed(&store.run(run).unwrap(), "another").unwrap());
    // The process of that number is this one, which measures nothing: whichever did is gone.
    store.tell_killed(|| run_spec(0).machine);
    assert_eq!(states(&store), [RunState::Killed; 3]);
    let killed = store.run(run).unwrap();
    assert!(store.is_killed(&killed, &run_spec(0).machine).unwrap() && !killed.is_measured());
    assert_eq!(store.unfinished(None).unwrap().unwrap().run, killed);
    store.reopen_run(run).unwrap();
    assert_eq!(states(&store), [RunState::Killed; 3]);
    let read = store.run(run).unwrap();
    store.end_run(run, RunState::Interrupted, at(60)).unwrap();
    assert_eq!(states(&store), [RunState::Interrupted; 3]);
    // It was read before it ended, and its process is looked at afterwards.
    assert!(!store.is_killed(&read, &run_spec(0).machine).unwrap());
}

#[test]
fn tolls_are_the_newest_that_fit() {
    let (_dir, mut store) = new_store();
    let (first, _) = one_of_everything(&mut store);
    let toll = |store: &Store, since| store.tolls("machine-1", at(since)).unwrap().toll(&pipe());
    assert_eq!(toll(&store, 0).unwrap().run, first.0);
    assert_eq!(toll(&store, 1), None, "too old");
    assert!(store.tolls("machine-2", at(0)).unwrap().is_empty());

    // Newer, but only one trial, then only pending, then of a comparison's side: each provides none for others.
    let second = store.begin_run(&run_spec(10)).unwrap();
    let sided = tollway_store::PointSpec { side: Some("A".into()), ..point_spec(Some(pipe())) };
    let points = store.add_points(second, &[point_spec(Some(pipe())), sided]).unwrap();
    store.record_trial(points[0], &trial(0, 0, &[2000; 30])).unwrap();
    store.set_point_state(points[0], &PointState::Done).unwrap();
    assert_eq!(toll(&store, 0).unwrap().run, first.0);
    assert!(store.tolls_of_run(second).unwrap().is_empty());
    store.set_point_state(points[0], &PointState::Pending).unwrap();
    store.record_trial(points[0], &trial(1, 1, &[2002; 30])).unwrap();
    assert_eq!(toll(&store, 0).unwrap().run, first.0);
    for block in 0..3 {
        store.record_trial(points[1], &trial(block, block, &[9; 30])).unwrap();
    }
    store.set_point_state(points[1], &PointState::Done).unwrap();
    assert_eq!(toll(&store, 0).unwrap().run, first.0);

    let own = store.tolls_of_run(second).unwrap();
    let median = own.toll(&pipe()).unwrap().median;
    assert!((median / 2001.0 - 1.0).abs() < 1e-3, "{median}");
    let both = own.or(store.tolls("machine-1", at(0)).unwrap());
    assert_eq!(both.toll(&pipe()).unwrap().run, second.0);
    assert_eq!(both.toll(&TollKey::of(Crossing::Futex)), None);
    // The same cost in ticks of a clock that is half as fast.
    let toll_here = both.toll(&pipe()).unwrap();
    let there = both.in_ticks_of(toll_here.hz / 2.0).toll(&pipe()).unwrap();
    assert_eq!((there.median, there.hz), (toll_here.median / 2.0, toll_here.hz / 2.0));
    store.set_point_state(points[0], &PointState::Done).unwrap();
    assert_eq!(toll(&store, 0).unwrap().run, second.0);
}

#[test]
fn an_unfinished_run_tells_where_to_go_on() {
    let (_dir, mut store) = new_store();
    assert_eq!(store.unfinished(None).unwrap(), None);
    let (run, points) = one_of_everything(&mut store);
    let left = store.unfinished(None).unwrap().unwrap();
    assert_eq!((left.run.id, left.points.len(), left.trials.len()), (run, 3, 8));
    assert!(left.trials.iter().all(|t| t.point == points[0] && t.block == t.ordinal / 2));
    store.end_run(run, RunState::Interrupted, at(0).saturating_add(5.seconds()).unwrap()).unwrap();
    assert!(store.unfinished(Some(run)).unwrap().is_some());
    store.reopen_run(run).unwrap();
    assert_eq!((store.run(run).unwrap().state, store.run(run).unwrap().ended), (RunState::Running, None));
    store.end_run(run, RunState::Complete, at(9)).unwrap();
    assert_eq!(store.unfinished(None).unwrap(), None);
    assert_eq!(store.unfinished(Some(run)).unwrap(), None);
    assert!(store.reopen_run(run).unwrap_err().to_string().contains("is complete"));
}

#[test]
fn a_record_survives_json() {
    let (_dir, mut store) = new_store();
    let (run, _) = one_of_everything(&mut store);
    let record = store.record(run).unwrap();
    assert_eq!((record.points.len(), record.points[0].measured.len()), (3, 8));
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), record);
}
