//! Streams: results on standard output, progress on standard error, a bar and colours on a terminal alone.

#[allow(dead_code)]
mod program;

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::thread;

use program::{Bench, SHORT};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const MEASURE: &[&str] = &["measure", "--preset-file", "short.toml"];

/// What a person at a terminal of 100 columns sees on one of the streams.
fn on_a_terminal(bench: &Bench, arguments: &[&str], variable: (&str, &str), results: bool) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let window = Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, window).unwrap();
    let terminal: OwnedFd = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    let mut command = bench.tollway(arguments);
    command.env("TERM", "xterm-256color").env(variable.0, variable.1);
    if results {
        command.stdout(terminal).stderr(Stdio::null());
    } else {
        command.stderr(terminal).stdout(Stdio::null());
    }
    let mut child = command.spawn().unwrap();
    // It holds the terminal open otherwise, and the reader never sees its end.
    drop(command);
    let reader = thread::spawn(move || {
        let (mut seen, mut master) = (Vec::new(), File::from(master));
        // Linux answers EIO once nobody has the terminal open.
        let _ = master.read_to_end(&mut seen);
        String::from_utf8_lossy(&seen).into_owned()
    });
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap()
}

#[test]
fn a_bar_with_the_time_left_stands_on_a_terminal() {
    let long = [MEASURE, &["--runs", "100"]].concat();
    let seen = on_a_terminal(&Bench::with(SHORT), &long, ("X", "1"), false);
    assert!(seen.contains('█') && seen.contains(" left"), "{seen:?}");
    assert!(seen.contains("system call (getppid)"), "{seen:?}");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let bench = Bench::with(SHORT);
    bench.ends(MEASURE, 0);
    let escaped = |variable| on_a_terminal(&bench, &["report"], variable, true).contains('\u{1b}');
    assert!(escaped(("X", "1")), "a terminal has no colours");
    assert!(!escaped(("NO_COLOR", "1")), "NO_COLOR is not heeded");
}

#[test]
fn elsewhere_all_is_plain() {
    let bench = Bench::with(SHORT);
    let (out, err) = bench.ends(MEASURE, 0);
    for text in [&out, &err] {
        assert!(!text.contains('\u{1b}') && !text.contains('\r') && !text.contains('█'), "{text:?}");
    }
    assert!(err.contains("measuring: ") && !out.contains("measuring: "), "{err}");
    let (out, _) = bench.ends(&["doctor"], 0);
    assert!(!out.contains('\u{1b}'), "{out}");
}

#[test]
fn a_pipe_that_was_closed_is_no_error() {
    let bench = Bench::with(SHORT);
    bench.ends(MEASURE, 0);
    for arguments in [
        &["list", "crossings"][..],
        &["list", "--json"],
        &["report"],
        &["report", "--json"],
        &["history"],
        &["doctor"],
        &["generate", "completions", "bash"],
        &["generate", "schema", "run"],
        &["--help"],
        MEASURE,
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench.tollway(arguments).stdout(writer).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {err}");
        // Whether the machine is steady, and what is to come.
        assert!(
            err.is_empty() || err.starts_with("machine: ") || err.starts_with("measuring: "),
            "{arguments:?}: {err}"
        );
    }
    // Nobody listens to the progress either.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = bench.tollway(MEASURE).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("getppid"));
}
