//! Rows over time, from stores that the library made.

use crate::synthetic;
use crate::synthetic::{Behaviour, Made, Noise};
use jiff::ToSpan;
use tollway_core::{Crossing, TollKey};
use tollway_report::document::{HistoryDocument, SinceVerdict};
use tollway_report::{Comparison, RowsOverTime, RunReport};
use tollway_stats::Criteria;
use tollway_store::{NewTrial, PointSpec, PointState, RunId, RunSpec};

const BLOCKS: u32 = 6;

/// A run of these rows some days after the first, each with what it costs in ticks; `noisy` says why its trials are not quiet.
fn run(made: &mut Made, day: i64, spec: RunSpec, rows: &[(PointSpec, f64)], noisy: Option<&str>) -> RunId {
    let started = synthetic::start() + (24 * day).hours();
    let run = made.store.begin_run(&RunSpec { started, ..spec }).unwrap();
    let specs: Vec<PointSpec> = rows.iter().map(|(spec, _)| spec.clone()).collect();
    let ids = made.store.add_points(run, &specs).unwrap();
    let mut noise = Noise::seeded(day as u64 + 1);
    for block in 0..BLOCKS {
        for (at, (id, (_, ticks))) in ids.iter().zip(rows).enumerate() {
            let calm = Behaviour { noisy: 0.0, ..Behaviour::calm(*ticks) };
            let trial = calm.trial(&mut noise, 1.0, block, block * 10 + at as u32);
            let trial = NewTrial { noise: noisy.map(String::from), ..trial };
            made.store.record_trial(*id, &synthetic::one_after_the_other(trial)).unwrap();
        }
    }
    run
}

fn futex() -> PointSpec {
    synthetic::toll(TollKey::of(Crossing::Futex))
}

/// Five runs of a rate and a toll: the rate is as it was, then a third less under another kernel, then as it was; one run
/// is of another machine, and one has neither.
fn store() -> Made {
    let mut made = Made::new();
    let spec = |title: &str| synthetic::spec(title, &[]);
    let rows = |rate: f64, toll: f64| [(synthetic::rated("own"), rate), (futex(), toll)];
    run(&mut made, 0, spec("first"), &rows(21_000.0, 8000.0), None);
    run(&mut made, 1, spec("second"), &rows(21_020.0, 8010.0), None);
    let mut elsewhere = spec("elsewhere");
    elsewhere.fingerprint["cpu_model"] = "another".into();
    run(&mut made, 2, elsewhere, &rows(1000.0, 100.0), None);
    let mut kernel = RunSpec { version: "0.2.0".into(), ..spec("third") };
    kernel.fingerprint["kernel_release"] = "6.19.1".into();
    kernel.machine = "another id, as the kernel is another".into();
    run(
        &mut made,
        3,
        kernel.clone(),
        &rows(31_500.0, 4000.0),
        Some("7.1 % stolen, 3.0 % foreign processor time"),
    );
    run(&mut made, 4, spec("other rows"), &[(synthetic::toll(TollKey::of(Crossing::Pipe)), 17_000.0)], None);
    kernel.title = "fourth".into();
    run(&mut made, 5, kernel, &rows(21_000.0, 4000.0), None);
    made
}

fn told(made: &Made, wishes: &[&str], last: usize) -> RowsOverTime {
    let wishes: Vec<String> = wishes.iter().map(ToString::to_string).collect();
    RowsOverTime::from_store(&made.store, &wishes, last).unwrap().unwrap()
}

#[test]
fn a_row_is_told_run_by_run_against_the_one_before_and_the_best() {
    let made = store();
    let told = told(&made, &["machine"], 20);
    let HistoryDocument { rows, runs_elsewhere, paired, .. } = told.document();
    assert_eq!((rows.len(), *runs_elsewhere, *paired), (1, 1, false));
    let row = &rows[0];
    assert_eq!((row.unit.as_str(), row.more_is_better), ("IO/s", true));
    let titles: Vec<&str> = row.runs.iter().map(|m| m.title.as_str()).collect();
    assert_eq!(titles, ["first", "second", "third", "fourth"]);
    let verdict = |at: usize| row.runs[at].before.map(|since| since.verdict);
    assert_eq!(verdict(0), None);
    assert_eq!(verdict(1), Some(SinceVerdict::NotSeparable));
    assert_eq!(verdict(2), Some(SinceVerdict::Worse));
    assert_eq!(verdict(3), Some(SinceVerdict::Better));
    let third = &row.runs[2];
    assert!((third.before.unwrap().ratio.unwrap().estimate - 2.0 / 3.0).abs() < 0.02);
    assert!(row.runs.iter().all(|m| m.figure.lo < m.figure.hi));
    let changed: Vec<&str> = third.changed.iter().map(|c| c.what.as_str()).collect();
    assert_eq!(changed, ["kernel", "tollway"]);
    assert_eq!((third.quiet_share, third.noise.is_some()), (0.0, true));
    assert!(row.runs[3].changed.is_empty());
    // One of them is the best and says so; the others are held against it.
    assert_eq!(row.runs.iter().filter(|m| m.best.is_none()).count(), 1);
}

#[test]
fn of_a_time_less_is_better() {
    let made = store();
    let told = told(&made, &["futex"], 20);
    let row = &told.document().rows[0];
    assert_eq!((row.unit.as_str(), row.more_is_better), ("ns", false));
    assert_eq!(row.runs[2].before.unwrap().verdict, SinceVerdict::Better);
    assert_eq!(row.runs[0].best.unwrap().verdict, SinceVerdict::Worse);
}

