//! `tollway entropy feed`: what it credits, refuses and says; sources that break while it feeds; how it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command};
use std::time::Duration;

use crate::asleep::{process_falls_asleep, sleeps_of};
use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::{self, Bench, SHORT, checked, skip};
use rand::{RngExt, SeedableRng};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Bytes of a start-up test at the default limits.
const START_UP: usize = 4608;

/// Whether this process may feed the kernel.
fn may_feed(bench: &Bench) -> bool {
    let output = bench.tollway(&["entropy", "feed", "--source", "rdrand", "--once"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        skip("the kernel is not fed", "root", err.trim());
    }
    output.status.success()
}

/// The program without the right to credit entropy.
fn without_the_right(mut command: Command) -> Command {
    /// `CAP_SYS_ADMIN` in `linux/capability.h`.
    const ADMIN: libc::c_ulong = 21;
    // SAFETY: a system call, which is allowed between fork and exec. Where it is refused there is no such right to begin
    // with.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_CAPBSET_DROP, ADMIN, 0, 0, 0);
            Ok(())
        })
    };
    command
}

fn good(bytes: usize) -> Vec<u8> {
    let mut generator = rand::rngs::StdRng::seed_from_u64(bytes as u64);
    (0..bytes).map(|_| generator.random()).collect()
}

