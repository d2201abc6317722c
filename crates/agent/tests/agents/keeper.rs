//! A keeper without ssh around it: what it says and starts, and that all of it is gone when it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::eventually::eventually;
use tollway_core::Requirement;
use tollway_tenant::protocol::{Hello, Reply};
use tollway_tenant::ssh::words::{self, KEEPER, OPENING, Order, Word};

struct Kept {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

impl Kept {
    fn new() -> Kept {
        // A link where the agent's file system is, not a copy: a child that another test starts while a copy
        // is written has it open for writing until its own exec, and such a file is not run (ETXTBSY).
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let own = folder.path().join("own");
        fs::create_dir(&own).unwrap();
        let file = own.join("agent");
        fs::hard_link(env!("CARGO_BIN_EXE_tollway-agent"), &file).unwrap();
        let mut command = Command::new(&file);
        command.arg("keep").arg(&own).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("TOLLWAY_TEST_KEEPER", folder.path());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut kept = Kept { child, to, from, folder };
        let hello = loop {
            let line = words::line(&mut kept.from).unwrap().expect("a hello");
            if let Some(hello) = line.strip_prefix(OPENING.as_bytes()) {
                break hello.to_vec();
            }
        };
        assert_eq!(serde_json::from_slice::<Hello>(&hello).unwrap().pid, kept.child.id());
        assert!(!own.exists(), "its file and folder are there while it runs");
        kept
    }

    fn order(&mut self, order: &Order) {
        words::say_document(self.to.as_mut().unwrap(), KEEPER, order).unwrap();
    }

    fn heard(&mut self) -> (u32, Vec<u8>) {
        words::heard(&mut self.from).unwrap().expect("it ended")
    }

    fn word(&mut self) -> Word {
        let (number, line) = self.heard();
        assert_eq!(number, KEEPER, "{}", String::from_utf8_lossy(&line));
        serde_json::from_slice(&line).unwrap()
    }

    fn starts(&mut self, number: u32, environment: BTreeMap<String, String>) -> Hello {
        self.order(&Order::Start { number, environment });
        let (from, hello) = self.heard();
        assert_eq!(from, number, "{}", String::from_utf8_lossy(&hello));
        serde_json::from_slice(&hello).unwrap()
    }

    /// Processes that it and its agents are.
    fn processes(folder: &Path) -> usize {
        let mark = format!("TOLLWAY_TEST_KEEPER={}", folder.display());
        let of_it = |pid: &str| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environment| environment.split(|b| *b == 0).any(|v| v == mark.as_bytes()))
        };
        let names = fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().into_string().ok());
        names.filter(|name| name.bytes().all(|b| b.is_ascii_digit()) && of_it(name)).count()
    }

    /// All of it ends.
    fn ends(mut self) -> Option<i32> {
        let status = self.child.wait().unwrap();
        eventually("its agents end", || Self::processes(self.folder.path()) == 0);
        status.code()
    }
}

#[test]
fn agents_are_started_heard_and_stopped_and_end_with_it() {
    let mut kept = Kept::new();
    let first = kept.starts(1, BTreeMap::new());
    let clock = BTreeMap::from([("TOLLWAY_CLOCK".to_owned(), "monotonic".to_owned())]);
    let second = kept.starts(2, clock);
    assert_ne!(first.pid, second.pid);
    assert_eq!(second.counts.name(), "monotonic");
    words::say(kept.to.as_mut().unwrap(), 2, br#"{"actor":9,"command":"clock"}"#).unwrap();
    let (number, reply) = kept.heard();
    assert_eq!((number, serde_json::from_slice::<Reply>(&reply).unwrap().actor), (2, 9));
    kept.order(&Order::Stop(1));
    let Word::Ended { number: 1, how } = kept.word() else { panic!() };
    assert!(how.contains("signal: 9"), "{how}");
    assert!(fs::metadata(format!("/proc/{}", first.pid)).is_err(), "it was not waited for");
    drop(kept.to.take());
    assert_eq!(kept.ends(), Some(0));
}

#[test]
fn agents_end_with_a_keeper_that_is_killed() {
    let mut kept = Kept::new();
    kept.starts(1, BTreeMap::new());
    kept.child.kill().unwrap();
    kept.ends();
}

#[test]
fn an_agent_that_ends_by_itself_is_told() {
    let mut kept = Kept::new();
    kept.starts(7, BTreeMap::new());
    words::say(kept.to.as_mut().unwrap(), 7, b"nonsense").unwrap();
    let Word::Ended { number: 7, how } = kept.word() else { panic!() };
    assert!(how.contains("exit status: 1"), "{how}");
    drop(kept.to.take());
    assert_eq!(kept.ends(), Some(0));
}

#[test]
fn it_says_what_this_machine_is_and_does() {
    let mut kept = Kept::new();
    kept.order(&Order::Survey);
    let Word::Surveyed(survey) = kept.word() else { panic!() };
    assert_eq!(survey.fingerprint.machine_id(), tollway_host::fingerprint::read().machine_id());
    assert!(survey.hz > 1e6 && !survey.cpus.is_empty());
    kept.order(&Order::Check(Requirement::Cores(1_000_000)));
    let Word::Checked(Some(missing)) = kept.word() else { panic!() };
    assert!(missing.what.contains("1000000"), "{missing}");
    kept.order(&Order::Check(Requirement::Cores(1)));
    let Word::Checked(None) = kept.word() else { panic!() };
    kept.order(&Order::Beat);
    let read = |kept: &mut Kept| {
        kept.order(&Order::Read);
        let Word::Reading(reading) = kept.word() else { panic!() };
        *reading
    };
    let begun = Instant::now();
    let first = read(&mut kept);
    let mut second = first.clone();
    // To read takes it some.
    eventually("its processor time moves", || {
        second = read(&mut kept);
        second.own > first.own
    });
    let (delta, took) = (second.meters.since(&first.meters), begun.elapsed());
    assert!(delta.seconds > 0.0 && delta.seconds <= 1.01 * took.as_secs_f64(), "{took:?} {delta:?}");
    drop(kept.to.take());
    assert_eq!(kept.ends(), Some(0));
}

#[test]
fn who_says_nonsense_is_no_coordinator() {
    for nonsense in ["nonsense\n", "0 nonsense\n", "0 {\"start\":1}\n", "0 {"] {
        let mut kept = Kept::new();
        kept.starts(1, BTreeMap::new());
        kept.to.as_mut().unwrap().write_all(nonsense.as_bytes()).unwrap();
        drop(kept.to.take());
        assert_eq!(kept.ends(), Some(1), "{nonsense}");
    }
}
