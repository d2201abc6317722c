//! Calls counted by ptrace, held against strace; and what is left of a tracer.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{self, Killed, read_calls, same, without_rights};
use crate::eventually::eventually;
use crate::pause::pause;
use crate::strace::{by_strace, table, without_ends};
use procfs::FromRead;
use procfs::process::Status;
use tollway_core::Error;
use tollway_watch::traced::Traced;
use tollway_watch::{Counts, FileKind};

fn by_us(program: &Path, arguments: &[&str]) -> (Counts, i32) {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("LD_LIBRARY_PATH").stdin(Stdio::null()).stdout(Stdio::null());
    let traced = Traced::start(&mut command).unwrap();
    let status = traced.wait().unwrap();
    eventually("the end of all", || traced.is_over());
    (traced.counts().unwrap(), status.code().unwrap())
}

/// Counts a program, which must be as strace has it, and as many calls of `exit` and `exit_group` as are `ends`.
fn equal(program: &Path, arguments: &[&str], ends: [u64; 2]) -> Option<Counts> {
    let strace = by_strace(program, arguments)?;
    let (counts, _) = by_us(program, arguments);
    let mut table = table(&counts);
    let ours = without_ends(&mut table);
    assert_eq!((table, ours), (strace, ends), "{arguments:?}");
    Some(counts)
}

fn total(counts: &Counts, number: u32, kind: FileKind) -> (u64, u64) {
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    calls
        .filter(|calls| calls.number == number && calls.file.kind == kind)
        .fold((0, 0), |sum, calls| (sum.0 + calls.count, sum.1 + calls.results.unwrap()))
}

#[test]
fn dd() {
    let dd = ["if=/dev/zero", "of=/dev/null", "bs=512", "count=1000", "status=none"];
    let Some(counts) = equal(Path::new("/usr/bin/dd"), &dd, [0, 1]) else { return };
    assert_eq!(total(&counts, 0, FileKind::Zero), (1000, 512_000));
    assert_eq!(total(&counts, 1, FileKind::Null), (1000, 512_000));
    assert_eq!((counts.threads.len(), counts.threads[0].name.as_str(), counts.lost), (1, "dd", 0));
}

#[test]
fn threads() {
    let Some(counts) = same().and_then(|same| equal(same, &["threads"], [4, 1])) else { return };
    assert_eq!(counts.threads.len(), 9);
    let process = counts.threads[0].process;
    assert!(counts.threads.iter().all(|thread| thread.process == process && thread.name == "same"));
}

#[test]
fn files_that_are_made_and_those_that_were_there() {
    let Some(counts) = same().and_then(|same| equal(same, &["creates"], [0, 1])) else { return };
    let made = |call: libc::c_long| total(&counts, call as u32, FileKind::Created).0;
    assert_eq!([made(libc::SYS_openat), made(libc::SYS_creat)], [3, 1]);
}

#[test]
fn children_by_fork() {
    let Some(counts) = same().and_then(|same| equal(same, &["forks"], [0, 8])) else { return };
    assert_eq!(counts.threads.len(), 8);
}

#[test]
fn children_by_vfork_and_posix_spawn() {
    let Some(counts) = same().and_then(|same| equal(same, &["spawns"], [0, 5])) else { return };
    assert_eq!(table(&counts)["execve"], (1 + 4 + 2, 2));
}

#[test]
fn an_exec_by_a_thread_that_is_not_the_first() {
    let Some(counts) = same().and_then(|same| equal(same, &["execs-from-a-thread"], [0, 1])) else { return };
    assert_eq!(table(&counts)["execve"], (2, 0));
    let process = counts.threads[0].process;
    // The first thread, and after the exec the one that took its number.
    assert_eq!(counts.threads.iter().filter(|thread| thread.number == process).count(), 2);
}

#[test]
fn signals() {
    let Some(counts) = same().and_then(|same| equal(same, &["signals"], [0, 2])) else { return };
    let signals: u64 = counts.threads.iter().map(|thread| thread.moments.signals.unwrap()).sum();
    assert_eq!(signals, 20 + 3 + 1 + 1);
    assert_eq!(table(&counts)["rt_sigreturn"].0, signals);
}

#[test]
fn a_stop_and_going_on() {
    let Some(counts) = same().and_then(|same| equal(same, &["stops"], [0, 2])) else { return };
    assert_eq!(table(&counts)["restart_syscall"].0, 1);
}

#[test]
fn sockets() {
    let Some(counts) = same().and_then(|same| equal(same, &["sockets"], [0, 1])) else { return };
    assert_eq!(total(&counts, 0, FileKind::Unix).0, 10);
    assert_eq!(total(&counts, 0, FileKind::Tcp).0, 20);
    assert_eq!(total(&counts, 0, FileKind::Pipe).0, 1);
    assert_eq!(total(&counts, libc::SYS_sendto as u32, FileKind::Udp).0, 1);
    assert_eq!(total(&counts, libc::SYS_bind as u32, FileKind::Tcp).0, 1);
}

#[test]
fn a_descriptor_that_leads_to_one_file_after_the_other() {
    let Some(counts) = same().and_then(|same| equal(same, &["reuse"], [0, 1])) else { return };
    assert_eq!([total(&counts, 0, FileKind::Zero), total(&counts, 1, FileKind::Null)], [(100, 100); 2]);
    assert_eq!([total(&counts, 0, FileKind::Null), total(&counts, 1, FileKind::Zero)], [(0, 0); 2]);
}

#[test]
fn faults_of_who_has_ended() {
    let Some(same) = same() else { return };
    let minor = |pages: &str| {
        let (counts, status) = by_us(same, &["faults-in-a-child", pages]);
        assert_eq!(status, 7);
        counts.threads.iter().map(|thread| thread.moments.minor.unwrap()).sum::<u64>()
    };
    let few = minor("100");
    assert!((19_990..20_010).contains(&(minor("20100") - few)), "{few}");
}

