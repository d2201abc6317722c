//! `tollway capture -i` on a cable of its own: against tcpdump, by every way, called off, without privileges.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, Command, Output};
use std::time::Duration;

use crate::asleep::process_falls_asleep;
use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::{Bench, SHORT, checked, ends, has_signal};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::Value;
use tollway_capture::engine::file::Reader;
use tollway_core::Requirement;
use tollway_host::requirement::{check, skip_test};
use tollway_wire::Cable;

/// Frames of a test.
const FRAMES: u64 = 20_000;
const FILTER: &str = "tcp port 80 or tcp port 443";

/// A cable, if this machine lets us have one.
fn cable() -> Option<Cable> {
    for requirement in [Requirement::NetworkNamespaces, Requirement::PacketSockets] {
        if let Err(missing) = check(&requirement) {
            skip_test(&["netns", "packet"], &missing);
            return None;
        }
    }
    Some(Cable::new().unwrap())
}

/// A capture that listens.
struct Listening {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Listening {
    fn start(cable: &Cable, mut command: Command) -> Listening {
        let mut child = cable.namespace().run(|| command.spawn()).unwrap().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended before it listened: {line}");
        }
        // tcpdump says so a little before it does.
        process_falls_asleep(child.id());
        Listening { child, said }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the number of a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Waits for its end, which is this exit code.
    fn ends(mut self, code: i32) -> (String, String) {
        let mut stderr = Vec::new();
        let mut stdout = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        self.said.read_to_end(&mut stderr).unwrap();
        checked(&Output { status: self.child.wait().unwrap(), stdout, stderr }, code)
    }

    fn called_off(self, signal: i32) -> (String, String) {
        self.signal(signal);
        self.ends(0)
    }
}

/// What is asked of a document that was printed: each of its schema's fields and no other.
fn has_the_fields_of(bench: &Bench, schema: &str, document: &Value) {
    let schema: Value = serde_json::from_str(&bench.ends(&["generate", "schema", schema], 0).0).unwrap();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&schema["properties"]), names(document));
}

/// `tollway capture -i right`, which listens.
fn listen(bench: &Bench, cable: &Cable, arguments: &[&str]) -> Listening {
    Listening::start(cable, bench.tollway(&[&["capture", "-i", Cable::RIGHT], arguments].concat()))
}

/// Sends frames, half of them to web ports.
fn send(bench: &Bench, cable: &Cable, frames: u64, rate: &str) -> Value {
    let frames = frames.to_string();
    let arguments = [
        "capture",
        "generate",
        "-i",
        Cable::LEFT,
        "--count",
        &frames,
        "--rate",
        rate,
        "--match",
        "0.5",
        "--mix",
    ];
    let mut command = bench.tollway(&[&arguments[..], &["imix", "--json"]].concat());
    let output = cable.namespace().run(|| command.output()).unwrap().unwrap();
    let report: Value = serde_json::from_str(&checked(&output, 0).0).unwrap();
    assert_eq!(
        report["sent"].as_u64().unwrap() + report["refused"].as_u64().unwrap(),
        frames.parse::<u64>().unwrap()
    );
    report
}

/// Bytes of a frame that comes after all others: none of these is as long.
const LAST: u32 = 999;
/// Bytes of the frame check sequence, which is counted on the wire and never seen.
const FCS: u32 = 4;

/// Sends one more frame, which the filter takes.
fn send_last(bench: &Bench, cable: &Cable) {
    let one = ["--count", "1", "--rate", "1k", "--match", "1", "--size", &LAST.to_string()];
    let mut command = bench.tollway(&[&["capture", "generate", "-i", Cable::LEFT], &one[..]].concat());
    checked(&cable.namespace().run(|| command.output()).unwrap().unwrap(), 0);
}

/// Whether it is in a file, which somebody still writes.
fn has_last(bench: &Bench, file: &str) -> bool {
    let Ok(mut reader) = Reader::open(&bench.file(file)) else { return false };
    let mut last = 0;
    while let Ok(Some(captured)) = reader.next() {
        last = captured.packet.wire_length;
    }
    last == LAST - FCS
}

