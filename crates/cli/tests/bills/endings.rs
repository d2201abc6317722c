//! `tollway bill`: how a program ends, how tollway does with it, and what is said where a way of counting is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;

use crate::eventually::eventually;
use crate::filter::forbid;
use crate::program::priced::bench;
use crate::program::{Bench, checked, skip};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

/// The ways that can be used here.
fn ways() -> Vec<&'static str> {
    let is_root = rustix::process::geteuid().is_root();
    if is_root && Path::new("/sys/kernel/btf/vmlinux").exists() {
        return vec!["kernel", "ptrace", "proc"];
    }
    let needs = "run as root on a kernel with CONFIG_DEBUG_INFO_BTF";
    skip("programs at the kernel's tracepoints", "bpf", needs);
    vec!["ptrace", "proc"]
}

/// The program of programs/lives.c; `None` where there is no C compiler.
fn lives() -> Option<&'static str> {
    static BUILT: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("lives");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/lives.c");
        let built = Command::new("cc").args(["-Wall", "-pthread", "-o"]).arg(&program).arg(source).status();
        match built {
            Ok(status) => assert!(status.success(), "cc: {status}"),
            Err(_) => {
                skip("programs that end in unusual ways", "cc", "install gcc");
                return None;
            }
        }
        Some((folder, program))
    });
    built.as_ref().and_then(|(_, program)| program.to_str())
}

