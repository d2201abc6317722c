//! An agent that is told nonsense: it says why and ends, or answers and goes on; it never hangs and never panics.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::eventually::eventually;
use proptest::prelude::*;
use tollway_host::samplers::thread_time::process_of;
use tollway_tenant::protocol::{self, Answer, Hello, LONGEST_LINE, Reply};

/// An agent and the socket to it.
struct Agent {
    child: Child,
    socket: UnixStream,
    from: BufReader<UnixStream>,
}

fn start(stdin: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollway-agent"));
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::piped()).env("RUST_BACKTRACE", "0");
    command.spawn().unwrap()
}

/// How it ended, with what it said; fails where it does not end by itself.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut status = None;
    eventually("the agent ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!said.contains("panicked"), "{said}");
    (status.unwrap().code(), said)
}

impl Agent {
    fn new() -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let child = start(Stdio::from(OwnedFd::from(theirs)));
        ours.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut from = BufReader::new(ours.try_clone().unwrap());
        let hello: Hello = protocol::receive(&mut from).unwrap().unwrap();
        assert_eq!((hello.protocol, hello.pid), (protocol::VERSION, child.id()));
        Agent { child, socket: ours, from }
    }

    fn says(&mut self, line: &str) -> Reply {
        self.socket.write_all(line.as_bytes()).unwrap();
        self.socket.write_all(b"\n").unwrap();
        protocol::receive(&mut self.from).unwrap().expect("it ended instead of answering")
    }

    fn refuses(&mut self, actor: u32, line: &str, why: &str) {
        let reply = self.says(line);
        assert_eq!(reply.actor, actor);
        match reply.answer {
            Answer::Failed(error) => assert!(error.to_string().contains(why), "{error}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

/// A command that makes the measured actor of that path and variant.
fn make(actor: u32, path: &str, variant: &str, role: &str, cpu: u32) -> String {
    format!(
        r#"{{"actor":{actor},"command":{{"make":{{"path":"{path}","variant":"{variant}","role":"{role}","params":{{}},
        "tenant":"process","cpu":{cpu},"doorbells":0,"measured":true,"hz":1e9,"requires":[],
        "lot":{{"number":0,"seed":1}}}}}}}}"#
    )
    .replace('\n', " ")
}

fn processor() -> u32 {
    tollway_host::cpu::allowed_cpus().unwrap()[0]
}

#[test]
fn what_is_no_socket_is_no_coordinator() {
    let (_reader, writer) = std::io::pipe().unwrap();
    let file = std::fs::File::open("/proc/self/status").unwrap();
    for stdin in [Stdio::null(), Stdio::from(writer), Stdio::from(file)] {
        let (code, said) = ended(start(stdin));
        assert_eq!(code, Some(1));
        assert!(said.contains("no socket") && said.contains("started by `tollway`"), "{said}");
    }
}

#[test]
fn a_closed_standard_input_is_no_coordinator() {
    let shell = format!("exec '{}' <&-", env!("CARGO_BIN_EXE_tollway-agent"));
    let mut command = Command::new("sh");
    let child = command.args(["-c", &shell]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (code, said) = ended(child);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("tollway-agent: "), "{said}");
}

#[test]
fn it_ends_quietly_with_its_coordinator() {
    let agent = Agent::new();
    agent.socket.shutdown(Shutdown::Both).unwrap();
    assert_eq!(ended(agent.child), (Some(0), String::new()));
}

