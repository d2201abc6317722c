//! Who is watched is left as it was, whatever becomes of the watcher.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::asleep::Thread;
use crate::common::{self, Killed, read_calls, same, without_rights};
use crate::eventually::eventually;
use crate::kernel::{calls, command, settles, total, watch};
use crate::pause::pause;
use procfs::FromRead;
use procfs::process::{Process, Status, all_processes};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tollway_core::Error;
use tollway_host::requirement::skip_test;
use tollway_watch::FileKind;
use tollway_watch::kernel::{Kernel, Watch, layout};

/// The test that is run as a process of its own.
const HELPER: &str = "kernel_harmless::helper";

/// The program that such a process is to start.
const STARTED: &str = "TOLLWAY_STARTED";

/// It runs, and nobody traces it.
fn runs(process: u32) {
    let status = Status::from_file(format!("/proc/{process}/status")).unwrap();
    assert_eq!(status.tracerpid, 0);
    let before = read_calls(process);
    eventually("it goes on", || read_calls(process) > before + 1000);
}

/// A process between fork and exec has the descriptors of the thread that began it.
#[test]
fn a_child_that_has_what_was_attached_before_has_nothing_counted_twice() {
    let mut kernel = match Kernel::new(false) {
        Ok(kernel) => kernel,
        Err(Error::Missing(missing)) => return skip_test(&["bpf"], &missing),
        Err(error) => panic!("{error}"),
    };
    let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    kernel.add(me, std::process::id()).unwrap();
    kernel.begin().unwrap();
    let ((mut is_forked, forked), (may_go, mut go)) = (pipe().unwrap(), pipe().unwrap());
    let other = std::thread::spawn({
        let [forked, may_go, go] = [forked.as_raw_fd(), may_go.as_raw_fd(), go.as_raw_fd()];
        move || {
            let mut command = Command::new("true");
            // SAFETY: system calls on descriptors that the child has of its own, and which this process keeps
            // until it has ended; the byte is the child's.
            unsafe {
                command.pre_exec(move || {
                    let mut byte = 0u8;
                    // Where this process ends before it is let go, it reads the end.
                    libc::close(go);
                    libc::write(forked, (&raw const byte).cast(), 1);
                    libc::read(may_go, (&raw mut byte).cast(), 1);
                    Ok(())
                })
            };
            command.status()
        }
    });
    is_forked.read_exact(&mut [0]).unwrap();
    kernel.pause();
    let this = Thread::here();
    let lets_go = std::thread::spawn(move || {
        // To begin is to wait for that child.
        this.falls_asleep();
        go.write_all(&[0]).unwrap();
    });
    kernel.begin().unwrap();
    for _ in 0..1000 {
        std::hint::black_box(rustix::process::getppid());
    }
    kernel.pause();
    let seen = kernel.harvest().unwrap();
    let calls = seen.iter().find(|one| one.numbers().0 == me).unwrap().calls.iter();
    let asked = calls.filter(|call| i64::from(call.number) == libc::SYS_getppid);
    assert_eq!(asked.map(|call| call.word(layout::call::COUNT)).sum::<u64>(), 1000);
    lets_go.join().unwrap();
    assert!(other.join().unwrap().unwrap().success());
}

/// Not a test: it is run by some, as a process of its own. Watches what its environment names until it is killed, or says why it cannot.
#[test]
fn helper() {
    let (attached, started) = (std::env::var("TOLLWAY_ATTACHED"), std::env::var(STARTED));
    if attached.is_err() && started.is_err() {
        return;
    }
    let mut watch = match Watch::new(true, None) {
        Ok(watch) => watch,
        Err(Error::Missing(missing)) => return println!("missing: {missing}"),
        Err(error) => panic!("{error}"),
    };
    if let Ok(process) = attached {
        watch.attach(process.parse().unwrap()).unwrap();
        println!("watching {process} .");
    }
    if let Ok(program) = started {
        let child = watch.start(&mut command(Path::new(&program), &["for-ever"])).unwrap();
        println!("watching {} .", child.id());
        std::mem::forget(child);
    }
    loop {
        pause(watch.tick().unwrap().min(Duration::from_millis(20)));
    }
}