fn document(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// Length on the wire and bytes of each packet of a file.
fn packets(bench: &Bench, file: &str) -> Vec<(u32, Vec<u8>)> {
    let mut reader = Reader::open(&bench.file(file)).unwrap();
    let mut all = Vec::new();
    while let Some(captured) = reader.next().unwrap() {
        all.push((captured.packet.wire_length, captured.packet.bytes.to_vec()));
    }
    all
}

#[test]
fn what_is_captured_is_what_tcpdump_captures() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    if Command::new("tcpdump").arg("--version").output().is_err() {
        return skip_test(&["tcpdump"], &"no comparison with tcpdump → install tcpdump");
    }
    let mut theirs = Command::new("tcpdump");
    bench.set_up(&mut theirs);
    theirs.args(["-Z", "root", "-i", Cable::RIGHT, "-B", "16384", "-U", "-w", "theirs.pcap", FILTER]);
    let theirs = Listening::start(&cable, theirs);
    let ours = listen(&bench, &cable, &["-U", "-w", "ours.pcap", "--json", FILTER]);
    let report = send(&bench, &cable, FRAMES, "50k");
    send_last(&bench, &cable);
    let sent = report["sent"].as_u64().unwrap() + 1;
    // What tcpdump has not read when it is called off it loses.
    eventually("tcpdump has read the last", || has_last(&bench, "theirs.pcap"));
    theirs.called_off(libc::SIGINT);
    let (out, _) = ours.called_off(libc::SIGINT);
    let told = document(&out);
    let ours = packets(&bench, "ours.pcap");
    assert!(ours == packets(&bench, "theirs.pcap"), "the files differ");
    assert_eq!(told["packets"]["captured"].as_u64(), Some(ours.len() as u64), "{told}");
    assert_eq!(told["packets"]["offered"].as_u64(), Some(sent), "{told}");
    assert_eq!(told["packets"]["balances"], true, "{told}");
    assert_eq!(told["ended"], "called-off");
    has_the_fields_of(&bench, "capture", &told);
    has_the_fields_of(&bench, "traffic", &report);
}

#[test]
fn every_way_captures_all_and_balances() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    for way in ["recv", "recvmmsg", "v2", "v3", "xdp", "auto"] {
        if way == "xdp"
            && let Err(missing) = check(&Requirement::AfXdp)
        {
            skip_test(&["af-xdp"], &missing);
            continue;
        }
        for place in ["kernel", "user", "both"] {
            let arguments = ["-w", "all.pcap", "--json", "--source", way, "--filter-in", place, FILTER];
            let capture = listen(&bench, &cable, &arguments);
            let sent = send(&bench, &cable, 5000, "50k")["sent"].as_u64().unwrap();
            let told = document(&capture.called_off(libc::SIGTERM).0);
            let packets = &told["packets"];
            let of = |name: &str| {
                packets[name].as_u64().unwrap_or_else(|| panic!("{way}, {place}: {name}: {told}"))
            };
            assert_eq!(of("offered"), sent, "{way}, {place}: {told}");
            assert_eq!(of("captured") + of("filtered_out"), sent, "{way}, {place}: {told}");
            assert_eq!(packets["balances"], true, "{way}, {place}: {told}");
            assert_eq!(self::packets(&bench, "all.pcap").len() as u64, of("captured"), "{way}, {place}");
        }
    }
}

#[test]
fn several_cores_share_the_packets_out() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let capture = listen(&bench, &cable, &["-w", "all.pcap", "--json", "--cores", "3"]);
    let sent = send(&bench, &cable, FRAMES, "50k")["sent"].as_u64().unwrap();
    let told = document(&capture.called_off(libc::SIGINT).0);
    assert_eq!(told["packets"]["captured"].as_u64(), Some(sent), "{told}");
    assert_eq!(told["packets"]["balances"], true, "{told}");
    assert_eq!(packets(&bench, "all.pcap").len() as u64, sent);
}

#[test]
fn it_ends_after_the_packets_that_were_asked_for() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    for cores in ["1", "2"] {
        let arguments = ["-w", "ten.pcap", "-c", "10", "--json", "--cores", cores, "--immediate-mode"];
        let capture = listen(&bench, &cable, &arguments);
        send(&bench, &cable, 2000, "20k");
        let told = document(&capture.ends(0).0);
        assert_eq!(told["ended"], "count", "{told}");
        assert_eq!(told["packets"]["captured"], 10, "{told}");
        assert_eq!(told["packets"]["balances"], true, "{told}");
        assert_eq!(packets(&bench, "ten.pcap").len(), 10);
    }
}