/// As after a second Ctrl-C: it said "Connection reset by peer" then.
#[test]
fn it_ends_quietly_with_a_coordinator_that_left_answers_unread() {
    let mut agent = Agent::new();
    writeln!(agent.socket, r#"{{"actor":1,"command":"clock"}}"#).unwrap();
    // The answer is there, and nobody reads it.
    rustix::net::recv(&agent.socket, &mut [0; 1][..], rustix::net::RecvFlags::PEEK).unwrap();
    drop((agent.socket, agent.from));
    assert_eq!(ended(agent.child), (Some(0), String::new()));
}

#[test]
fn it_ends_when_it_is_told_to_and_says_so() {
    let mut agent = Agent::new();
    assert_eq!(agent.says(r#"{"actor":9,"command":"end"}"#), Reply { actor: 9, answer: Answer::Ended });
    assert_eq!(ended(agent.child), (Some(0), String::new()));
}

#[test]
fn it_ends_with_its_coordinator_whatever_its_actors_do() {
    let mut agent = Agent::new();
    assert_eq!(agent.says(&make(1, "null", "batched", "idler", processor())).answer, Answer::Made);
    assert!(matches!(agent.says(r#"{"actor":1,"command":{"ready":[]}}"#).answer, Answer::Ready(_)));
    // A window that opens in some centuries: the actor spins.
    let centuries = u64::MAX / 2;
    let run = format!(
        r#"{{"actor":1,"command":{{"run":{{"warm":{centuries},"open":{centuries},"close":{centuries},"batch":1,"planted":0}}}}}}"#
    );
    writeln!(agent.socket, "{run}").unwrap();
    let ran = || process_of(agent.child.id() as i32).unwrap();
    let before = ran();
    eventually("it spins", || ran() > before + Duration::from_millis(20));
    assert!(agent.child.try_wait().unwrap().is_none(), "it ended in the middle of its run");
    drop((agent.socket, agent.from));
    assert_eq!(ended(agent.child).0, Some(0));
}

#[test]
fn a_line_that_is_no_command_ends_it_with_the_reason() {
    for line in ["rubbish", "{}", "[1,2]", r#"{"actor":-1,"command":"finish"}"#, "\u{0}\u{1}", ""] {
        let mut agent = Agent::new();
        writeln!(agent.socket, "{line}").unwrap();
        let (code, said) = ended(agent.child);
        assert_eq!(code, Some(1), "{line:?}");
        assert!(said.starts_with("tollway-agent: ") && said.lines().count() == 1, "{line:?}: {said}");
    }
}

#[test]
fn a_line_without_end_is_not_kept_in_memory_for_ever() {
    let mut agent = Agent::new();
    let block = vec![b' '; 1 << 20];
    let mut sent = 0;
    // It may stop listening as soon as the line is too long.
    while sent <= LONGEST_LINE && agent.socket.write_all(&block).is_ok() {
        sent += block.len() as u64;
    }
    let (code, said) = ended(agent.child);
    assert_eq!(code, Some(1));
    assert!(said.contains("longer than"), "{said}");
    assert!(sent >= LONGEST_LINE);
}

#[test]
fn what_cannot_be_done_is_answered_and_it_goes_on() {
    let mut agent = Agent::new();
    let cpu = processor();
    agent.refuses(7, r#"{"actor":7,"command":"finish"}"#, "never made");
    agent.refuses(7, r#"{"actor":7,"command":{"ready":[]}}"#, "never made");
    let needy = make(8, "null", "batched", "idler", cpu).replace("[]", r#"[{"cores":1000000}]"#);
    agent.refuses(8, &needy, "1000000 processors");
    agent.refuses(1, &make(1, "nowhere", "batched", "idler", cpu), "path `nowhere`");
    agent.refuses(2, &make(2, "null", "none", "idler", cpu), "variant `none`");
    assert!(matches!(agent.says(r#"{"actor":5,"command":"clock"}"#).answer, Answer::Clock(1..)));
    agent.refuses(3, &make(3, "null", "batched", "idler", 100_000), "100000");
    assert_eq!(agent.says(&make(4, "null", "batched", "idler", cpu)).answer, Answer::Made);
    assert!(matches!(agent.says(r#"{"actor":4,"command":{"ready":[]}}"#).answer, Answer::Ready(_)));
    // A window that is long over still brings a sample.
    let run = r#"{"actor":4,"command":{"run":{"warm":1,"open":2,"close":3,"batch":5,"planted":0}}}"#;
    match agent.says(run).answer {
        Answer::Ran(ran) => {
            assert!(ran.spread.unwrap().samples() > 0 && ran.late > 0);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(agent.says(r#"{"actor":4,"command":"finish"}"#).answer, Answer::Finished(_)));
    drop((agent.socket, agent.from));
    assert_eq!(ended(agent.child).0, Some(0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever arrives, it ends by itself, and says so where it was nonsense.
    #[test]
    fn bytes_never_make_it_panic_or_hang(bytes in proptest::collection::vec(any::<u8>(), 1..400)) {
        let mut agent = Agent::new();
        let _ = agent.socket.write_all(&bytes);
        agent.socket.shutdown(Shutdown::Write).unwrap();
        let mut rest = String::new();
        while agent.from.read_line(&mut rest).is_ok_and(|read| read > 0) {}
        let (code, said) = ended(agent.child);
        prop_assert!(code == Some(0) || (code == Some(1) && said.starts_with("tollway-agent: ")), "{:?} {}", code, said);
    }
}