#[test]
fn rows_are_found_by_any_of_their_words_and_only_the_last_runs_are_shown() {
    let made = store();
    assert_eq!(told(&made, &["crossings"], 20).document().rows.len(), 2);
    assert_eq!(told(&made, &["MACHINE disk"], 20).document().rows.len(), 1);
    assert_eq!(told(&made, &["machine", "futex"], 20).document().rows.len(), 2);
    let last = told(&made, &["machine"], 2);
    let runs = &last.document().rows[0].runs;
    assert_eq!((runs.len(), runs[0].before), (2, None));
    let nothing = RowsOverTime::from_store(&made.store, &["no such".into()], 20).unwrap();
    assert!(nothing.is_none());
    assert!(RowsOverTime::from_store(&made.store, &[" ".into()], 20).unwrap().is_none());
}

#[test]
fn a_terminal_of_any_width_has_marks_and_says_that_runs_are_unpaired() {
    let made = store();
    let told = told(&made, &["machine"], 20);
    for width in [None, Some(140), Some(100), Some(80)] {
        let text = synthetic::unstyled(&told.terminal(width));
        println!("{text}");
        for word in [
            "kernel 6.18.5 → 6.19.1",
            "tollway 0.1.0 → 0.2.0",
            "Unpaired",
            "of another machine",
            "best",
            "first",
        ] {
            assert!(text.contains(word), "{width:?} {word}: {text}");
        }
        assert!(text.contains("▁") && text.contains("█"), "{text}");
        assert!(text.contains("-33.") && text.contains("+4"), "{text}");
        assert!(text.contains("≈") && text.contains("~ "), "{text}");
        let room = width.unwrap_or(usize::MAX);
        assert!(text.lines().all(|line| line.chars().count() <= room), "{width:?}: {text}");
    }
}

#[test]
fn the_card_shows_earlier_runs_of_its_rows() {
    let made = store();
    let newest = made.store.runs().unwrap()[0].id;
    let report = RunReport::from_store(&made.store, newest).unwrap();
    let rated = report.document().points.iter().find(|p| p.path == "machine").unwrap();
    assert_eq!(rated.earlier.len(), 3);
    assert!(rated.earlier.iter().all(|e| e.run < newest.0));
    let page = report.html().unwrap();
    assert!(page.contains("class=\"history\"") && page.contains("14 March 2026"), "{page}");
    // The first run has nothing before it.
    let first = RunReport::from_store(&made.store, RunId(1)).unwrap();
    assert!(first.document().points.iter().all(|p| p.earlier.is_empty()));
    assert!(!first.html().unwrap().contains("class=\"history\""));
}

/// The second of two hosts of one kind looked like the first one's next run.
#[test]
fn two_hosts_of_one_kind_are_two_machines() {
    let mut made = Made::new();
    let rows = |toll: f64| [(futex(), toll)];
    let on = |host: Option<&str>| {
        let mut spec = synthetic::spec(host.unwrap_or("of before"), &[]);
        spec.fingerprint["host"] = host.into();
        spec
    };
    run(&mut made, 0, on(None), &rows(8000.0), None);
    let one = run(&mut made, 1, on(Some("one")), &rows(8000.0), None);
    let two = run(&mut made, 2, on(Some("two")), &rows(4000.0), None);
    let titles = |made: &Made| -> (Vec<String>, u64) {
        let told = told(made, &["futex"], 20);
        let runs = told.document().rows[0].runs.iter().map(|m| m.title.clone()).collect();
        (runs, told.document().runs_elsewhere)
    };
    // Which host a run of before was on nobody knows.
    assert_eq!(titles(&made), (vec!["of before".into(), "two".into()], 1));
    run(&mut made, 3, on(Some("one")), &rows(8000.0), None);
    assert_eq!(titles(&made), (vec!["of before".into(), "one".into(), "one".into()], 1));
    let compared = Comparison::of_runs(&made.store, one, two, Criteria::default()).unwrap();
    assert!(compared.terminal(None).contains("different machines"), "{}", compared.terminal(None));
}

/// A clock of day that was set back made the newest run an old one.
#[test]
fn runs_are_in_the_order_of_their_numbers_whatever_the_clock_said() {
    let mut made = Made::new();
    let rows = [(synthetic::rated("own"), 21_000.0), (futex(), 8000.0)];
    for (day, title) in [(9, "first"), (8, "second"), (0, "third")] {
        let run = run(&mut made, day, synthetic::spec(title, &[]), &rows, None);
        for point in made.store.points(run).unwrap() {
            made.store.set_point_state(point.id, &PointState::Done).unwrap();
        }
    }
    let newest = made.store.runs().unwrap();
    assert_eq!(newest.iter().map(|run| run.title.as_str()).collect::<Vec<_>>(), ["third", "second", "first"]);
    assert_eq!(made.store.unfinished(None).unwrap().unwrap().run.spec.title, "third");
    let tolls = made.store.tolls(&newest[0].machine, synthetic::start() - 1.hour()).unwrap();
    let toll = tolls.iter().next().unwrap();
    assert_eq!(RunId(toll.run), newest[0].id);
    let told = told(&made, &["machine"], 20);
    let runs: Vec<&str> = told.document().rows[0].runs.iter().map(|m| m.title.as_str()).collect();
    assert_eq!(runs, ["first", "second", "third"]);
    let report = RunReport::from_store(&made.store, newest[0].id).unwrap();
    let rate = report.document().points.iter().find(|point| point.path == "machine").unwrap();
    assert_eq!(rate.earlier.iter().map(|run| run.run).collect::<Vec<_>>(), [1, 2]);
}
