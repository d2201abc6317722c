//! Runs of the TCP server of the path `ipc` that are killed at any moment: no process of theirs is left, no network namespace, and no link.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::Bench;
use crate::program::namespaces::{behind, held_by, holders};
use rustix::process::{Pid, Signal, kill_process_group};
use tollway_core::Requirement;
use tollway_host::requirement::test_has;
use tollway_wire::{Interface, Namespace};

const NEEDS: &[(Requirement, &str)] = &[
    (Requirement::Cores(2), "cores"),
    (Requirement::NetworkNamespaces, "netns"),
    (Requirement::PacketSockets, "packet"),
];

/// More than there is time for.
fn preset(variant: &str) -> String {
    format!(
        "[preset]\nname = \"short\"\npath = \"ipc\"\n\
         [trial]\nwindow_ms = 100.0\nwarmup_ms = 4.0\nruns = 50\nrepeats = 4\n\
         [[case]]\nvariant = \"{variant}\"\nconnections = [1, 16]\n"
    )
}

/// Both namespaces of a network that a process of this run has, and the client's, which is here as well from now on. None where the process has but begun
/// to make it.
fn network(bench: &Bench) -> Option<(Vec<String>, Namespace)> {
    let own = behind("/proc/self/ns/net")?;
    bench.processes().iter().find_map(|process| {
        let held: Vec<_> = held_by(process).into_iter().filter(|(_, which)| *which != own).collect();
        let client = held.iter().find_map(|(path, _)| {
            let namespace = Namespace::at(path).ok()?;
            let has = namespace.run(|| Interface::named("client").is_ok()).unwrap_or(false);
            has.then_some(namespace)
        });
        let both: Vec<_> = held.into_iter().map(|(_, which)| which).collect();
        client.filter(|_| both.len() == 2 && both[0] != both[1]).map(|client| (both, client))
    })
}

#[test]
fn a_killed_run_leaves_no_network() {
    if !test_has(NEEDS) {
        return;
    }
    let kills = [
        ("tcp-async", 0, false),
        ("tcp-async", 150, true),
        ("tcp-handoff", 40, false),
        ("tcp-epoll", 80, false),
    ];
    for (variant, after, is_whole_group) in kills {
        let bench = Bench::with(&preset(variant));
        let mut command = bench.tollway(&["measure", "--preset-file", "short.toml"]);
        let command = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut found = None;
        eventually("it makes a network", || {
            found = network(&bench);
            found.is_some()
        });
        let (namespaces, client) = found.unwrap();
        pause(Duration::from_millis(after));
        if is_whole_group {
            kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
        } else {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        bench.nothing_stays_behind();
        // The server's end of the cable went with its namespace, and with that the client's end.
        eventually("the link is gone", || client.run(|| Interface::named("client").is_err()).unwrap());
        // Nobody has the client's namespace but this test.
        assert_eq!(holders(&namespaces), [""; 0], "{variant} after {after} ms");
    }
}