#[test]
fn signals_that_come_together_are_one() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    for _ in 0..5 {
        let capture = listen(&bench, &cable, &["-w", "all.pcap"]);
        send(&bench, &cable, 100, "10k");
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            capture.signal(signal);
            pause(Duration::from_micros(300));
        }
        let (_, err) = capture.ends(0);
        assert!(err.contains("100 captured"), "{err}");
        assert_eq!(packets(&bench, "all.pcap").len(), 100);
    }
}

#[test]
fn a_closed_terminal_ends_it_well_and_the_file_lags_a_second_at_most() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    for cores in ["1", "2"] {
        let capture = listen(&bench, &cable, &["-w", "hung-up.pcap", "--cores", cores]);
        let length = || fs::metadata(bench.file("hung-up.pcap")).unwrap().len();
        assert_eq!(length(), 24, "the header is not there");
        send(&bench, &cable, 10, "10k");
        eventually("packets are written while it captures", || packets(&bench, "hung-up.pcap").len() == 10);
        let (_, err) = capture.called_off(libc::SIGHUP);
        assert!(err.contains("10 captured"), "{err}");
        assert_eq!(packets(&bench, "hung-up.pcap").len(), 10);
    }
    // nohup(1)
    let mut command = Command::new("nohup");
    command.args([env!("CARGO_BIN_EXE_tollway"), "capture", "-i", Cable::RIGHT, "-w", "kept-on.pcap"]);
    bench.set_up(&mut command);
    let capture = Listening::start(&cable, command);
    assert!(has_signal(capture.child.id(), "SigIgn:", libc::SIGHUP), "it heeds what it was begun without");
    capture.signal(libc::SIGHUP);
    send(&bench, &cable, 10, "10k");
    let (_, err) = capture.called_off(libc::SIGTERM);
    assert!(err.contains("10 captured"), "{err}");
}

#[test]
fn more_queues_than_there_are_is_refused() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let arguments = ["capture", "-i", Cable::RIGHT, "-w", "x.pcap", "--source", "xdp", "--cores", "2"];
    let mut command = bench.tollway(&arguments);
    let output = cable.namespace().run(|| command.output()).unwrap().unwrap();
    let (_, err) = checked(&output, 2);
    assert!(err.contains("--cores 2") && err.contains("right has 1"), "{err}");
}

#[test]
fn an_interface_may_be_given_by_its_number() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let mut list = bench.tollway(&["capture", "-D"]);
    let (out, _) = checked(&cable.namespace().run(|| list.output()).unwrap().unwrap(), 0);
    let right =
        |line: &str| line.split_once(&format!(".{} ", Cable::RIGHT)).map(|(number, _)| number.to_owned());
    let number = out.lines().find_map(right).unwrap();
    let capture = Listening::start(&cable, bench.tollway(&["capture", "-i", &number, "--json"]));
    let told = document(&capture.called_off(libc::SIGINT).0);
    assert_eq!(told["source"]["interface"], Cable::RIGHT);
}

#[test]
fn packets_are_printed_as_they_come() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let capture = listen(&bench, &cable, &["-c", "20", "-n", "-t", "--immediate-mode", FILTER]);
    send(&bench, &cable, 200, "1k");
    let (out, err) = capture.ends(0);
    assert_eq!(out.lines().count(), 20, "{out}");
    assert!(out.lines().all(|line| line.starts_with("IP 198.18.0.") && line.contains("Flags [")), "{out}");
    assert!(err.contains("20 captured") && err.contains("filtered out (kernel)"), "{err}");
}

/// A line of /proc/…/status.
fn status(pid: u32, name: &str) -> String {
    let all = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
    line.unwrap().to_owned()
}

