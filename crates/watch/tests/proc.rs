//! Counts from /proc, of programs of which it is known what they do.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Killed, for_everybody, same, until};
use tempfile::TempDir;
use tollway_watch::proc::Proc;
use tollway_watch::{Counts, Moments};

fn started(same: &Path, arguments: &[&str]) -> Counts {
    let mut command = Command::new(same);
    command.args(arguments).env_remove("LD_LIBRARY_PATH").stdin(Stdio::null());
    let proc = Proc::start(&mut command).unwrap();
    assert_eq!(proc.wait().unwrap().code(), Some(7));
    assert_eq!(proc.wait().unwrap().code(), Some(7));
    assert!(proc.is_over());
    proc.counts().unwrap()
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
    assert!((39_980 - involuntary.min(39_980)..40_100).contains(&voluntary), "{counts:?}");
    let (calls, bytes) = calls(&counts);
    assert!((80_000..80_040).contains(&calls) && bytes >= 80_000, "{calls} {bytes}");
}

#[test]
fn switches_of_a_ping_pong_that_is_looked_at() {
    let Some(same) = same() else { return };
    let child = Killed(Command::new(same).args(["ping", "100000000"]).spawn().unwrap());
    until("both threads", || fs::read_dir(format!("/proc/{}/task", child.0.id())).unwrap().count() == 2);
    let proc = Proc::attach(child.0.id(), true).unwrap();
    for _ in 0..5 {
        sleep(Duration::from_millis(50));
        let counts = proc.counts().unwrap();
        assert_eq!(counts.threads.iter().filter(|thread| thread.number != 0).count(), 2, "{counts:?}");
        // Each round both read and write, and wait once, or are displaced just then; who is displaced elsewhere is not waited for less.
        let voluntary = sum(&counts, |moments| moments.voluntary);
        let switches = voluntary + sum(&counts, |moments| moments.involuntary);
        let (calls, _) = calls(&counts);
        let slack = calls / 20 + 100;
        assert!(calls > 1000 && 2 * voluntary < calls + slack && calls < 2 * switches + slack, "{counts:?}");
        assert_eq!(counts.lost, 0);
        assert!(
            counts
                .threads
                .iter()
                .all(|thread| thread.user.unwrap() + thread.system.unwrap() > Duration::ZERO)
        );
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
    until("it has begun", || fs::read_to_string(format!("/proc/{}/comm", child.0.id())).unwrap() == "same\n");
    for children in [false, true] {
        let proc = Proc::attach(child.0.id(), children).unwrap();
        // It waits for each of its children.
        until("its waits", || sum(&proc.counts().unwrap(), |moments| moments.voluntary) > 50);
        // It reads and writes nothing itself. Each of its children has ten calls.
        let counts = proc.counts().unwrap();
        assert_eq!(calls(&counts).0 > 400, children, "{counts:?}");
    }
}

#[test]
fn an_end_that_is_not_waited_for() {
    let Some(same) = same() else { return };
    let mut child = Killed(Command::new(same).arg("for-ever").spawn().unwrap());
    let proc = Proc::attach(child.0.id(), true).unwrap();
    assert!(!proc.is_over());
    child.0.kill().unwrap();
    until("its end", || proc.is_over());
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
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root, so that all other tests are this one");
        return;
    }
    let folder = TempDir::new().unwrap();
    for_everybody(folder.path());
    let exe = folder.path().join("proc");
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    for_everybody(&exe);
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]);
    command.arg(&exe).args(["--exact", "helper", "--nocapture"]).env("TOLLWAY_COUNTED", same);
    match command.current_dir("/").output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let expected = format!("counted {:?} true", calls(&started(same, &["copy", "1000"])));
            assert!(text.contains(&expected), "{expected} {text}");
        }
        Err(error) => println!("skipped: setpriv: {error}"),
    }
}
