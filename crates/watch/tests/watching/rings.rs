//! Threads that the kernel has in a program for its io_uring: by each way they are watched as the program's
//! own, with the processor time that getrusage(2) has of them.

use std::fs::File;
use std::io::{PipeWriter, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::common::{Killed, built};
use crate::eventually::eventually;
use crate::kernel;
use tollway_host::requirement::skip_test;
use tollway_watch::proc::Proc;
use tollway_watch::traced::Traced;
use tollway_watch::{Counts, Thread};

/// How long the programs run, in milliseconds of a processor.
const LONG: &str = "500";
/// What threads in the kernel are called, of each program.
const PROGRAMS: [(&str, &str); 2] = [("polled", "iou-sqp-"), ("workers", "iou-wrk-")];
/// How long the ticks are in seconds in which times are cut, or found: of the kernel's slowest clock
/// (CONFIG_HZ_100), which /proc counts by.
const TICK: f64 = 0.010;

/// What one of them was seen to do, and what it says itself: the seconds in the kernel of all its threads,
/// and those that other threads than the first ran.
struct Done {
    counts: Counts,
    all: f64,
    others: f64,
}

impl Done {
    /// Seconds in the kernel of those of its threads that are the kernel's own.
    fn of_workers(&self) -> f64 {
        self.counts.threads.iter().filter(|thread| thread.is_kernel_worker).map(system).sum()
    }

    /// Of all threads.
    fn of_all(&self) -> f64 {
        self.counts.threads.iter().map(system).sum()
    }

    /// By how much that is another time once a further tick has met the program's own threads, after it said its times: what they ran is divided as the
    /// ticks were that met them, which are few where others have the processors.
    fn of_a_tick(&self) -> f64 {
        let own = self.counts.threads.iter().filter(|thread| !thread.is_kernel_worker);
        own.map(|thread| {
            let ran = thread.ran.unwrap_or_default().as_secs_f64();
            let ticks =
                (thread.user.unwrap_or_default() + thread.system.unwrap_or_default()).as_secs_f64() / TICK;
            ran / ticks.max(1.0)
        })
        .sum()
    }
}

/// Seconds in the kernel: all that it ran where it is the kernel's own, else the part of it that ticks found
/// there.
fn system(thread: &Thread) -> f64 {
    let seconds = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
    let ticks = seconds(thread.user) + seconds(thread.system);
    match thread.is_kernel_worker {
        true => seconds(thread.ran),
        false if ticks > 0.0 => seconds(thread.ran) * seconds(thread.system) / ticks,
        false => 0.0,
    }
}

/// A program that has been started: once it has said its times none of its threads has anything to do, and it
/// stays until it is let go.
struct Staying {
    said: PathBuf,
    lets_go: PipeWriter,
}

impl Staying {
    fn has_said(&self) -> bool {
        std::fs::read_to_string(&self.said).unwrap().ends_with('\n')
    }
}

/// Has a way of counting watch a program, and let it go; `None` where that way, or a ring, is not here.
fn done(
    program: &Path,
    what: &str,
    count: impl FnOnce(&mut Command, Staying) -> Option<(Counts, ExitStatus)>,
) -> Option<Done> {
    if kernel::command(program, &[what, "1"]).status().unwrap().code() == Some(77) {
        skip_test(&["io-uring"], &"io_uring is not in this kernel, or is forbidden");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let (input, lets_go) = pipe().unwrap();
    let mut command = kernel::command(program, &[what, LONG, "stays"]);
    command.stdin(input).stdout(File::create(&said).unwrap());
    let (counts, status) = count(&mut command, Staying { said: said.clone(), lets_go })?;
    assert!(status.success(), "{status}");
    let said = std::fs::read_to_string(said).unwrap();
    let mut times = said.split_whitespace().map(|time| time.parse::<f64>().unwrap() / 1e6);
    Some(Done { counts, all: times.next().unwrap(), others: times.next().unwrap() })
}

/// Whether both are the same time but for `off` seconds.
fn are_near(what: &str, found: f64, expected: f64, off: f64) {
    println!("{what}: {found:.4} s, {expected:.4} by getrusage");
    assert!((found - expected).abs() <= off, "{what}: {found} of {expected}, off by more than {off}");
}

/// Whether threads of such a name have done most of the work, and no system call.
fn are_known(done: &Done, name: &str) {
    let threads = &done.counts.threads;
    let workers: Vec<&Thread> = threads.iter().filter(|thread| thread.name.starts_with(name)).collect();
    assert!(!workers.is_empty(), "{name}: {threads:?}");
    assert!(workers.iter().all(|one| one.is_kernel_worker && one.calls.is_empty()), "{workers:?}");
    assert!(threads.iter().any(|thread| !thread.is_kernel_worker && thread.name == "rings"), "{threads:?}");
}

#[test]
fn by_the_kernels_tracepoints() {
    let Some((_folder, program)) = built("rings") else { return };
    for (what, name) in PROGRAMS {
        let watched = |command: &mut Command, staying: Staying| {
            let mut watch = kernel::watch(true, None)?;
            let mut child = watch.start(command).unwrap();
            eventually("its times", || staying.has_said());
            drop(staying.lets_go);
            let status = kernel::to_the_end(&mut watch, &mut child);
            Some((watch.counts().unwrap(), status))
        };
        let Some(done) = done(&program, what, watched) else { return };
        are_known(&done, name);
        are_near(what, done.of_workers(), done.others, TICK);
        // At its end one more tick may have met the first thread.
        are_near(what, done.of_all(), done.all, TICK + done.of_a_tick());
        // The thread that takes entries out of the ring gives them on, not who put them there.
        if what == "polled" {
            let operations = |worker: bool| -> u64 {
                let threads = done.counts.threads.iter().filter(|one| one.is_kernel_worker == worker);
                threads.filter_map(|one| one.moments.operations).sum()
            };
            assert!(operations(true) >= 64 && operations(false) == 0, "{:?}", done.counts);
        }
    }
}

#[test]
fn from_proc() {
    let Some((_folder, program)) = built("rings") else { return };
    for (what, name) in PROGRAMS {
        let watched = |command: &mut Command, staying: Staying| {
            let proc = Proc::start(command).unwrap();
            let all_are_there = |counts: Counts| {
                counts.threads.iter().filter(|one| one.is_kernel_worker).map(system).sum::<f64>() > 0.1
            };
            eventually("its threads", || all_are_there(proc.counts().unwrap()));
            eventually("its times", || staying.has_said());
            assert!(proc.look_at_workers());
            drop(staying.lets_go);
            let status = proc.wait().unwrap();
            Some((proc.counts().unwrap(), status))
        };
        let Some(done) = done(&program, what, watched) else { return };
        are_known(&done, name);
        are_near(what, done.of_workers(), done.others, TICK);
        // Its two parts are told in whole ticks.
        are_near(what, done.of_all(), done.all, 2.0 * TICK + done.of_a_tick());
    }
}

#[test]
fn by_ptrace() {
    let Some((_folder, program)) = built("rings") else { return };
    for (what, name) in PROGRAMS {
        let watched = |command: &mut Command, staying: Staying| {
            let traced = Traced::start(command).unwrap();
            eventually("its times", || staying.has_said());
            drop(staying.lets_go);
            let status = traced.wait().unwrap();
            Some((traced.counts().unwrap(), status))
        };
        let Some(done) = done(&program, what, watched) else { return };
        are_known(&done, name);
        are_near(what, done.of_workers(), done.others, TICK);
        // Of no other thread it tells how long it ran: all is what these did.
        are_near(what, done.of_all(), done.others, TICK);
        let traced = done.counts.threads.iter().filter(|thread| !thread.is_kernel_worker);
        assert!(traced.clone().all(|thread| thread.ran.is_none()), "{:?}", traced.collect::<Vec<_>>());
    }
}

/// Of a program that runs such threads are there already.
#[test]
fn in_a_program_that_runs_by_every_way() {
    let Some((_folder, program)) = built("rings") else { return };
    for (what, name) in PROGRAMS {
        let child = Killed(kernel::command(&program, &[what, "3600000"]).spawn().unwrap());
        let folder = format!("/proc/{}/task", child.0.id());
        let is_there = |thread: std::io::Result<std::fs::DirEntry>| {
            let comm =
                thread.ok().and_then(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
            comm.is_some_and(|comm| comm.starts_with(name))
        };
        if !Path::new(&folder).exists() {
            return skip_test(&["io-uring"], &"io_uring is not in this kernel, or is forbidden");
        }
        eventually(name, || std::fs::read_dir(&folder).is_ok_and(|mut threads| threads.any(is_there)));
        let has_run = |counts: &Counts| {
            let workers = counts.threads.iter().filter(|one| one.name.starts_with(name));
            workers.clone().all(|one| one.is_kernel_worker) && workers.map(system).sum::<f64>() > 0.05
        };
        let traced = Traced::attach(child.0.id(), true).unwrap();
        eventually("its time by ptrace", || has_run(&traced.counts().unwrap()));
        drop(traced);
        let proc = Proc::attach(child.0.id(), true).unwrap();
        eventually("its time from /proc", || has_run(&proc.counts().unwrap()));
        let Some(mut watch) = kernel::watch(true, None) else { return };
        watch.attach(child.0.id()).unwrap();
        eventually("its time by the tracepoints", || has_run(&watch.counts().unwrap()));
        assert!(Path::new(&folder).exists(), "{what}: it goes on");
    }
}
