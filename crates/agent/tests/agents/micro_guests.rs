//! Many micro-guests in one agent, at the same time: each actor has a machine of its own, made when it was ready.
//!
//! Without `/dev/kvm` this says why it does nothing, unless `TOLLWAY_REQUIRE` names `micro-guest` or `kvm`.

use std::io::BufReader;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::eventually::eventually;
use tollway_core::{Clock, Lot, Params, TenantKind, Window};
use tollway_host::clock::RunClock;
use tollway_host::cpu::allowed_cpus;
use tollway_tenant::micro;
use tollway_tenant::protocol::{self, Answer, Hello, Make, Reply, Request};

const ACTORS: u32 = 60;

/// Whether this machine has micro-guests; else says why not.
fn possible() -> bool {
    let Err(error) = micro::check() else { return true };
    tollway_host::requirement::skip_test(&["micro-guest", "kvm"], &error);
    false
}

/// How to make an actor that outputs to a port in a loop.
fn make(cpu: u32, hz: f64) -> Make {
    let registry = tollway_all::registry();
    let variant = registry.path("crossings").unwrap().variant("exit-port").unwrap();
    let params = Params::new().complete(&variant.axes()).unwrap();
    let role = variant.plan(&params).unwrap().roles[0].clone();
    assert_eq!(role.tenant, TenantKind::MicroGuest);
    Make {
        path: "crossings".into(),
        variant: "exit-port".into(),
        role: role.name,
        params,
        tenant: TenantKind::MicroGuest,
        cpu: Some(cpu),
        doorbells: role.doorbells,
        measured: true,
        hz,
        requires: Vec::new(),
        lot: Lot::default(),
    }
}

/// All of them run in one window and record something, what they counted agrees with what their guests were seen to
/// do, and when they are finished the agent holds nothing of them.
#[test]
fn sixty_in_one_agent() {
    if !possible() {
        return;
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut agent = Command::new(env!("CARGO_BIN_EXE_tollway-agent"))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut from = BufReader::new(ours.try_clone().unwrap());
    let _: Hello = protocol::receive(&mut from).unwrap().unwrap();
    let held = |what| std::fs::read_dir(format!("/proc/{}/{what}", agent.id())).unwrap().count();
    let before = held("fd");

    // A command to every actor, and then the answers in any order.
    let mut all = |command: protocol::Command| -> Vec<Answer> {
        for actor in 0..ACTORS {
            protocol::send(&mut &ours, &Request { actor, command: command.clone() }).unwrap();
        }
        let mut answers = Vec::new();
        for _ in 0..ACTORS {
            let reply: Reply = protocol::receive(&mut from).unwrap().expect("the agent ended");
            assert!(!matches!(reply.answer, Answer::Failed(_)), "{reply:?}");
            answers.push(reply.answer);
        }
        answers
    };
    let hz = tollway_host::clock::calibrate().hz;
    let cpu = allowed_cpus().unwrap()[0];
    all(protocol::Command::Make(make(cpu, hz)));
    all(protocol::Command::Ready(Vec::new()));
    // Each has at least its machine, its processor, and what wakes it.
    assert!(held("fd") >= before + 3 * ACTORS as usize, "{} descriptors", held("fd"));
    let ticks = |ms: f64| (ms * 1e-3 * hz) as u64;
    let warm = RunClock::chosen().now() + ticks(20.0);
    let (open, close) = (warm + ticks(5.0), warm + ticks(1000.0));
    let ran = all(protocol::Command::Run(Window { warm, open, close, batch: 1, planted: 0 }));
    for answer in ran {
        let Answer::Ran(ran) = answer else { panic!("{answer:?}") };
        assert!(ran.spread.as_ref().is_some_and(|spread| spread.ops > 0), "{ran:?}");
    }
    for answer in all(protocol::Command::Finish) {
        assert!(matches!(answer, Answer::Finished(_)), "{answer:?}");
    }
    // Threads and machines are gone a moment after the last answer.
    eventually("it has what it had before", || held("fd") <= before + 1 && held("task") == 1);
    drop((ours, from));
    assert!(agent.wait().unwrap().success());
}
