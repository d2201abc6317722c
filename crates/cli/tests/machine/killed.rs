//! The suite of the path `machine`, on this machine and in guests, killed at any moment: nothing of it stays, neither processes (guests, agents, the
//! field's tools), nor namespaces, links, mounts or files, but files that the next start clears. `TOLLWAY_KILLS` says how many runs are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::Bench;
use crate::program::namespaces::{behind, held_by, holders, names};
use crate::program::turn::turn;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::process::{Pid, Signal, kill_process_group};
use tollway_host::requirement::skip_test;

/// A point that takes next to no time, and guests: with a wire between them, with a disk and a business on it, with the host's network.
const PRESET: &str = r#"
[preset]
name = "short"
path = "machine"

[trial]
window_ms = 50.0
warmup_ms = 1.0
runs      = 100
repeats   = 1

[[case]]
variant = ["tcp-requests", "udp-datagrams"]
tenant  = "linux-guest"
between = ["guests", "host"]

[[case]]
variant  = "disk"
tenant   = "linux-guest"
disk     = ["raw", "luks"]
memory   = 256
mib      = 16
business = "service"
"#;

const NEXT: &str = r#"
[preset]
name = "next"
path = "machine"

[trial]
window_ms = 1.0
warmup_ms = 0.1
runs      = 2
repeats   = 1

[[case]]
variant = "peak"
"#;

/// What is killed on this machine, within so many seconds from its beginning.
const HERE: (&[&[&str]], f64) = (
    &[
        &["machine", "suite", "--quick", "--runs", "99", "--by", "both"],
        &["machine", "suite", "--quick", "--runs", "99", "--by", "tools", "--part", "cpu"],
        &[
            "machine",
            "suite",
            "--quick",
            "--runs",
            "99",
            "--by",
            "both",
            "--part",
            "disk",
            "--business",
            "both",
        ],
        &["machine", "suite", "--quick", "--runs", "99", "--by", "both", "--part", "network"],
        &["machine", "suite", "--quick", "--runs", "99", "--part", "service,memory"],
        // In a suite it would come after what Python counts, and that is later than the kills.
        &["measure", "machine", "--preset", "suite", "--runs", "99", "--only", "sysbench"],
    ],
    2.5,
);

/// And what in guests, which take a while to boot.
const IN_GUESTS: (&[&[&str]], f64) = (
    &[
        &["measure", "--preset-file", "short.toml"],
        &["machine", "modes", "high-performance", "balanced", "--part", "disk", "--business"],
    ],
    8.0,
);

/// Where the program puts files, each a folder of its own.
const FOLDERS: [(&str, &str); 3] =
    [("TOLLWAY_SCRATCH", "scratch"), ("TMPDIR", "temporary"), ("XDG_RUNTIME_DIR", "runtime")];

/// A bench whose program puts files nowhere else.
fn bench() -> Bench {
    let bench = Bench::with(PRESET);
    fs::write(bench.file("next.toml"), NEXT).unwrap();
    FOLDERS.iter().for_each(|(_, folder)| fs::create_dir(bench.file(folder)).unwrap());
    bench
}