/// One that runs, and what it has said on standard output.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn new(bench: &Bench, arguments: &[&str]) -> Running {
        let mut command = bench.tollway(&[&["entropy", "feed"], arguments].concat());
        command.stderr(File::create(bench.file("log")).unwrap());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Running { child, out }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it.
    fn ends_well(mut self, signal: Signal) {
        self.signal(signal);
        program::ends(&mut self.child);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log(bench: &Bench) -> String {
    fs::read_to_string(bench.file("log")).unwrap()
}

fn events(bench: &Bench, event: &str) -> usize {
    log(bench).lines().filter(|line| line.contains(&format!(" event={event} "))).count()
}

fn ask(socket: &Path) -> Value {
    let mut answer = String::new();
    UnixStream::connect(socket).unwrap().read_to_string(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// A pipe with a name.
fn pipe(bench: &Bench) {
    mknodat(CWD, bench.file("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn without_the_right_it_says_so_and_a_dry_run_works() {
    let bench = Bench::with(SHORT);
    let run = |arguments: &[&str]| {
        let mut command = bench.tollway(&[&["entropy", "feed"], arguments].concat());
        bench.set_up(&mut command);
        without_the_right(command).output().unwrap()
    };
    for arguments in [&["--once"][..], &[]] {
        let (out, err) = checked(&run(arguments), 1);
        assert!(out.is_empty() && err.contains("CAP_SYS_ADMIN") && err.contains("--dry-run"), "{err}");
    }
    if !is_x86_feature_detected!("rdrand") {
        return skip("no dry run with RDRAND", "rdrand", "a processor that has it");
    }
    let (out, err) = checked(&run(&["--dry-run"]), 0);
    assert_eq!(err, "");
    let first = "would feed  64 bytes of rdrand, 512 to 1, credited with 512 bits, at once and every 60 s\n";
    assert!(out.starts_with(first) && out.ends_with("nothing was fed\n"), "{out}");
    let (out, _) = checked(&run(&["--dry-run", "--raw", "--json"]), 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    let plan = &document["plan"];
    assert_eq!((&plan["bytes"], &plan["bits"]), (&32_768.into(), &512.into()), "{plan}");
    assert_eq!(plan["bits_per_byte"], 8.0 / 512.0);
    assert!(plan["start_up_false_failure"].as_f64().unwrap() < 1e-15);
    assert_eq!(document["health"]["state"], "healthy");
    assert_eq!(document["fed"]["portions"], 0);
}

#[test]
fn what_may_not_be_credited_is_refused() {
    let bench = Bench::with(SHORT);
    for (arguments, words) in [
        (&["--source", "getrandom"][..], &["getrandom", "this kernel's own generator"][..]),
        (&["--source", "/dev/urandom"], &["/dev/urandom", "this kernel's own generator"]),
        (&["--source", "/dev/random", "--entropy", "8"], &["/dev/random", "this kernel's own generator"]),
        (&["--source", "rdrand", "--entropy", "8"], &["--entropy", "it is for paths"]),
        (&["--raw", "--bytes", "63"], &["less than one bit", "give at least 64 bytes"]),
        (&["--source", "rdrant"], &["rdrand"]),
        (&["--raw", "--conditioned"], &["--raw"]),
        (&["--interval", "0"], &["0.05"]),
    ] {
        let (out, err) = bench.ends(&[&["entropy", "feed", "--dry-run"], arguments].concat(), 2);
        assert!(out.is_empty() && words.iter().all(|word| err.contains(word)), "{arguments:?}: {err}");
    }
    fs::write(bench.file("zeros"), vec![0; 10_000]).unwrap();
    let file = ["entropy", "feed", "--dry-run", "--source", "./zeros"];
    let (_, err) = bench.ends(&file, 2);
    assert!(err.contains("same bytes at every start") && err.contains("--file-is-fresh"), "{err}");
    let (_, err) = bench.ends(&[&file[..], &["--file-is-fresh"]].concat(), 1);
    assert!(err.contains("has failed its health tests: repetition"), "{err}");
}

#[test]
fn once_is_once() {
    let bench = Bench::with(SHORT);
    if !may_feed(&bench) {
        return;
    }
    let (out, err) = bench.ends(&["entropy", "feed", "--once"], 0);
    assert_eq!((&out[..], &err[..]), ("fed 64 bytes of rdrand, 512 to 1, credited with 512 bits\n", ""));
    fs::write(bench.file("bytes"), good(START_UP + 100)).unwrap();
    let file =
        ["entropy", "feed", "--once", "--json", "--source", "./bytes", "--file-is-fresh", "--entropy", "7.5"];
    let (out, _) = bench.ends(&[&file[..], &["--bytes", "100"]].concat(), 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["fed"]["bits"], 750);
    assert_eq!(document["kernel"]["initialised"], true);
    let (_, err) = bench.ends(&[&file[..], &["--bytes", "200"]].concat(), 1);
    assert!(err.contains(&format!("ended after {} bytes", START_UP + 100)), "{err}");
}

#[test]
fn it_feeds_sleeps_answers_and_ends() {
    let bench = Bench::with(SHORT);
    if !may_feed(&bench) {
        return;
    }
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let socket = bench.file("status");
        // As one that was killed leaves it.
        if signal == Signal::TERM {
            drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        }
        let mut running = Running::new(&bench, &["--status", "status", "--interval", "3600"]);
        let ready = "ready: 64 bytes of rdrand, 512 to 1, credited with 512 bits, every 3600 s\n";
        assert_eq!(running.line(), ready);
        eventually("it feeds", || ask(&socket)["fed"]["portions"] == 1);
        let document = ask(&socket);
        assert_eq!(
            (&document["health"]["state"], &document["fed"]["bits"]),
            (&"healthy".into(), &512.into())
        );
        running.signal(Signal::USR1);
        let told: Value = serde_json::from_str(&running.line()).unwrap();
        assert_eq!(told["plan"], document["plan"]);
        let (_, err) = bench.ends(&["entropy", "feed", "--status", "status"], 2);
        assert!(err.contains("somebody serves it"), "{err}");
        // Nothing is to be done for an hour: once all of it sleeps it is hardly woken, if not by who asked before.
        let pid = running.child.id();
        process_falls_asleep(pid);
        let before = sleeps_of(pid);
        pause(Duration::from_millis(1500));
        let woken = sleeps_of(pid) - before;
        assert!(woken < 8, "it is idle, and was woken {woken} times");
        running.ends_well(signal);
        assert!(!socket.exists());
        assert_eq!((events(&bench, "fed"), events(&bench, "stopping")), (1, 1), "{}", log(&bench));
    }
    bench.nothing_stays_behind();
}

#[test]
fn a_source_that_breaks_is_not_fed_until_it_works_again() {
    let bench = Bench::with(SHORT);
    if !may_feed(&bench) {
        return;
    }
    pipe(&bench);
    let options = ["--source", "./pipe", "--entropy", "8", "--bytes", "64", "--interval", "0.05"];
    let mut running = Running::new(&bench, &[&options[..], &["--status", "status"]].concat());
    let mut source = File::options().write(true).open(bench.file("pipe")).unwrap();
    // A start-up test and three feedings; one feeding and one start-up test that fail.
    source.write_all(&good(START_UP + 3 * 64)).unwrap();
    source.write_all(&[0; 64 + 4096]).unwrap();
    assert!(running.line().starts_with("ready: 64 bytes of ./pipe, credited with 512 bits"));
    let socket = bench.file("status");
    eventually("it notices", || ask(&socket)["health"]["state"] == "failed");
    let failed = ask(&socket);
    assert_eq!((&failed["health"]["test"], &failed["fed"]["portions"]), (&"repetition".into(), &3.into()));
    eventually("it tries again", || events(&bench, "source-failing") == 2);
    assert_eq!(ask(&socket)["fed"]["portions"], 3, "it went on feeding");
    source.write_all(&good(START_UP + 6 * 64)).unwrap();
    eventually("it recovers", || ask(&socket)["fed"]["portions"].as_u64() > Some(3));
    assert_eq!(ask(&socket)["health"]["start_ups"], 2);
    // Lines are written by a thread of their own.
    eventually("it says so", || events(&bench, "source-recovered") == 1);
    let log = log(&bench);
    assert!(log.contains("same byte came 9 times in a row\" retry-in=1\n"), "{log}");
    assert!(log.contains("retry-in=2\n") && events(&bench, "source-recovered") == 1, "{log}");
    assert!(log.contains("event=source-recovered source=./pipe\n"), "{log}");
    running.ends_well(Signal::TERM);
}

#[test]
fn a_source_that_starves_counts_as_broken() {
    let bench = Bench::with(SHORT);
    if !may_feed(&bench) {
        return;
    }
    pipe(&bench);
    let options = ["--source", "./pipe", "--entropy", "8", "--bytes", "64", "--interval", "0.05"];
    let mut running = Running::new(&bench, &[&options[..], &["--least-rate", "1000"]].concat());
    let mut source = File::options().write(true).open(bench.file("pipe")).unwrap();
    source.write_all(&good(START_UP + 64)).unwrap();
    assert!(running.line().starts_with("ready"));
    let bytes = good(64);
    eventually("it notices", || {
        pause(Duration::from_millis(300));
        source.write_all(&bytes[..16]).unwrap();
        log(&bench).contains("are the least")
    });
    running.ends_well(Signal::TERM);
}

#[test]
fn a_source_that_never_answers_holds_nobody_up() {
    let bench = Bench::with(SHORT);
    if !may_feed(&bench) {
        return;
    }
    pipe(&bench);
    // Nobody has opened the pipe's other end; then somebody has, and writes nothing.
    for opened in [false, true] {
        let running = Running::new(&bench, &["--source", "./pipe", "--status", "status"]);
        let socket = bench.file("status");
        eventually("it answers", || UnixStream::connect(&socket).is_ok());
        let other_end = opened.then(|| File::options().write(true).open(bench.file("pipe")).unwrap());
        assert_eq!(ask(&socket)["health"]["state"], "starting");
        running.ends_well(Signal::TERM);
        assert!(!socket.exists());
        drop(other_end);
    }
}

#[test]
fn a_source_that_stops_is_noticed_while_it_is_waited_for() {
    let bench = Bench::with(SHORT);
    if !may_feed(&bench) {
        return;
    }
    pipe(&bench);
    let options = ["--source", "./pipe", "--entropy", "8", "--interval", "0.1", "--status", "status"];
    let mut running = Running::new(&bench, &options);
    let mut source = File::options().write(true).open(bench.file("pipe")).unwrap();
    source.write_all(&good(START_UP + 64 + 28)).unwrap();
    assert!(running.line().starts_with("ready"));
    let socket = bench.file("status");
    eventually("it notices", || events(&bench, "source-failing") == 1);
    let health = &ask(&socket)["health"];
    assert_eq!((&health["state"], &health["test"]), (&"failed".into(), &"rate".into()));
    assert_eq!(health["alarms"]["rate"], 1);
    pause(Duration::from_secs(2));
    source.write_all(&good(36 + START_UP + 20 * 64)).unwrap();
    eventually("it recovers", || events(&bench, "source-recovered") == 1);
    assert_eq!(events(&bench, "source-failing"), 1, "{}", log(&bench));
    let health = &ask(&socket)["health"];
    assert_eq!((&health["state"], &health["alarms"]["rate"]), (&"healthy".into(), &1.into()));
    running.ends_well(Signal::TERM);
}