#[test]
fn privileges_are_gone_while_it_captures() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    for (arguments, user) in [(&["-w", "a.pcap"][..], "0"), (&["-w", "b.pcap", "-Z", "nobody"], "65534")] {
        for cores in ["1", "2"] {
            let capture = listen(&bench, &cable, &[arguments, &["--cores", cores]].concat());
            let pid = capture.child.id();
            for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
                assert_eq!(status(pid, set), "0000000000000000", "{set}");
            }
            assert_eq!(status(pid, "NoNewPrivs"), "1");
            assert_eq!(status(pid, "Uid"), [user; 4].join("\t"));
            for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
                let text = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
                assert!(text.contains("CapEff:\t0000000000000000"), "{text}");
            }
            // What was opened before still serves.
            send(&bench, &cable, 100, "10k");
            let (_, err) = capture.called_off(libc::SIGINT);
            assert!(err.contains("100 captured") && err.contains(": the account balances"), "{err}");
        }
    }
}

#[test]
fn an_interface_that_goes_is_told_and_what_came_is_kept() {
    for way in ["recv", "v2", "v3", "xdp"] {
        if way == "xdp"
            && let Err(missing) = check(&Requirement::AfXdp)
        {
            skip_test(&["af-xdp"], &missing);
            continue;
        }
        let Some(cable) = cable() else { return };
        let bench = Bench::with(SHORT);
        let mut capture = listen(&bench, &cable, &["-w", "kept.pcap", "--source", way]);
        send(&bench, &cable, 100, "10k");
        cable.namespace().run(|| tollway_wire::delete_link(Cable::LEFT)).unwrap().unwrap();
        ends(&mut capture.child);
        let (_, err) = capture.ends(1);
        assert!(err.contains("100 captured") && err.contains("interface right: it has gone"), "{way}: {err}");
        assert_eq!(packets(&bench, "kept.pcap").len(), 100);
    }
}

#[test]
fn an_interface_that_goes_down_is_told_and_waited_for() {
    for way in ["recv", "v2", "v3"] {
        let Some(cable) = cable() else { return };
        let bench = Bench::with(SHORT);
        let mut capture = listen(&bench, &cable, &["-w", "kept.pcap", "--source", way]);
        let mut line = String::new();
        for round in 1..3 {
            send(&bench, &cable, 100, "10k");
            for (up, says) in [(false, "interface right went down"), (true, "interface right is up again")] {
                cable.namespace().run(|| tollway_wire::set_up(Cable::RIGHT, up)).unwrap().unwrap();
                line.clear();
                capture.said.read_line(&mut line).unwrap();
                assert!(line.starts_with(says), "{way}, {round}: {line}");
            }
        }
        send(&bench, &cable, 100, "10k");
        let (_, err) = capture.called_off(libc::SIGINT);
        assert!(err.contains("300 captured"), "{way}: {err}");
        assert_eq!(packets(&bench, "kept.pcap").len(), 300);
        // One that is down does not keep anybody from calling it off.
        let mut capture = listen(&bench, &cable, &["-w", "kept.pcap", "--source", way]);
        cable.namespace().run(|| tollway_wire::set_up(Cable::RIGHT, false)).unwrap().unwrap();
        line.clear();
        capture.said.read_line(&mut line).unwrap();
        capture.called_off(libc::SIGINT);
    }
}

#[test]
fn several_cores_on_the_loopback_interface_have_every_packet_once() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    cable.namespace().run(|| tollway_wire::set_up("lo", true)).unwrap().unwrap();
    for cores in ["1", "2", "3"] {
        let command = bench.tollway(&["capture", "-i", "lo", "-w", "lo.pcap", "--cores", cores]);
        let capture = Listening::start(&cable, command);
        let sent = cable.namespace().run(|| {
            let to = std::net::UdpSocket::bind("127.0.0.1:0")?;
            let from = std::net::UdpSocket::bind("127.0.0.1:0")?;
            (0..10).try_for_each(|_| from.send_to(b"hello", to.local_addr()?).map(drop))
        });
        sent.unwrap().unwrap();
        let (_, err) = capture.called_off(libc::SIGINT);
        assert!(err.contains(" 10 captured") && err.contains(": the account balances"), "{cores}: {err}");
        assert_eq!(packets(&bench, "lo.pcap").len(), 10, "{cores}");
    }
}