fn program(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.tollway(arguments);
    command.envs(FOLDERS.map(|(variable, folder)| (variable, bench.file(folder))));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// What of this machine could be left changed.
#[derive(Debug)]
struct Machine {
    mounts: BTreeSet<String>,
    links: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
}

impl Machine {
    fn now() -> Machine {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let ours = |folder: &str| {
            let of_ours = names(folder).into_iter().filter(|name| name.contains("tollway"));
            of_ours.map(|name| Path::new(folder).join(name)).collect::<Vec<_>>()
        };
        Machine {
            mounts: mounts.lines().map(String::from).collect(),
            links: names("/sys/class/net").into_iter().collect(),
            files: ["/dev/shm", "/dev/mqueue", "/run"].into_iter().flat_map(ours).collect(),
        }
    }

    /// What is there now and was not then.
    fn added(&self) -> Vec<String> {
        let now = Machine::now();
        let files = now.files.difference(&self.files).map(|file| file.display().to_string());
        let others = now.mounts.difference(&self.mounts).chain(now.links.difference(&self.links)).cloned();
        files.chain(others).collect()
    }
}

/// The names of the processes of a bench, as the kernel has them.
fn kinds(bench: &Bench) -> Vec<String> {
    let name = |pid: &String| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    bench.processes().iter().filter_map(name).map(|name| name.trim().to_string()).collect()
}

fn files(bench: &Bench, folder: &str) -> Vec<String> {
    names(bench.file(folder).to_str().unwrap())
}

/// Starts, waits, kills, and looks for what is left; the processes that there were.
fn killed_after(bench: &Bench, arguments: &[&str], moment: Duration, whole_group: bool) -> Vec<String> {
    let before = Machine::now();
    let own = behind("/proc/self/ns/net");
    let mut child = program(bench, arguments).process_group(0).spawn().unwrap();
    pause(moment);
    let met = kinds(bench);
    let processes = bench.processes();
    let held = processes.iter().flat_map(|process| held_by(process)).map(|(_, which)| which);
    let held: Vec<String> = held.filter(|which| Some(which) != own.as_ref()).collect();
    if whole_group {
        kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
    } else {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    bench.nothing_stays_behind();
    let about = format!("{arguments:?} killed after {moment:?}, among {met:?}");
    eventually(&format!("no namespace is held: {about}"), || holders(&held).is_empty());
    // Others may work on this machine, and clear up after themselves.
    let mut left = Vec::new();
    eventually(&format!("no links, mounts or files are left: {about}"), || {
        let now = before.added();
        if now != left {
            println!("left: {now:?}");
            left = now;
        }
        left.is_empty()
    });
    for folder in ["temporary", "runtime"] {
        assert_eq!(files(bench, folder), [""; 0], "{folder}: {about}");
    }
    if !files(bench, "scratch").is_empty() {
        next_start_clears(bench, &about);
    }
    met
}

fn next_start_clears(bench: &Bench, about: &str) {
    let next = program(bench, &["measure", "--preset-file", "next.toml"]).status().unwrap();
    assert!(next.success(), "{next}: {about}");
    assert_eq!(files(bench, "scratch"), [""; 0], "the next start does not clear it: {about}");
}

fn kills() -> Option<u32> {
    std::env::var("TOLLWAY_KILLS").ok().map(|n| n.parse().unwrap())
}

/// Kills that many; how often each kind of process was met.
fn killed_so_often(kills: u32, seed: u64, (commands, latest): (&[&[&str]], f64)) -> BTreeMap<String, u32> {
    let bench = bench();
    let mut random = StdRng::seed_from_u64(seed);
    let mut met = BTreeMap::new();
    for kill in 0..kills {
        let moment = Duration::from_secs_f64(random.random_range(0.0..latest));
        let arguments = commands[kill as usize % commands.len()];
        for kind in killed_after(&bench, arguments, moment, random.random_bool(0.3)) {
            *met.entry(kind).or_default() += 1;
        }
    }
    println!("{kills} kills; met: {met:?}");
    // Else they were of a program that had refused what it was asked for.
    assert!(met.contains_key("tollway"), "no kill met the program: {met:?}");
    met
}

#[test]
fn a_suite_that_is_killed_leaves_nothing() {
    let met = killed_so_often(kills().unwrap_or(12), 21, HERE);
    for tool in ["fio", "sysbench", "iperf3"] {
        let is_there = tollway_host::requirement::program(tool, tool).is_ok();
        let enough = kills().is_none_or(|kills| kills < 100);
        assert!(enough || !is_there || met.contains_key(tool), "no kill met {tool}: {met:?}");
    }
}

#[test]
fn guests_of_a_suite_that_is_killed_leave_nothing() {
    if let Err(missing) = tollway_tenant::linux::check(Some(tollway_agent::BUILD)) {
        return skip_test(&["qemu"], &missing);
    }
    let _turn = turn();
    let met = killed_so_often(kills().map_or(6, |kills| kills.div_ceil(2)), 22, IN_GUESTS);
    let enough = kills().is_none_or(|kills| kills < 100);
    assert!(enough || met.keys().any(|name| name.starts_with("qemu-system")), "no kill met a guest: {met:?}");
}

#[test]
fn files_that_had_names_when_their_program_was_killed_are_cleared_by_the_next_start() {
    let bench = bench();
    let scratch = bench.file("scratch");
    let service = scratch.join(".tollway-1-1");
    fs::create_dir(&service).unwrap();
    fs::write(service.join("users.db"), "half of it").unwrap();
    fs::write(scratch.join(".tollway-1-7"), "of a file system without O_TMPFILE").unwrap();
    next_start_clears(&bench, "planted");
    fs::write(scratch.join(".tollway-notes"), "of somebody else").unwrap();
    let next = program(&bench, &["measure", "--preset-file", "next.toml"]).status().unwrap();
    assert!(next.success() && scratch.join(".tollway-notes").exists());
}
