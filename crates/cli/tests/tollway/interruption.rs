//! Ctrl-C and SIGTERM: the first lets the running trial end and shows what there is, the second ends at once.

use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::Duration;

use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::{Bench, SHORT, checked, has_signal};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tollway_store::{RunState, Store};

const MEASURE: &[&str] = &["measure", "--preset-file", "short.toml", "--runs", "1000"];

/// What only the general report says.
const GENERAL: &str = "What a crossing costs";

fn begun(bench: &Bench, arguments: &[&str]) -> Child {
    let child = bench.tollway(arguments).process_group(0).spawn().unwrap();
    bench.wait_for_trials(6);
    child
}

fn state(bench: &Bench) -> RunState {
    Store::open_read_only(bench.file("tollway.db")).unwrap().runs().unwrap()[0].state
}

/// No trial of those before is gone, none was left out, none is there twice.
fn without_a_hole(bench: &Bench, before: usize) {
    let ordinals: Vec<u32> = bench.trials().iter().map(|t| t.ordinal).collect();
    assert!(ordinals.len() >= before);
    assert_eq!(ordinals, (0..ordinals.len() as u32).collect::<Vec<_>>());
}

#[test]
fn the_first_keeps_and_shows_what_was_measured() {
    for signal in [Signal::INT, Signal::TERM] {
        let bench = Bench::with(SHORT);
        let child = begun(&bench, MEASURE);
        let before = bench.trials().len();
        // As a terminal does it: to the whole process group.
        kill_process_group(Pid::from_child(&child), signal).unwrap();
        let (out, err) = checked(&child.wait_with_output().unwrap(), 130);
        assert!(out.contains("system call (getppid)"), "{out}");
        assert!(!err.contains("warning"), "the interruption is told as a failure: {err}");
        assert_eq!(state(&bench), RunState::Interrupted);
        without_a_hole(&bench, before);
        bench.nothing_stays_behind();
    }
}

