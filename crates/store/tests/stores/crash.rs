//! A process that writes trials is killed at random moments: every trial that it was told to be durable is there.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::pause::pause;
use crate::sample::*;
use tollway_store::{PointId, Store, TrialId};

const FILE: &str = "TOLLWAY_CRASH_TEST_FILE";
const KILLS: u64 = 20;
/// Trials that a writer is let make at the most, before it is killed.
const TRIALS: usize = 60;

/// Samples that tell the trial's ordinal; enough of them that the log is folded into the file every second or so.
fn samples(ordinal: u32) -> Vec<u64> {
    (0..500).map(|i| u64::from(ordinal) + 1_000 * (1 + i * 7 % 499)).collect()
}

/// Not a test but the process that is killed: the test below starts this program again with `--ignored crash::writer`. Alone it
/// would have no file to write to.
#[test]
#[ignore = "started by the test of this file"]
fn writer() {
    let Some(file) = env::var_os(FILE) else { return };
    let mut store = Store::open(file).unwrap();
    let run = store.begin_run(&run_spec(0)).unwrap();
    for round in 0.. {
        let points = store.add_points(run, &[point_spec(None), point_spec(Some(pipe()))]).unwrap();
        store.predict(points[0], &forecast(f64::from(round)), at(0)).unwrap();
        for ordinal in 0..20 {
            let id = store.record_trial(points[0], &trial(round, ordinal, &samples(ordinal))).unwrap();
            println!("\ndurable {id} {} {ordinal}", points[0]);
        }
    }
}

/// When the writer is killed: so long after it told that so many trials are durable.
struct Moment {
    trials: usize,
    then: Duration,
}

/// Starts the writer, kills it at that moment, and returns what it was told to be durable.
fn killed_at(moment: &Moment, file: &Path) -> Vec<(TrialId, PointId, u32)> {
    let mut writer = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::writer", "--ignored", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut told = lines.map_while(Result::ok).filter_map(|line| {
        let mut words = line.strip_prefix("durable ")?.split(' ');
        // The last line may be cut off by the kill; then it does not count.
        let id = words.next()?.parse().ok()?;
        let point = words.next()?.parse().ok()?;
        Some((id, point, words.next()?.parse().ok()?))
    });
    let mut durable: Vec<_> = told.by_ref().take(moment.trials).collect();
    assert_eq!(durable.len(), moment.trials, "the writer ended by itself");
    pause(moment.then);
    writer.kill().unwrap();
    writer.wait().unwrap();
    durable.extend(told);
    durable
}

#[test]
fn what_was_durable_survives_kills() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tollway.db");
    let (mut durable, mut random) = (Vec::new(), 0x9e37_79b9_u64);
    for kill in 0..KILLS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let drawn = random >> 33;
        // Every fourth kill comes early enough to meet the opening of the file, the first its making.
        let moment = if kill.is_multiple_of(4) {
            Moment { trials: 0, then: Duration::from_millis(drawn % 15) }
        } else {
            Moment { trials: 1 + drawn as usize % TRIALS, then: Duration::from_micros(drawn % 5000) }
        };
        durable.extend(killed_at(&moment, &file));
        if kill.is_multiple_of(3) {
            Store::open(&file).unwrap().check().unwrap();
        }
    }
    let store = Store::open(&file).unwrap();
    store.check().unwrap();
    let runs = store.runs().unwrap();
    let mut trials = Vec::new();
    for run in &runs {
        trials.extend(store.trials(run.id).unwrap());
        assert_eq!(store.points(run.id).unwrap().len() % 2, 0, "points are added all or none");
    }
    assert!(durable.len() > 40, "only {} trials were written: too few to say anything", durable.len());
    assert_eq!(trials.len() as u64, runs.iter().map(|r| r.trials).sum::<u64>(), "counts kept by the trigger");
    for (id, point, ordinal) in durable {
        let there = trials.iter().find(|t| t.id == id).unwrap_or_else(|| panic!("trial {id} was lost"));
        assert_eq!((there.point, there.ordinal), (point, ordinal));
        let kept = store.spread_of_trial(id).unwrap();
        assert_eq!(kept, spread(&samples(ordinal)));
        assert!(store.prediction(point).unwrap().is_some(), "what was written before it is there too");
    }
}
