//! Streams: results on standard output, progress on standard error, a bar and colours on a terminal alone.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{Bench, SHORT};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Only a hang takes as long.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

const MEASURE: &[&str] = &["measure", "--preset-file", "short.toml"];

/// A terminal of this size: its master's end, and the one that a program has.
fn terminal_of(columns: u16, rows: u16) -> (OwnedFd, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    resize(&master, columns, rows);
    let terminal = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    (master, terminal)
}

fn resize(master: &OwnedFd, columns: u16, rows: u16) {
    tcsetwinsize(master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// What a person at a terminal of 100 columns sees on one of the streams.
fn on_a_terminal(bench: &Bench, arguments: &[&str], variable: (&str, &str), results: bool) -> String {
    seen(bench, arguments, variable, results, 100)
}

/// What a person at a terminal of so many columns sees on one of the streams.
fn seen(bench: &Bench, arguments: &[&str], variable: (&str, &str), results: bool, columns: u16) -> String {
    let (master, terminal) = terminal_of(columns, 40);
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

/// What is wider than a terminal would be broken by it within words. Only a word without a place to break it
/// may be wider.
#[test]
fn narrow_terminals_are_not_overflowed_and_no_word_is_broken() {
    let bench = Bench::with(SHORT);
    bench.ends(MEASURE, 0);
    bench.ends(MEASURE, 0);
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    for (arguments, is_same) in [
        (&["list"][..], true),
        (&["list", "crossings"], true),
        (&["list", "tolls"], true),
        (&["list", "claims"], true),
        (&["doctor"], false),
        (&["history"], false),
        (&["history", "crossings"], false),
        (&["report"], false),
        (&["compare", "1", "2"], false),
        (&["model"], false),
        (&["model", "mm1", "mu=10k/s", "lambda=8k/s"], false),
        (&["entropy", "speed", "--time", "0.01", "--runs", "2", "getrandom"], false),
    ] {
        let wide = bench.ends(arguments, 0).0;
        for columns in [80, 60, 40] {
            let narrow = seen(&bench, arguments, ("NO_COLOR", "1"), true, columns);
            for line in narrow.lines().filter(|line| !line.trim_start().starts_with("$ ")) {
                let is_word = line.trim().split(' ').count() == 1 && !line.trim().contains(['/', ',']);
                assert!(
                    is_word || line.chars().count() <= columns.into(),
                    "{arguments:?} {columns}: `{line}`"
                );
            }
            if is_same {
                assert!(bare(&narrow) == bare(&wide), "{arguments:?} {columns}: {narrow}");
            }
        }
    }
}

#[test]
fn live_bill_follows_the_size_of_its_terminal() {
    let bench = Bench::with(SHORT);
    let (master, terminal) = terminal_of(80, 24);
    let arguments = ["bill", "--live", "--by", "proc", "--", "sleep", "1000"];
    let mut child = bench.tollway(&arguments).stdout(terminal).stderr(Stdio::null()).spawn().unwrap();
    let mut reader = File::from(master.try_clone().unwrap());
    let (tell, frames) = std::sync::mpsc::channel::<String>();
    thread::spawn(move || {
        let (mut some, mut frame) = ([0; 4096], String::new());
        while let Ok(read @ 1..) = reader.read(&mut some) {
            frame.push_str(&String::from_utf8_lossy(&some[..read]));
            while let Some((whole, next)) = frame.split_once("\u{1b}[H\u{1b}[2J") {
                let (whole, next) = (whole.to_owned(), next.to_owned());
                frame = next;
                if tell.send(whole).is_err() {
                    return;
                }
            }
        }
    });
    let fits = |frame: &str, columns: usize, rows: usize| {
        let is_word = |line: &str| line.trim().split(' ').count() == 1;
        frame.lines().count() < rows && frame.lines().all(|l| l.chars().count() <= columns || is_word(l))
    };
    // Its prices are measured first.
    let next = || frames.recv_timeout(5 * HANG_TIMEOUT).expect("a screen");
    // Before the first screen is nothing.
    assert!(next().is_empty());
    let first = next();
    assert!(fits(&first, 80, 24) && !fits(&first, 40, 8), "{first}");
    resize(&master, 40, 8);
    // Some may have been drawn already.
    let given_up = Instant::now() + HANG_TIMEOUT;
    while let frame = next()
        && !fits(&frame, 40, 8)
    {
        assert!(Instant::now() < given_up, "{frame}");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    bench.nothing_stays_behind();
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
