//! Runs of the TCP server of the path `ipc` that are killed at any moment: no process of theirs is left, no network namespace, and no link.

#[expect(dead_code, reason = "other tests need more of it")]
mod program;

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use program::{Bench, PATIENCE, within};
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

/// What stands behind a file of /proc that is a network namespace, `net:[NUMBER]`.
fn behind(path: &str) -> Option<String> {
    let link = fs::read_link(path).ok()?.into_os_string().into_string().ok()?;
    link.starts_with("net:[").then_some(link)
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// The network namespaces for which a process has descriptors: where these are, and which.
fn held_by(process: &str) -> Vec<(String, String)> {
    let folder = format!("/proc/{process}/fd");
    let paths = names(&folder).into_iter().map(|number| format!("{folder}/{number}"));
    paths.filter_map(|path| behind(&path).map(|which| (path, which))).collect()
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

/// Who has one of those namespaces, but for this process: by a descriptor, by being in it, or by a mount.
fn holders(namespaces: &[String]) -> Vec<String> {
    let is_one = |which: &String| namespaces.contains(which);
    let own = std::process::id().to_string();
    let mut holders: Vec<String> = names("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
        .filter(|process| {
            let folder = format!("/proc/{process}/task");
            let mut threads = names(&folder).into_iter();
            held_by(process).iter().any(|(_, which)| is_one(which))
                || threads
                    .any(|thread| behind(&format!("{folder}/{thread}/ns/net")).is_some_and(|n| is_one(&n)))
        })
        .collect();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    holders
        .extend(mounts.lines().filter(|line| namespaces.iter().any(|n| line.contains(n))).map(String::from));
    holders
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
    for (variant, pause, is_whole_group) in kills {
        let bench = Bench::with(&preset(variant));
        let mut command = bench.tollway(&["measure", "--preset-file", "short.toml"]);
        let command = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut found = None;
        within(PATIENCE, "it makes no network", || {
            found = network(&bench);
            found.is_some()
        });
        let (namespaces, client) = found.unwrap();
        sleep(Duration::from_millis(pause));
        if is_whole_group {
            kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
        } else {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        bench.nothing_stays_behind();
        // The server's end of the cable went with its namespace, and with that the client's end.
        within(20.0, "the link is there still", || {
            client.run(|| Interface::named("client").is_err()).unwrap()
        });
        // Nobody has the client's namespace but this test.
        assert_eq!(holders(&namespaces), [""; 0], "{variant} after {pause} ms");
    }
}
