//! Rows of the path `machine` whose tool, agent, network or guest is taken away while they are measured: each fails and says why, the
//! others go on, and nothing stays.

use std::fs;
use std::process::Output;
use std::sync::MutexGuard;
use std::thread;
use std::time::{Duration, Instant};

use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::Bench;
use crate::program::namespaces::{behind, held_by, names};
use crate::program::rows::{Row, only_fails, rows};
use crate::program::turn::turn;
use rustix::process::{Pid, Signal, kill_process};
use tollway_core::Requirement;
use tollway_host::requirement::{skip_test, test_has};
use tollway_host::scratch;
use tollway_wire::{Namespace, set_up};

const RUNS: u64 = 2;

/// Between two looks at guests, which take seconds to boot: a look at all processes takes as long as a trial.
const A_WHILE: Duration = Duration::from_millis(20);

/// The turn of a test with guests, which would only slow each other down; `None` where there can be none.
fn turn_of_guests() -> Option<MutexGuard<'static, ()>> {
    if let Err(missing) = tollway_tenant::linux::check(Some(tollway_agent::BUILD)) {
        skip_test(&["qemu"], &missing);
        return None;
    }
    Some(turn())
}

fn preset(window_ms: u32, cases: &str) -> String {
    format!(
        "[preset]\nname = \"short\"\npath = \"machine\"\n\
         [trial]\nwindow_ms = {window_ms}.0\nwarmup_ms = 5.0\nruns = {RUNS}\nrepeats = 1\n{cases}"
    )
}

/// Measures that, and does something again and again until it has ended, which is not for ever.
fn disturbed(bench: &Bench, mut again: impl FnMut()) -> Output {
    let child = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]).spawn().unwrap();
    let ending = thread::spawn(|| child.wait_with_output().unwrap());
    eventually("the run ends", || {
        again();
        ending.is_finished()
    });
    let output = ending.join().unwrap();
    bench.nothing_stays_behind();
    output
}