#[test]
fn it_is_heard_before_the_first_trial_too() {
    // A pilot that takes long: 60 points of two processes each.
    let bench = Bench::with(SHORT);
    let child = bench.tollway(&["measure", "crossings"]).spawn().unwrap();
    eventually("it begins", || {
        Store::open_read_only(bench.file("tollway.db"))
            .is_ok_and(|store| store.runs().is_ok_and(|runs| runs.iter().any(|r| r.points > 0)))
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    checked(&child.wait_with_output().unwrap(), 130);
    assert_eq!((state(&bench), bench.trials().len()), (RunState::Interrupted, 0));
}

/// Nine seconds of a run once cost somebody the report of a whole one.
#[test]
fn an_interrupted_run_leaves_the_older_report_where_it_has_no_figure_itself() {
    let bench = Bench::with(SHORT);
    std::fs::write(bench.file("report.html"), "the older one").unwrap();
    std::fs::write(bench.file("older.csv"), "older figures").unwrap();
    let child = bench.tollway(&["run", "crossings", "--export", "older.csv"]).spawn().unwrap();
    eventually("it begins", || {
        Store::open_read_only(bench.file("tollway.db"))
            .is_ok_and(|store| store.runs().is_ok_and(|runs| runs.iter().any(|r| r.points > 0)))
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (out, err) = checked(&child.wait_with_output().unwrap(), 130);
    assert_eq!((state(&bench), bench.trials().len()), (RunState::Interrupted, 0));
    let read = |name: &str| std::fs::read_to_string(bench.file(name)).unwrap();
    assert!(read("report.html") == "the older one" && read("older.csv") == "older figures", "{err}");
    assert!(err.contains("report.html is left as it was") && !out.contains("report.html ·"), "{out}\n{err}");
}

#[test]
fn the_second_ends_at_once_and_the_run_can_go_on() {
    let long = SHORT.replace("window_ms = 0.3", "window_ms = 6000").replace("runs      = 3", "runs = 1");
    let long = long.replace("repeats   = 2", "repeats = 1");
    let bench = Bench::with(&long);
    let child = bench.tollway(&["measure", "--preset-file", "short.toml"]).spawn().unwrap();
    bench.wait_for_trials(1);
    let pid = Pid::from_child(&child);
    // The next trial runs.
    bench.works_for(Duration::from_millis(100));
    kill_process(pid, Signal::INT).unwrap();
    // Two signals that arrive together are one; the program tells by its clock.
    eventually("the first is taken", || !has_signal(child.id(), "ShdPnd:", libc::SIGINT));
    pause(Duration::from_millis(100));
    kill_process(pid, Signal::INT).unwrap();
    checked(&child.wait_with_output().unwrap(), 130);
    assert_eq!(bench.trials().len(), 1, "the running trial was waited for");
    bench.nothing_stays_behind();
    without_a_hole(&bench, 1);
    bench.ends(&["measure", "--resume"], 0);
    assert_eq!((state(&bench), bench.trials().len()), (RunState::Complete, 2));
    without_a_hole(&bench, 2);
}

#[test]
fn a_comparison_that_is_interrupted_shows_what_there_is() {
    let bench = Bench::with(SHORT);
    let arguments = ["compare", "--run", "self", "env:X=1", "--only", "getppid", "--runs", "1000"];
    let child = begun(&bench, &arguments);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (out, _) = checked(&child.wait_with_output().unwrap(), 130);
    assert!(out.contains("system call (getppid)"), "{out}");
    assert_eq!(state(&bench), RunState::Interrupted);
    bench.ends(&["compare", "--prove", "--dry-run"], 0);
}

/// As if the newest run had been interrupted after its last trial.
fn is_unfinished(bench: &Bench) {
    let mut store = Store::open(bench.file("tollway.db")).unwrap();
    let run = store.runs().unwrap()[0].id;
    store.end_run(run, RunState::Interrupted, jiff::Timestamp::now()).unwrap();
}

/// How it ends, which is well but for bills that do not close, and what it says.
fn said(bench: &Bench, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = bench.tollway(arguments).output().unwrap();
    let code = output.status.code().filter(|code| [0, 3].contains(code));
    let (out, err) = checked(&output, code.unwrap_or_default());
    (code, out, err)
}

/// Whatever command began a run: who goes on with it sees what that would have shown, or is told that it does more.
#[test]
fn a_run_that_goes_on_is_shown_as_the_command_does_that_began_it() {
    let few: &[&str] = &["--runs", "3", "--time", "2"];
    let sweep: &[&str] = &["ipc", "ping-pong", "--style", "sync", "--cores", "1", "--concurrency", "1"];
    let compare: &[&str] = &["compare", "--run", "self", "env:X=1", "--only", "getppid"];
    let bill: &[&str] = &["bill", "ipc", "--variant", "fast-path", "cores=one"];
    let own = [(sweep, "a request"), (compare, "verdict"), (bill, "Bill of ipc fast-path")];
    let advise: &[&str] = &["ipc", "advise", "--service", "2us", "--concurrency", "8", "--cores", "1"];
    let resume = ["measure", "--resume", "--export", "kept.csv"];
    for (begin, mark) in own.into_iter().chain([(&MEASURE[..3], GENERAL)]) {
        let bench = Bench::with(SHORT);
        let (ended, began, _) = said(&bench, &[begin, few].concat());
        is_unfinished(&bench);
        let (code, out, _) = said(&bench, &resume);
        assert_eq!(state(&bench), RunState::Complete);
        // The first line may say how long that took.
        let but_head = |text: &str| text.split_once('\n').unwrap().1.to_string();
        assert_eq!((code, but_head(&out)), (ended, but_head(&began)), "{begin:?}");
        assert!(out.contains(mark) && out.contains(GENERAL) == (mark == GENERAL), "{begin:?}: {out}");
        assert!(std::fs::read_to_string(bench.file("kept.csv")).unwrap().lines().count() > 1);
    }
    let bench = Bench::with(SHORT);
    said(&bench, &[advise, few].concat());
    is_unfinished(&bench);
    let (_, out, err) = said(&bench, &resume);
    assert!(out.contains(GENERAL) && err.contains("what `tollway ipc advise` does"), "{out}\n{err}");
    // The table of an application is a document as well, and the page is the general one.
    let bench = Bench::with(SHORT);
    said(&bench, &[sweep, few].concat());
    is_unfinished(&bench);
    let (_, out, _) = said(&bench, &["run", "--resume", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&document["application"], &document["run"]), (&"ping-pong".into(), &1.into()));
    assert!(std::fs::read_to_string(bench.file("report.html")).unwrap().contains("run 1, complete"));
}

/// A measurement of ciphers that has come as far as its second round, and has a process of its own for a card.
fn enciphering(bench: &Bench) -> Child {
    let few = ["--cipher", "sha256", "--sizes", "64", "--in-flight", "1", "--by", "library,neighbour"];
    let long = ["--time", "0.005", "--runs", "1000", "--export", "kept.csv"];
    let child =
        bench.tollway(&[&["cipher", "bench"][..], &few, &long].concat()).process_group(0).spawn().unwrap();
    eventually("a card is started", || bench.processes().len() == 2);
    bench.works_for(Duration::from_millis(200));
    child
}

#[test]
fn ciphers_that_were_measured_are_kept() {
    let bench = Bench::with(SHORT);
    let child = enciphering(&bench);
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let (out, _) = checked(&child.wait_with_output().unwrap(), 130);
    assert!(out.contains("neighbour") && out.contains("interrupted"), "{out}");
    let kept = std::fs::read_to_string(bench.file("kept.csv")).unwrap();
    assert!(kept.lines().count() == 3 && kept.contains("library"), "{kept}");
    bench.nothing_stays_behind();
}

#[test]
fn a_card_ends_with_who_measures_it() {
    let bench = Bench::with(SHORT);
    let mut child = enciphering(&bench);
    child.kill().unwrap();
    child.wait().unwrap();
    bench.nothing_stays_behind();
}