/// The number that a helper says, once it has.
fn said_number(text: &Path) -> Option<u32> {
    let text = fs::read_to_string(text).ok()?;
    text.split_once("watching ")?.1.split_once(" .")?.0.parse().ok()
}

/// Processes that a helper has started, or has forked for that: they have its environment.
fn started(program: &Path) -> Vec<u32> {
    let marked = |process: &Process| {
        let environment = process.environ().unwrap_or_default();
        environment.get(OsStr::new(STARTED)).is_some_and(|value| value == program)
    };
    all_processes().unwrap().flatten().filter(marked).map(|process| process.pid.cast_unsigned()).collect()
}

#[test]
fn a_watcher_that_is_killed_leaves_the_program_running() {
    let Some(same) = same() else { return };
    if watch(true, None).is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let attached = Killed(Command::new(same).arg("for-ever").stdin(Stdio::null()).spawn().unwrap());
    for turn in 0..8u64 {
        let text = folder.path().join(turn.to_string());
        let mut command = common::helper(&std::env::current_exe().unwrap(), HELPER);
        command.stdout(fs::File::create(&text).unwrap());
        if turn % 2 == 0 {
            command.env("TOLLWAY_ATTACHED", attached.0.id().to_string());
        } else {
            command.env(STARTED, same);
        }
        let mut helper = Killed(command.spawn().unwrap());
        // At any moment: of these some are before it attaches.
        if turn < 5 {
            eventually("it watches", || said_number(&text).is_some());
        }
        pause(Duration::from_millis(19 * turn));
        helper.0.kill().unwrap();
        helper.0.wait().unwrap();
        // It may have started one and not said so yet.
        let started = started(same);
        runs(attached.0.id());
        if turn % 2 == 1
            && let Some(number) = said_number(&text)
        {
            assert_eq!(started, [number]);
            runs(number);
        }
        for process in started {
            kill_process(Pid::from_raw(process.cast_signed()).unwrap(), Signal::KILL).unwrap();
        }
    }
}

#[test]
fn two_watchers_see_the_same() {
    let Some(same) = same() else { return };
    let (Some(mut one), Some(mut other)) = (watch(true, None), watch(true, None)) else { return };
    // It waits for its input before it begins.
    let mut shell = Command::new("sh");
    shell.args(["-c", "read line; exec \"$0\" forks"]).arg(same).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = Killed(shell.env_remove("LD_LIBRARY_PATH").spawn().unwrap());
    Thread::of(child.0.id(), child.0.id()).falls_asleep();
    one.attach(child.0.id()).unwrap();
    other.attach(child.0.id()).unwrap();
    drop(child.0.stdin.take());
    child.0.wait().unwrap();
    [&mut one, &mut other].into_iter().for_each(settles);
    let (one, other) = (one.counts().unwrap(), other.counts().unwrap());
    assert_eq!((one.threads.len(), one.lost), (other.threads.len(), other.lost));
    // Threads stand in the order of each watcher's slots.
    let both = [&one, &other].map(|counts| {
        let all = counts.threads.iter().flat_map(|thread| &thread.calls);
        let mut all: Vec<_> =
            all.map(|calls| (calls.number, calls.file, calls.count, calls.failed, calls.results)).collect();
        all.sort_unstable();
        all
    });
    assert_eq!(both[0], both[1]);
    assert_eq!(total(&one, libc::SYS_read, FileKind::Zero).0, 5 * 50 + 2 * 10);
    // The read that was under way when they attached is counted at its end.
    assert!(calls(&one, libc::SYS_execve) == 1);
}

#[test]
fn without_root_it_says_what_is_missing() {
    let Some(text) = same().and_then(|same| without_rights(HELPER, "TOLLWAY_STARTED", same)) else { return };
    let line = text.lines().find(|line| line.contains("missing: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("not permitted") || line.contains("denied"), "{line}");
    assert!(line.contains("run as root, or with CAP_BPF and CAP_PERFMON"), "{line}");
}
