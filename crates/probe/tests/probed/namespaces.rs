//! A process in a PID namespace of its own, whose numbers are others' outside, sees what its own threads pay.

use std::process::{Command, Stdio};
use std::thread;

use tollway_core::Error;
use tollway_host::requirement::skip_test;
use tollway_probe::Probe;

fn asks(times: u64) {
    for _ in 0..times {
        // SAFETY: no address is passed.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

fn within(unshare: &[&str]) {
    match Probe::by_the_kernel() {
        Ok(_) => {}
        Err(Error::Missing(missing)) => return skip_test(&["bpf"], &missing),
        Err(error) => panic!("{error}"),
    }
    // SAFETY: a system call without an address.
    if unsafe { libc::geteuid() } != 0 {
        return skip_test(&["root"], &"a PID namespace needs root");
    }
    let mut command = Command::new("unshare");
    command.args(unshare).arg(std::env::current_exe().unwrap()).stdin(Stdio::null());
    command.args(["--ignored", "--exact", "namespaces::threads_pay_for_their_own_calls", "--nocapture"]);
    let done = command.output().expect("unshare(1) of util-linux");
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    // Of a name that is no test's none runs, which is a success.
    assert!(done.status.success() && said.contains("1 passed"), "{}: {said}", done.status);
}

#[test]
fn process_in_its_own_pid_namespace_sees_its_own_calls() {
    within(&["--pid", "--fork", "--kill-child", "--mount-proc"]);
}

#[test]
fn process_that_has_the_proc_of_another_namespace_sees_its_own_calls() {
    within(&["--pid", "--fork", "--kill-child"]);
}

#[test]
fn process_in_a_namespace_within_another_sees_its_own_calls() {
    let one = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    within(&[&one[..], &["unshare"], &one].concat());
}

#[test]
fn process_without_a_proc_sees_its_own_calls() {
    let hides = "mount -t tmpfs none /proc && exec \"$@\"";
    within(&["--pid", "--fork", "--kill-child", "--mount", "sh", "-c", hides, "sh"]);
}

#[test]
#[ignore = "is started in a namespace of its own by the others"]
fn threads_pay_for_their_own_calls() {
    // Its number is that of the first process outside.
    assert_eq!(std::process::id(), 1);
    let older = thread::spawn(thread::park);
    let probe = Probe::by_the_kernel().unwrap();
    for times in [0, 1, 7, 1000, 100_000] {
        let paid = || {
            // The first of a thread looks for its slot.
            let _ = probe.request().paid();
            let request = probe.request();
            asks(times);
            request.paid().calls
        };
        assert_eq!(paid(), Some(times));
        let younger =
            thread::scope(|scope| [(); 4].map(|()| scope.spawn(paid)).map(|one| one.join().unwrap()));
        assert_eq!(younger, [Some(times); 4]);
    }
    older.thread().unpark();
    older.join().unwrap();
    assert_eq!(probe.lost().unwrap(), 0);
}
