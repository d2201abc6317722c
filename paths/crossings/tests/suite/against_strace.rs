//! What is timed held against what strace(1) sees: each sample is so many calls of the kind that its key names, and no other.
//!
//! The test runs itself under strace. The one within makes a call that fails before and after what would be timed; between these two
//! lines strace has to have as many lines of its thread as the figure is divided by.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::mpsc::channel;
use std::{env, fs, thread};

use rustix::thread::gettid;
use tollway_core::{Error, Lot, Missing, Params, Place, TenantKind};
use tollway_crossings::engine::asleep::{Sleep, WakeUp};
use tollway_crossings::engine::hand_over::HandOver;
use tollway_crossings::engine::single::{KINDS, SystemCall};
use tollway_crossings::engine::{Caller, Exchange, Operation, Server};
use tollway_host::requirement::{program, skip_test};

/// Set where this program runs under strace.
const WITHIN: &str = "TOLLWAY_CROSSINGS_UNDER_STRACE";

/// A descriptor that is not open: writing to it does nothing and is seen.
const NOBODY: i32 = 1_000_000;

/// A line for strace: what begins, how many calls it should be of, and of which.
fn mark(what: &str) {
    // SAFETY: the text is live memory of that length; there is no such descriptor.
    unsafe { libc::write(NOBODY, what.as_ptr().cast(), what.len()) };
}

fn place() -> Place {
    Place {
        tenant: TenantKind::Thread,
        peers: Vec::new(),
        doorbells: Vec::new(),
        exits: None,
        lot: Lot::default(),
    }
}

/// Every kind, hot and cold, between marks.
fn within() {
    for (kind, warmth) in KINDS.iter().flat_map(|kind| ["hot", "cold"].map(|warmth| (kind, warmth))) {
        let size = kind.most.min(512);
        let params = Params::new().with("kind", kind.name).with("size", size).with("warmth", warmth);
        let mut operation = match SystemCall::prepare(&params, &place()) {
            Err(Error::Missing(_)) => continue,
            made => made.unwrap(),
        };
        for _ in 0..3 {
            if operation.uses_up() {
                operation.restock();
            }
            mark(&format!("begin {}/{warmth} {} {}", kind.name, operation.operations(), kind.call));
            operation.once();
            mark("end");
        }
        assert!(warmth == "hot" || operation.operations() == 1, "{} is not alone", kind.name);
        operation.verify(3 * u64::from(operation.operations())).unwrap();
    }
    let params = Params::new().with("placement", "across");
    let (mut waker, memory) = WakeUp::caller(&params, &place()).unwrap();
    let mut sleeper = WakeUp::server(&params, memory).unwrap();
    let (tell, told) = channel();
    thread::spawn(move || tell.send(sleeper.serve().unwrap()));
    for _ in 0..3 {
        waker.put_to_sleep();
        mark("begin wake-up 1 futex");
        waker.ask();
        mark("end");
    }
    waker.stop().unwrap();
    assert_eq!(told.recv().unwrap(), 3);
    let (mut asleep, memory) = Sleep::caller(&params, &place()).unwrap();
    let mut awake = Sleep::server(&params, memory).unwrap();
    let serving = thread::spawn(move || awake.serve().unwrap());
    asleep.begin();
    for _ in 0..3 {
        mark("begin sleep 1 futex");
        asleep.ask();
        mark("end");
    }
    asleep.stop().unwrap();
    assert_eq!(serving.join().unwrap(), 3);
    for kind in ["pipe", "eventfd", "unix-stream", "tcp-loopback"] {
        let params = Params::new().with("placement", "across").with("kind", kind);
        let (mut asking, sent) = HandOver::caller(&params, &place()).unwrap();
        let mut server = HandOver::server(&params, sent).unwrap();
        let serving = thread::spawn(move || server.serve().unwrap());
        for _ in 0..3 {
            mark(&format!("begin hand-over-{kind} 1 write,read"));
            asking.ask();
            mark("end");
        }
        asking.stop().unwrap();
        assert_eq!(serving.join().unwrap(), 3);
    }
    println!("marked by {}", gettid().as_raw_nonzero());
}

#[test]
fn a_sample_is_so_many_calls_and_no_others() {
    if env::var_os(WITHIN).is_some() {
        return within();
    }
    let strace = match program("strace", "strace") {
        Ok(strace) => strace,
        Err(missing) => return skip_test(&["strace"], &missing),
    };
    let folder = env::temp_dir().join(format!("tollway-strace-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let seen = folder.join("seen");
    let output = Command::new(strace)
        .args(["-f", "-s", "64", "-e", "signal=none", "-o"])
        .arg(&seen)
        .arg(env::current_exe().unwrap())
        .args(["--exact", "against_strace::a_sample_is_so_many_calls_and_no_others"])
        .env(WITHIN, "1")
        .output()
        .unwrap();
    let lines = fs::read_to_string(&seen).unwrap_or_default();
    fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("ptrace") || said.contains("PTRACE") {
        let missing =
            Missing::new("strace", said.to_string(), "allow ptrace (kernel.yama.ptrace_scope, seccomp)");
        return skip_test(&["strace"], &missing);
    }
    assert!(output.status.success(), "{}{said}", String::from_utf8_lossy(&output.stdout));
    let played = compare(&lines);
    assert!(played.len() >= 40, "only {played:?} were played");
    assert!(played.values().all(|samples| *samples == 3), "{played:?}");
}

/// Holds what is between marks against what they say; returns how many samples of each kind there were.
fn compare(lines: &str) -> BTreeMap<String, u32> {
    let mark = format!("write({NOBODY}, \"");
    let mut played = BTreeMap::new();
    // The thread, what it is at, how many calls are to come, and which.
    let mut at: Option<(String, String, usize, String)> = None;
    let mut calls: Vec<String> = Vec::new();
    for line in lines.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(rest) = call.strip_prefix(&mark) {
            let text = rest.split('"').next().unwrap();
            let words: Vec<_> = text.split(' ').collect();
            match (words[..].first(), at.take()) {
                (Some(&"begin"), None) => {
                    at = Some((thread.into(), words[1].into(), words[2].parse().unwrap(), words[3].into()));
                }
                (Some(&"end"), Some((_, kind, count, name))) => {
                    // In turn, where there are several.
                    let names: Vec<&str> = name.split(',').collect();
                    let meant = names.iter().cycle().zip(&calls);
                    let all = { meant }.all(|(name, call)| call.starts_with(&format!("{name}(")));
                    let count = count * names.len();
                    assert!(all && calls.len() == count, "{kind}: {count} of {name}, but: {calls:#?}");
                    *played.entry(kind).or_default() += 1;
                }
                other => panic!("{line}: {other:?}"),
            }
            calls.clear();
        } else if at.as_ref().is_some_and(|(of, ..)| of == thread) && !call.starts_with("<...") {
            calls.push(call.into());
        }
    }
    played
}