#[test]
fn what_cannot_be_started() {
    let error = Traced::start(&mut Command::new("/nonexistent")).err().unwrap();
    assert!(error.to_string().contains("No such file"), "{error}");
    // Nothing is left, not even a zombie: it had this thread's name.
    let own = fs::read_to_string("/proc/thread-self/comm").unwrap();
    assert!(!children().contains(&own.trim_end().to_string()), "{:?}", children());
    assert!(Traced::attach(u32::MAX / 2, true).is_err());
}

/// Names of this process' children.
fn children() -> Vec<String> {
    let listed = fs::read_dir("/proc").unwrap().flatten();
    let stats = listed.filter_map(|one| procfs::process::Stat::from_file(one.path().join("stat")).ok());
    stats.filter(|stat| stat.ppid == std::process::id() as i32).map(|stat| stat.comm).collect()
}

/// The test that is run as a process of its own.
const HELPER: &str = "traced::helper";

fn for_ever(same: &Path) -> Killed {
    let child = Command::new(same).arg("for-ever").stdin(Stdio::null()).spawn().unwrap();
    eventually("its calls", || read_calls(child.id()) > 100);
    Killed(child)
}

fn status(process: u32) -> Status {
    Status::from_file(format!("/proc/{process}/status")).unwrap()
}

/// It runs, and nobody traces it.
fn runs(process: u32) {
    assert_eq!(status(process).tracerpid, 0);
    let before = read_calls(process);
    eventually("it goes on", || read_calls(process) > before + 1000);
    assert!(matches!(status(process).state.as_bytes()[0], b'R' | b'S'), "{:?}", status(process).state);
}

#[test]
fn attached_and_let_go() {
    let Some(same) = same() else { return };
    let child = for_ever(same);
    let process = child.0.id();
    let traced = Traced::attach(process, true).unwrap();
    assert_ne!(status(process).tracerpid, 0);
    // Nobody else may.
    assert!(
        matches!(Traced::attach(process, true), Err(Error::Missing(missing)) if missing.to_string().contains("traced already"))
    );
    eventually("its calls", || total(&traced.counts().unwrap(), 0, FileKind::Zero).0 > 1000);
    traced.detach();
    let counts = traced.counts().unwrap();
    runs(process);
    assert_eq!(traced.counts().unwrap(), counts);
    assert!(traced.is_over());
    // Reads and writes take turns.
    let (reads, writes) = (total(&counts, 0, FileKind::Zero).0, total(&counts, 1, FileKind::Null).0);
    assert!(reads.abs_diff(writes) <= 1, "{reads} {writes}");
}

#[test]
fn a_program_that_was_started_goes_on_when_it_is_let_go() {
    let Some(same) = same() else { return };
    for cycle in 0..50 {
        let mut command = Command::new(same);
        let traced = Traced::start(command.args(["copy", "2000"]).stdin(Stdio::null())).unwrap();
        pause(Duration::from_micros(200 * cycle));
        traced.detach();
        let counts = traced.counts().unwrap();
        assert_eq!(traced.wait().unwrap().code(), Some(7), "cycle {cycle}");
        assert_eq!(traced.wait().unwrap().code(), Some(7));
        assert_eq!(traced.counts().unwrap(), counts);
    }
}

#[test]
fn children_are_counted_if_they_are_wanted() {
    let Some(same) = same() else { return };
    let child = Killed(Command::new(same).arg("clones-for-ever").spawn().unwrap());
    for children in [false, true] {
        let traced = Traced::attach(child.0.id(), children).unwrap();
        let clones = || total(&traced.counts().unwrap(), libc::SYS_clone as u32, FileKind::None).0;
        eventually("its children", || clones() > 50);
        traced.detach();
        let counts = traced.counts().unwrap();
        // The last one may not have begun.
        assert_eq!(counts.threads.len() > 40, children);
        assert_eq!(total(&counts, 0, FileKind::Zero).0 > 5 * 40, children);
    }
}

/// Traces whom it is told, until it is killed. Not a test: it is run by one, as a process of its own.
#[test]
fn helper() {
    if let Some(process) = std::env::var("TOLLWAY_TRACED").ok().and_then(|process| process.parse().ok()) {
        let _traced = Traced::attach(process, true).unwrap();
        // Or until who started this one has ended, however that did.
        let _ = io::stdin().read_to_end(&mut Vec::new());
    }
    if let Some(program) = std::env::var_os("TOLLWAY_COUNTED") {
        let (counts, _) = by_us(Path::new(&program), &["forks"]);
        println!("counted {:?}", table(&counts));
    }
}

#[test]
fn a_tracer_that_is_killed_leaves_the_program_running() {
    let Some(same) = same() else { return };
    let child = for_ever(same);
    let process = child.0.id();
    for turn in 0..20 {
        let mut command = common::helper(&std::env::current_exe().unwrap(), HELPER);
        command.stdin(Stdio::piped());
        let helper =
            command.env("TOLLWAY_TRACED", process.to_string()).stdout(Stdio::null()).spawn().unwrap();
        let mut helper = Killed(helper);
        eventually("it is traced", || status(process).tracerpid != 0);
        pause(Duration::from_millis(turn));
        helper.0.kill().unwrap();
        helper.0.wait().unwrap();
        runs(process);
    }
}

#[test]
fn without_root() {
    let Some(same) = same() else { return };
    let Some(text) = without_rights(HELPER, "TOLLWAY_COUNTED", same) else { return };
    let (counts, _) = by_us(same, &["forks"]);
    assert!(text.contains(&format!("counted {:?}", table(&counts))), "{text}");
}