/// The processes of a bench of which this holds, by their folders in /proc.
fn processes(bench: &Bench, which: impl Fn(&str) -> bool) -> Vec<Pid> {
    let found = bench.processes().into_iter().filter(|pid| which(&format!("/proc/{pid}")));
    found.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// What the kernel calls a process or a thread.
fn called(folder: &str) -> String {
    fs::read_to_string(format!("{folder}/comm")).unwrap_or_default().trim().into()
}

/// Those that are a tool of the field, once they are that: before, they are a copy of our own.
fn tools(bench: &Bench) -> Vec<Pid> {
    const TOOLS: [&str; 4] = ["python", "sysbench", "fio", "iperf3"];
    processes(bench, |folder| TOOLS.iter().any(|tool| called(folder).starts_with(tool)))
}

fn kill(them: &[Pid], signal: Signal) {
    // Who has ended meanwhile has.
    for pid in them {
        let _ = kill_process(*pid, signal);
    }
}

#[test]
fn a_tool_that_is_killed_costs_its_row_and_no_other() {
    let needs = ["python3", "sysbench", "fio", "iperf3"];
    if !needs.iter().all(|tool| test_has(&[(Requirement::Program((*tool).into(), (*tool).into()), tool)])) {
        return;
    }
    let cases = r#"
[[case]]
variant = "primes"
by      = "python3"
[[case]]
variant = "events"
by      = ["tollway", "sysbench"]
[[case]]
variant = "disk"
mib     = 8
by      = ["tollway", "fio"]
[[case]]
variant = "tcp-streams"
by      = ["tollway", "iperf3"]
"#;
    let bench = Bench::with(&preset(50, cases));
    let output = disturbed(&bench, || kill(&tools(&bench), Signal::KILL));
    let rows = rows(&output, 3);
    let tool = |title: &str| needs.iter().any(|tool| title.contains(tool));
    for (title, row) in &rows {
        match tool(title) {
            true => assert!(checked(row).contains("signal: 9") && row.state == "failed", "{title}: {row:?}"),
            false => assert_eq!((&*row.state, row.trials), ("done", RUNS), "{title}: {row:?}"),
        }
    }
    assert_eq!((rows.len(), rows.keys().filter(|title| tool(title)).count()), (7, 4), "{rows:?}");
}

fn checked(row: &Row) -> &str {
    row.gone.as_deref().unwrap_or_default()
}

#[test]
fn an_agent_that_is_killed_costs_its_row_and_no_other() {
    let cases = "[[case]]\nvariant = [\"peak\", \"service\", \"faults\"]\n";
    // Long enough to be met in both of its chances, however rarely one can look.
    let bench = Bench::with(&preset(600, cases));
    // The service's thread is one of the agent's.
    let serves = |folder: &str| {
        let threads = names(&format!("{folder}/task"));
        threads.iter().any(|thread| called(&format!("{folder}/task/{thread}")) == "users")
    };
    let output = disturbed(&bench, || kill(&processes(&bench, serves), Signal::KILL));
    let rows = rows(&output, 3);
    assert_eq!(rows.len(), 3);
    only_fails(&rows, "service", &["signal: 9", "has gone", "connecting", "broken", "reset"], RUNS);
    // What the last one had a name for just then would be cleared by the next start.
    scratch::clear(&scratch::folder()).unwrap();
}

/// Takes the cables of all networks that the program has made, as often as it makes one.
fn pull_cables(bench: &Bench) {
    let Some(own) = behind("/proc/self/ns/net") else { return };
    for (path, which) in bench.processes().iter().flat_map(|process| held_by(process)) {
        // Whatever is not there any more, or not yet, is taken the next time.
        if which != own
            && let Ok(namespace) = Namespace::at(&path)
        {
            let _ = namespace.run(|| set_up("out", false));
        }
    }
}

#[test]
fn a_network_that_is_gone_costs_its_rows_and_no_others() {
    if !test_has(&[(Requirement::NetworkNamespaces, "netns")]) {
        return;
    }
    let cases = r#"
[[case]]
variant = ["tcp-streams", "tcp-requests", "udp-datagrams"]
between = "namespaces"
[[case]]
variant = ["tcp-streams", "tcp-requests"]
between = "loopback"
"#;
    let bench = Bench::with(&preset(600, cases));
    let output = disturbed(&bench, || pull_cables(&bench));
    let reasons = ["nothing came from the other end for 3 s", "unreachable", "connecting", "is down"];
    only_fails(&rows(&output, 3), "one node", &reasons, RUNS);
}

/// Two kinds of guests: what happens to one is nothing to the other.
const GUESTS: &str = r#"
[[case]]
variant = "events"
tenant  = "linux-guest"
memory  = [192, 256]
"#;

/// Its guests of 256 MiB, once they run a kernel.
fn larger(bench: &Bench) -> Vec<Pid> {
    let is_larger = |folder: &str| {
        let words = fs::read(format!("{folder}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains("-kernel") && words.split('\0').any(|word| word == "256M")
    };
    processes(bench, is_larger)
}

/// Only with time: it takes more than a minute.
#[test]
fn a_guest_that_hangs_costs_its_row_and_no_other() {
    if std::env::var_os("TOLLWAY_LONG").is_none() {
        return;
    }
    let Some(_turn) = turn_of_guests() else { return };
    let bench = Bench::with(&preset(1200, GUESTS));
    let mut lives: Vec<(Pid, Instant)> = Vec::new();
    let output = disturbed(&bench, || {
        for pid in larger(&bench).into_iter().filter(|pid| is_pinned(*pid)) {
            if !lives.iter().any(|(known, _)| *known == pid) {
                lives.push((pid, Instant::now()));
            }
        }
        // In the middle of a trial, as is the one that comes in its place.
        let long_enough = |(_, since): &&(Pid, Instant)| since.elapsed() > Duration::from_millis(300);
        lives.iter().filter(long_enough).for_each(|(pid, _)| kill(&[*pid], Signal::STOP));
    });
    let reasons =
        ["did not answer in time", "did not say hello in time", "did not end in time", "was stopped"];
    let rows = rows(&output, 3);
    only_fails(&rows, "256", &reasons, RUNS);
    let (_, row) = rows.iter().find(|(title, _)| title.contains("256")).unwrap();
    assert!(checked(row).contains("Linux guest"), "{row:?}");
    println!("{row:?}");
}

/// Whether a guest has booted: then its virtual processors have each a processor of this machine's.
fn is_pinned(guest: Pid) -> bool {
    let folder = format!("/proc/{}/task", guest.as_raw_nonzero());
    names(&folder).iter().any(|thread| {
        let status = fs::read_to_string(format!("{folder}/{thread}/status")).unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        allowed.is_some_and(|list| list.trim().parse::<u32>().is_ok())
    })
}

#[test]
fn a_guest_that_is_killed_again_and_again_costs_its_row_and_no_other() {
    let Some(_turn) = turn_of_guests() else { return };
    let bench = Bench::with(&preset(100, GUESTS));
    let output = disturbed(&bench, || {
        pause(A_WHILE);
        kill(&larger(&bench), Signal::KILL);
    });
    let rows = rows(&output, 3);
    only_fails(&rows, "256", &["signal: 9"], RUNS);
    let (_, row) = rows.iter().find(|(title, _)| title.contains("256")).unwrap();
    assert!(checked(row).contains("Linux guest"), "{row:?}");
}

#[test]
fn a_guest_whose_peer_at_the_wire_is_killed_is_replaced_with_it() {
    let Some(_turn) = turn_of_guests() else { return };
    let cases = "[[case]]\nvariant = \"tcp-requests\"\ntenant = \"linux-guest\"\nbetween = \"guests\"\n";
    let bench = Bench::with(&preset(300, cases));
    let guests = || {
        processes(&bench, |folder| {
            let words = fs::read(format!("{folder}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == b"-kernel")
        })
    };
    let mut killed = None;
    let output = disturbed(&bench, || {
        pause(A_WHILE);
        if killed.is_none() && !bench.trials().is_empty() {
            killed = guests().first().copied();
            kill(&killed.into_iter().collect::<Vec<_>>(), Signal::KILL);
        }
    });
    assert!(killed.is_some());
    let rows = rows(&output, 0);
    assert!(rows.values().all(|row| row.trials == RUNS && row.state == "done"), "{rows:?}");
    eventually("no guest stays", || guests().is_empty());
}