#[test]
fn a_live_filter_with_a_loop_is_refused_but_in_user_space() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let filter = "ip protochain 17 or ip protochain 6";
    for place in ["kernel", "both"] {
        let mut command =
            bench.tollway(&["capture", "-i", Cable::RIGHT, "-w", "a.pcap", "--filter-in", place, filter]);
        let output = cable.namespace().run(|| command.output()).unwrap().unwrap();
        let (_, err) = checked(&output, 2);
        for says in ["the kernel's classic BPF takes no backward jumps", "--filter-in user"] {
            assert!(err.contains(says), "{err}");
        }
    }
    let capture = listen(&bench, &cable, &["-w", "a.pcap", "--filter-in", "user", filter]);
    let sent = send(&bench, &cable, 100, "10k");
    let (_, err) = capture.called_off(libc::SIGINT);
    assert!(err.contains(" 100 captured") && err.contains(": the account balances"), "{err} {sent}");
}

#[test]
fn frames_sent_to_an_end_that_is_down_are_refused_and_said_to_be() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let arguments = ["capture", "generate", "-i", Cable::LEFT, "--count", "50", "--rate", "5k"];
    let mut command = bench.tollway(&arguments);
    let down = || tollway_wire::set_up(Cable::RIGHT, false).map(|()| command.output());
    let output = cable.namespace().run(down).unwrap().unwrap().unwrap();
    let (out, err) = checked(&output, 1);
    assert!(out.contains("sent       0 frames") && !out.contains("frames/s"), "{out}");
    assert!(out.contains("50 frames, 50 of them since the interface had no carrier"), "{out}");
    assert!(err.contains("interface left: it had no carrier for 50 frames"), "{err}");
    // Of fifty none is the hundredth.
    assert!(out.contains("lateness   p50 ") && !out.contains("p99"), "{out}");
}

#[test]
fn without_privileges_it_says_what_would_help() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let ours = env!("CARGO_BIN_EXE_tollway");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", ours];
    for arguments in [
        &["capture", "-i", Cable::RIGHT][..],
        &["capture", "generate", "-i", Cable::LEFT, "--count", "1", "--rate", "full"],
    ] {
        let mut command = Command::new("setpriv");
        bench.set_up(&mut command);
        // The program may lie where nobody else looks.
        command.args(nobody).args(arguments).current_dir("/");
        let output = match cable.namespace().run(|| command.output()).unwrap() {
            Ok(output) if output.status.code() != Some(127) => output,
            _ => return println!("skipped: no setpriv, or it cannot run the program as nobody"),
        };
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        if err.contains("failed to execute") {
            return println!("skipped: nobody may not run the program where it lies");
        }
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains("sudo setcap cap_net_raw=ep"), "{err}");
    }
}

/// What a person at a terminal of 100 columns sees on standard error until the program has ended.
fn seen_on_a_terminal(cable: &Cable, mut command: Command, meanwhile: impl FnOnce(u32)) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let terminal: OwnedFd = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    command.stderr(terminal);
    let mut child = cable.namespace().run(|| command.spawn()).unwrap().unwrap();
    // It holds the terminal open otherwise, and the reader never sees its end.
    drop(command);
    let reader = std::thread::spawn(move || {
        let (mut seen, mut master) = (Vec::new(), fs::File::from(master));
        // Linux answers EIO once nobody has the terminal open.
        let _ = master.read_to_end(&mut seen);
        String::from_utf8_lossy(&seen).into_owned()
    });
    meanwhile(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap()
}

#[test]
fn on_a_terminal_a_line_tells_how_it_goes() {
    let Some(cable) = cable() else { return };
    let bench = Bench::with(SHORT);
    let command = bench.tollway(&["capture", "-i", Cable::RIGHT, "-w", "all.pcap"]);
    let seen = seen_on_a_terminal(&cable, command, |pid| {
        // The sockets of its network namespace, below a line of titles.
        let sockets = || fs::read_to_string(format!("/proc/{pid}/net/packet")).unwrap().lines().count() - 1;
        eventually("it listens", || sockets() > 0);
        send(&bench, &cable, 20_000, "10k");
        // SAFETY: the number of a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(pid as i32, libc::SIGINT) }, 0);
    });
    assert!(seen.contains("\r") && seen.contains("packets/s") && seen.contains("CPU "), "{seen:?}");
    assert!(seen.contains("20000 captured"), "{seen:?}");
}