/// Ends what a test has left behind, whatever came of the test.
struct Cleared<'t>(&'t Bench);

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        for process in self.0.processes().iter().filter_map(|number| number.parse().ok()) {
            if let Some(process) = Pid::from_raw(process) {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that runs by itself.
fn runs(command: &mut Command) -> (Killed, String) {
    let child = Killed(command.spawn().unwrap());
    let number = child.0.id().to_string();
    (child, number)
}

fn state(path: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("{path}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn where_bpf_is_refused_it_is_counted_by_ptrace_and_that_is_said() {
    let bench = bench();
    for error in [libc::ENOSYS, libc::EOPNOTSUPP, libc::EPERM] {
        let mut command = bench.tollway(&["bill", "--", "true"]);
        forbid(&mut command, &[libc::SYS_bpf], error);
        let (_, err) = checked(&command.output().unwrap(), 0);
        let says = ["counted by ptrace", "by the kernel's tracepoints all of it could be seen", "seccomp"];
        let number = format!("os error {error}");
        for text in says.into_iter().chain([number.as_str()]) {
            assert!(err.contains(text), "{error}: no `{text}` in {err}");
        }
    }
}

#[test]
fn where_ptrace_is_refused_as_well_proc_is_looked_at_and_that_is_said() {
    let bench = bench();
    for (calls, error) in [
        (&[libc::SYS_bpf, libc::SYS_ptrace][..], libc::ENOSYS),
        (&[libc::SYS_bpf, libc::SYS_ptrace], libc::EPERM),
        (&[libc::SYS_ptrace], libc::EPERM),
    ] {
        let mut command = bench.tollway(&["bill", "--", "sh", "-c", "exit 7"]);
        forbid(&mut command, calls, error);
        let (_, err) = checked(&command.output().unwrap(), 7);
        assert!(err.contains("what /proc tells"), "{calls:?} {error}: {err}");
        assert!(err.contains("by ptrace each call could be seen by itself"), "{err}");
        assert!(err.contains("ptrace(2) is refused here"), "{err}");
    }
    // Where this way is asked for there is no other.
    let mut command = bench.tollway(&["bill", "--by", "ptrace", "--", "true"]);
    forbid(&mut command, &[libc::SYS_ptrace], libc::EPERM);
    let (_, err) = checked(&command.output().unwrap(), 125);
    assert!(err.contains("ptrace(2) is refused here"), "{err}");
}

#[test]
fn a_program_that_is_ended_leaves_children_and_has_its_bill_by_every_way() {
    let bench = bench();
    let _cleared = Cleared(&bench);
    for way in ways() {
        let script = "sleep 601.25 >/dev/null 2>&1 & exec sleep 601.5";
        let (_, err) = bench.ends(&["bill", "--by", way, "--for", "5s", "--", "sh", "-c", script], 143);
        assert!(err.contains("The bill of sh") && err.contains("ended by SIGTERM"), "{way}: {err}");
        assert!(way == "proc" || err.contains("which it began and which still runs"), "{way}: {err}");
    }
}

/// Of one who is traced the kernel would heed no signal there.
#[test]
fn a_program_in_vfork_is_ended_by_every_way() {
    let Some(lives) = lives() else { return };
    let bench = bench();
    let _cleared = Cleared(&bench);
    for way in ways() {
        let (_, err) = bench.ends(&["bill", "--by", way, "--for", "1s", "--", lives, "in-vfork"], 143);
        assert!(err.contains("ended by SIGTERM"), "{way}: {err}");
    }
}

/// Programs of a test that sleep.
fn sleepers(bench: &Bench) -> usize {
    let sleeps = |process: &String| {
        fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name == "sleep\n")
            && state(&format!("/proc/{process}")) == Some('S')
    };
    bench.processes().iter().filter(|process| sleeps(process)).count()
}

/// A program that is watched in a process group of its own, once there are this many that sleep.
fn sleeping(bench: &Bench, way: &str, program: &[&str], sleep: usize) -> Child {
    let mut command = bench.tollway(&[&["bill", "--by", way, "--"], program].concat());
    command.process_group(0);
    let child = command.spawn().unwrap();
    eventually("it is started", || sleepers(bench) == sleep);
    child
}

#[test]
fn a_signal_to_tollway_ends_the_program_and_the_bill_is_shown() {
    let bench = bench();
    let _cleared = Cleared(&bench);
    for way in ways() {
        for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
            let child = sleeping(&bench, way, &["sleep", "601.75"], 1);
            kill_process(Pid::from_child(&child), signal).unwrap();
            let (_, err) = checked(&child.wait_with_output().unwrap(), 143);
            assert!(err.contains("The bill of sleep 601.75"), "{way}, {signal:?}: {err}");
        }
    }
}

/// As a terminal does it, which sends one signal to all, and timeout(1), which sends the program itself another.
#[test]
fn a_signal_to_the_process_group_ends_the_program_and_the_bill_is_shown() {
    let bench = bench();
    let _cleared = Cleared(&bench);
    for way in ways() {
        for (signal, code, name) in
            [(Signal::HUP, 129, "SIGHUP"), (Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM")]
        {
            let child = sleeping(&bench, way, &["sleep", "601.75"], 1);
            let process = Pid::from_child(&child);
            if signal != Signal::INT {
                kill_process(process, signal).unwrap();
            }
            kill_process_group(process, signal).unwrap();
            let (_, err) = checked(&child.wait_with_output().unwrap(), code);
            assert!(err.contains("The bill of sleep 601.75"), "{way}, {name}: {err}");
            assert!(err.contains(&format!("ended by {name}")) && !err.contains("reset"), "{way}: {err}");
        }
    }
}

/// Who traces waited for all that it traced, and so for this child. It heeds no Ctrl-C, as a shell begins it in the
/// background, and a signal to tollway alone ends the program and no other.
#[test]
fn a_signal_ends_a_program_at_once_whose_child_lives() {
    let bench = bench();
    let _cleared = Cleared(&bench);
    for way in ways() {
        for (signal, is_to_all, code) in
            [(Signal::INT, false, 143), (Signal::TERM, false, 143), (Signal::INT, true, 130)]
        {
            let child = sleeping(&bench, way, &["sh", "-c", "sleep 601.5 & exec sleep 601.75"], 2);
            let process = Pid::from_child(&child);
            match is_to_all {
                true => kill_process_group(process, signal).unwrap(),
                false => kill_process(process, signal).unwrap(),
            }
            eventually("the program is ended", || sleepers(&bench) == 1);
            eventually("tollway ends", || state(&format!("/proc/{}", child.id())) == Some('Z'));
            // It has the streams of the program, and would keep them open.
            drop(Cleared(&bench));
            let (_, err) = checked(&child.wait_with_output().unwrap(), code);
            assert!(err.contains("The bill of sh -c"), "{way}, {signal:?}: {err}");
            let is_named = way == "proc" || err.contains("which it began and which still runs");
            assert!(is_named, "{way}, {signal:?}: {err}");
        }
    }
}

#[test]
fn exit_codes_are_those_of_env_and_timeout() {
    let bench = bench();
    let script = |name: &str, text: &str, mode| {
        fs::write(bench.file(name), text).unwrap();
        fs::set_permissions(bench.file(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    script("no-interpreter", "#!/nosuchinterpreter\n", 0o755);
    script("no-program", "true\n", 0o644);
    for (program, code) in
        [("nosuchprogram", 127), ("./nosuchprogram", 127), ("/etc", 126), ("./no-program", 126)]
    {
        let (_, err) = bench.ends(&["bill", "--", program], code);
        assert!(err.contains(&format!("command `{program}`")), "{err}");
    }
    for way in ways() {
        let (_, err) = bench.ends(&["bill", "--by", way, "--", "./no-interpreter"], 127);
        assert!(err.contains("command `./no-interpreter`"), "{way}: {err}");
        for (script, code) in [("exit 3", 3), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)] {
            let (_, err) = bench.ends(&["bill", "--by", way, "--", "sh", "-c", script], code);
            let signal = [(139, "SIGSEGV"), (137, "SIGKILL")].into_iter().find(|(of, _)| *of == code);
            let named = signal.is_none_or(|(_, name)| err.contains(&format!("ended by {name}")));
            assert!(named && err.contains("ended by") == signal.is_some(), "{way}, {script}: {err}");
        }
    }
    // An error of tollway's own is told from one of the program's, and of the command line it stays what it is.
    let mut command = bench.tollway(&["bill", "--", "true"]);
    let (_, err) = checked(&command.env("TOLLWAY_STORE", "/proc/nosuch/tollway.db").output().unwrap(), 125);
    assert!(err.contains("/proc/nosuch"), "{err}");
    bench.ends(&["bill", "--for", "1x", "--", "true"], 2);
    bench.ends(&["bill", "--per", "nosuchcall", "--", "true"], 2);
}

#[test]
fn a_program_in_the_place_of_a_path_is_told_where_it_belongs() {
    let bench = bench();
    let (_, err) = bench.ends(&["bill", "ls"], 2);
    assert!(err.contains("`tollway bill -- ls`") && err.contains("capture"), "{err}");
    let (_, err) = bench.ends(&["bill", "--no-store", "ls", "-l"], 2);
    assert!(err.contains("`tollway bill --no-store -- ls -l` bills the program ls"), "{err}");
    let (_, err) = bench.ends(&["bill", "nosuchprogram"], 2);
    assert!(!err.contains("bill --"), "{err}");
}

#[test]
fn a_process_whose_first_thread_has_ended_is_billed_by_every_way() {
    let Some(lives) = lives() else { return };
    let bench = bench();
    let (_program, number) = runs(Command::new(lives).arg("without-first-thread"));
    eventually("its first thread ends", || state(&format!("/proc/{number}")) == Some('Z'));
    for way in ways() {
        let watching = ["bill", "--json", "--by", way, "--pid", &number, "--for", "500ms"];
        let (out, _) = bench.ends(&watching, 0);
        let bill: Value = serde_json::from_str(&out).unwrap();
        let watched = bill["watching"]["watched_s"].as_f64().unwrap();
        assert!(watched > 0.4, "{way}: {watched} s");
        let unseen = bill["watching"]["unseen"].to_string();
        assert_eq!(unseen.contains("with --by ptrace each of its calls"), way == "proc", "{way}: {unseen}");
        let line = bill["lines"].as_array().unwrap().iter().find(|line| line["what"] == "getppid");
        let calls = line.map_or(0.0, |line| line["count"].as_f64().unwrap());
        let ran = bill["ran"].as_f64().unwrap();
        assert!(if way == "proc" { ran > 0.0 } else { calls > 100.0 }, "{way}: {calls} calls, {ran} ns");
    }
}

#[test]
fn a_threads_number_is_told_from_a_process_number() {
    let Some(lives) = lives() else { return };
    let bench = bench();
    let (_program, number) = runs(Command::new(lives).arg("two-threads"));
    let other = || {
        let threads = fs::read_dir(format!("/proc/{number}/task")).ok()?.flatten();
        threads.filter_map(|one| one.file_name().into_string().ok()).find(|thread| *thread != number)
    };
    eventually("it has a second thread", || other().is_some());
    let (_, err) = bench.ends(&["bill", "--pid", &other().unwrap(), "--for", "100ms"], 2);
    assert!(err.contains(&format!("a thread of process {number}")), "{err}");
    assert!(err.contains(&format!("`--pid {number}`")), "{err}");
}

#[test]
fn a_process_that_is_billed_without_its_children_is_said_to_have_them() {
    let bench = bench();
    let _cleared = Cleared(&bench);
    let mut shell = Command::new("sh");
    bench.set_up(shell.args(["-c", "sleep 602.25 & sleep 602.5 & wait"]));
    let (_program, number) = runs(&mut shell);
    eventually("it has children", || {
        let children = fs::read_to_string(format!("/proc/{number}/task/{number}/children"));
        children.is_ok_and(|children| children.split_whitespace().count() == 2)
    });
    let watching = ["bill", "--pid", &number, "--for", "100ms"];
    let (out, _) = bench.ends(&watching, 0);
    assert!(out.contains("it has 2 children that run") && out.contains("`--children`"), "{out}");
    let (out, _) = bench.ends(&[&watching[..], &["--children"]].concat(), 0);
    assert!(!out.contains("children that run"), "{out}");
}
