//! Counts from /proc, of programs of which it is known what they do.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::asleep::{self, threads_of};
use crate::common::{Killed, same, without_rights};
use crate::eventually::eventually;
use rustix::process::{Pid, Signal, kill_process};
use tollway_watch::proc::Proc;
use tollway_watch::{Counts, Moments, Thread};

fn started(same: &Path, arguments: &[&str]) -> Counts {
    let mut command = Command::new(same);
    command.args(arguments).env_remove("LD_LIBRARY_PATH").stdin(Stdio::null());
    let proc = Proc::start(&mut command).unwrap();
    assert_eq!(proc.wait().unwrap().code(), Some(7));
    assert_eq!(proc.wait().unwrap().code(), Some(7));
    assert!(proc.is_over());
    proc.counts().unwrap()
}

fn signal(child: &Killed, signal: Signal) {
    kill_process(Pid::from_raw(child.0.id() as i32).unwrap(), signal).unwrap();
}

fn sum(counts: &Counts, of: fn(&Moments) -> Option<u64>) -> u64 {
    counts.threads.iter().filter_map(|thread| of(&thread.moments)).sum()
}

fn calls(counts: &Counts) -> (u64, u64) {
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    calls.fold((0, 0), |sum, calls| (sum.0 + calls.count, sum.1 + calls.results.unwrap()))
}

#[test]
fn switches_of_a_ping_pong() {
    let Some(same) = same() else { return };
    let counts = started(same, &["ping", "20000"]);
    // Two a round, on one processor, unless one was displaced just where it would have waited.
    let voluntary = sum(&counts, |moments| moments.voluntary);
    let involuntary = sum(&counts, |moments| moments.involuntary);
    // Who is displaced while it has the pipe's lock has the other wait for that as well.
    let expected = 39_980 - involuntary.min(39_980)..40_100 + involuntary;
    assert!(expected.contains(&voluntary), "{counts:?}");
    let (calls, bytes) = calls(&counts);
    assert!((80_000..80_040).contains(&calls) && bytes >= 80_000, "{calls} {bytes}");
}

#[test]
fn switches_of_a_ping_pong_that_is_looked_at() {
    let Some(same) = same() else { return };
    let child = Killed(Command::new(same).args(["ping", "100000000"]).spawn().unwrap());
    eventually("both threads", || fs::read_dir(format!("/proc/{}/task", child.0.id())).unwrap().count() == 2);
    let proc = Proc::attach(child.0.id(), true).unwrap();
    let mut seen = 0;
    for _ in 0..5 {
        eventually("a thousand calls more, and time of both", || {
            let counts = proc.counts().unwrap();
            let has_time = |one: &Thread| one.user.unwrap() + one.system.unwrap() > Duration::ZERO;
            calls(&counts).0 > seen + 1000 && counts.threads.iter().all(has_time)
        });
        // What a look finds of one thread is then as old as what it finds of the other.
        signal(&child, Signal::STOP);
        eventually("it stands still", || threads_of(child.0.id()).iter().all(asleep::Thread::is_stopped));
        let counts = proc.counts().unwrap();
        signal(&child, Signal::CONT);
        assert_eq!(counts.threads.iter().filter(|thread| thread.number != 0).count(), 2, "{counts:?}");
        // Each round both read and write, and wait once, or are displaced just then; who is displaced elsewhere is not waited for less.
        let voluntary = sum(&counts, |moments| moments.voluntary);
        let switches = voluntary + sum(&counts, |moments| moments.involuntary);
        let (calls, _) = calls(&counts);
        let slack = calls / 20 + 100;
        assert!(2 * voluntary < calls + slack && calls < 2 * switches + slack, "{counts:?}");
        assert_eq!(counts.lost, 0);
        seen = calls;
    }
}

#[test]
fn faults_on_fresh_pages() {
    let Some(same) = same() else { return };
    for what in ["faults", "faults-in-a-child"] {
        let minor = |pages: &str| sum(&started(same, &[what, pages]), |moments| moments.minor);
        let few = minor("100");
        let more = minor("20100") - few;
        assert!((19_900..20_100).contains(&more), "{what}: {more}");
    }
}

#[test]
fn reads_and_writes_of_threads_that_ended_unseen() {
    let Some(same) = same() else { return };
    let (none, all) = (calls(&started(same, &["none"])).0, calls(&started(same, &["threads"])).0);
    assert_eq!(all - none, 2 * (100 + 200 + 300 + 400) + 4 * (1 + 2 * 500) + 1);
}

#[test]
fn reads_and_writes_of_children_that_ended_unseen() {
    let Some(same) = same() else { return };
    let (none, all) = (calls(&started(same, &["none"])).0, calls(&started(same, &["forks"])).0);
    assert_eq!(all - none, 2 * (5 * 50 + 2 * 10));
}

#[test]
fn children_are_counted_if_they_are_wanted() {
    let Some(same) = same() else { return };
    let child = Killed(Command::new(same).arg("clones-for-ever").spawn().unwrap());
    eventually("it has begun", || {
        fs::read_to_string(format!("/proc/{}/comm", child.0.id())).unwrap() == "same\n"
    });
    // It reads and writes nothing itself. Each of its children has ten calls.
    let proc = Proc::attach(child.0.id(), true).unwrap();
    eventually("its children's calls", || calls(&proc.counts().unwrap()).0 > 400);
    // It waits for each of its children.
    let proc = Proc::attach(child.0.id(), false).unwrap();
    eventually("its waits", || sum(&proc.counts().unwrap(), |moments| moments.voluntary) > 50);
    let counts = proc.counts().unwrap();
    assert!(calls(&counts).0 <= 400, "{counts:?}");
}

#[test]
fn an_end_that_is_not_waited_for() {
    let Some(same) = same() else { return };
    let mut child = Killed(Command::new(same).arg("for-ever").spawn().unwrap());
    let proc = Proc::attach(child.0.id(), true).unwrap();
    assert!(!proc.is_over());
    child.0.kill().unwrap();
    eventually("its end", || proc.is_over());
    let counts = proc.counts().unwrap();
    child.0.wait().unwrap();
    assert_eq!(proc.counts().unwrap(), counts);
    assert!(Proc::attach(u32::MAX / 2, true).is_err());
}

/// Not a test: it is run by one, as a process of its own.
#[test]
fn helper() {
    if let Some(program) = std::env::var_os("TOLLWAY_COUNTED") {
        let counts = started(Path::new(&program), &["copy", "1000"]);
        println!("counted {:?} {}", calls(&counts), sum(&counts, |moments| moments.minor) > 10);
    }
}

#[test]
fn without_root() {
    let Some(same) = same() else { return };
    let Some(text) = without_rights("proc::helper", "TOLLWAY_COUNTED", same) else { return };
    let expected = format!("counted {:?} true", calls(&started(same, &["copy", "1000"])));
    assert!(text.contains(&expected), "{expected} {text}");
}
