//! Another host as what is measured: a real sshd on loopback. What is found there is that host's; nothing stays there,
//! however it ends; and what is in the way is told with a remedy.
//!
//! Without sshd each test says why it does nothing, unless `TOLLWAY_REQUIRE` names `sshd`. The static agent must be of
//! the same sources as the program: `make agent`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output};

use crate::program::{Bench, checked, ends};
use crate::sshd::{Sshd, Surroundings, is_possible, is_root};
use rustix::process::Signal;
use serde_json::Value;
use tollway_store::{PointState, RunState, Store};

/// Something that lasts until it is ended.
const LONG: &str = r#"
[preset]
name = "long"
path = "crossings"

[trial]
window_ms = 50.0
warmup_ms = 5.0
runs      = 200
repeats   = 2

[[case]]
variant = ["getppid", "pipe", "write-byte"]
"#;

/// `tollway` with the host at the end of its command line.
fn on(bench: &Bench, sshd: &Sshd, arguments: &[&str]) -> Command {
    let mut command = bench.tollway(arguments);
    command.args(["--on", &sshd.address()]).env("TOLLWAY_SSH", sshd.client());
    command
}

fn measuring(bench: &Bench, sshd: &Sshd) -> Child {
    let child = on(bench, sshd, &["measure", "--preset-file", "short.toml"]).spawn().unwrap();
    bench.wait_for_trials(4);
    child
}

/// Neither a file nor a process.
fn nothing_stays_there(bench: &Bench) {
    bench.nothing_stays_behind();
    let left: Vec<_> = fs::read_dir(bench.file("there")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What it says on standard error where it cannot begin.
fn refused(bench: &Bench, mut command: Command) -> String {
    let (_, said) = checked(&command.output().unwrap(), 1);
    assert!(said.contains(" → "), "{said}");
    bench.nothing_stays_behind();
    assert!(!bench.file("tollway.db").exists(), "a run was begun");
    said
}

fn newest(bench: &Bench) -> (Store, tollway_store::RunId) {
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    let run = store.runs().unwrap()[0].id;
    (store, run)
}

#[test]
fn processor_and_memory_of_another_host_have_figures() {
    if !is_possible() {
        return;
    }
    let bench = Bench::with(LONG);
    let sshd = Sshd::start(&bench, &Surroundings::default());
    let suite =
        ["machine", "suite", "--quick", "--part", "cpu,memory", "--runs", "2", "--time", "2", "--json"];
    let output = on(&bench, &sshd, &suite).output().unwrap();
    let (out, said) = checked(&output, 0);
    nothing_stays_there(&bench);
    let document: Value = serde_json::from_str(&out).unwrap();
    let points = document["points"].as_array().unwrap();
    assert!(points.len() >= 10, "{out}");
    for point in points {
        assert_eq!(point["state"], "done", "{point}\n{said}");
        assert!(point["median"]["ns"]["estimate"].as_f64().is_some_and(|ns| ns > 0.0), "{point}");
    }
    let (store, run) = newest(&bench);
    let run = store.run(run).unwrap();
    assert!(run.spec.title.contains(&sshd.address()), "{}", run.spec.title);
    assert_eq!(run.state, RunState::Complete);
}

#[test]
fn what_it_is_and_has_is_asked_there() {
    if !is_possible() || !is_root() {
        return;
    }
    let bench = Bench::with(
        r#"
[preset]
name = "there"
path = "machine"

[trial]
window_ms = 20.0
warmup_ms = 1.0
runs      = 2
repeats   = 1

[[case]]
variant = "peak"
threads = [0, 2]

[[case]]
variant = "events"
tenant  = "linux-guest"
"#,
    );
    // Another processor than here, as far as that can be read, and only one of it.
    let info = fs::read_to_string("/proc/cpuinfo").unwrap();
    let other: Vec<String> =
        info.lines()
            .map(|line| {
                if line.starts_with("model name") { "model name\t: Another".into() } else { line.to_owned() }
            })
            .collect();
    fs::write(bench.file("cpuinfo"), other.join("\n") + "\n").unwrap();
    let first = format!("mount --bind {} /proc/cpuinfo", bench.file("cpuinfo").display());
    let cpu = tollway_host::cpu::allowed_cpus().unwrap()[0];
    let surroundings =
        Surroundings { first: Some(first), by: format!("taskset -c {cpu}"), ..Surroundings::default() };
    let sshd = Sshd::start(&bench, &surroundings);
    checked(&on(&bench, &sshd, &["measure", "--preset-file", "short.toml"]).output().unwrap(), 0);
    nothing_stays_there(&bench);
    let (store, run) = newest(&bench);
    let spec = store.run(run).unwrap().spec;
    assert_eq!(spec.fingerprint["cpu_model"], "Another");
    assert_ne!(spec.machine, tollway_host::fingerprint::read().machine_id());
    let points = store.points(run).unwrap();
    let [all, two, guests] = &points[..] else { panic!("{points:?}") };
    assert_eq!(all.spec.params.int("threads").unwrap(), 1, "threads are counted there");
    assert_eq!(all.state, PointState::Done);
    let skipped = |state: &PointState| match state {
        PointState::Skipped(missing) => missing.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(skipped(&two.state).contains("this process may run on 1"), "{:?}", two.state);
    assert!(skipped(&guests.state).contains("Linux guests on another host"), "{:?}", guests.state);
    // Its figures are not those of this machine: there is nothing to go on with here.
    let (_, said) = checked(&bench.tollway(&["measure", "--resume"]).output().unwrap(), 1);
    assert!(said.contains("no run of this store is unfinished"), "{said}");
}

#[test]
fn its_file_is_gone_while_it_runs_and_all_is_gone_when_the_program_is_killed() {
    if !is_possible() {
        return;
    }
    let bench = Bench::with(LONG);
    let sshd = Sshd::start(&bench, &Surroundings::default());
    let mut child = measuring(&bench, &sshd);
    assert_eq!(fs::read_dir(bench.file("there")).unwrap().count(), 0, "the file is there while it runs");
    child.kill().unwrap();
    child.wait().unwrap();
    nothing_stays_there(&bench);
    // What was measured is kept, and can be gone on with, there and not here.
    let (_, said) = checked(&bench.tollway(&["measure", "--resume"]).output().unwrap(), 1);
    assert!(said.contains("on another host") && said.contains("--on"), "{said}");
    let before = bench.trials().len();
    let mut child = on(&bench, &sshd, &["measure", "--resume"]).spawn().unwrap();
    bench.wait_for_trials(before + 2);
    child.kill().unwrap();
    child.wait().unwrap();
    nothing_stays_there(&bench);
}

#[test]
fn an_interruption_ends_it_in_order() {
    if !is_possible() {
        return;
    }
    let bench = Bench::with(LONG);
    let sshd = Sshd::start(&bench, &Surroundings::default());
    let child = measuring(&bench, &sshd);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    checked(&child.wait_with_output().unwrap(), 130);
    nothing_stays_there(&bench);
}

/// What is said of a run whose connection goes.
fn without_connection(signal: Signal) -> String {
    let bench = Bench::with(LONG);
    let sshd = Sshd::start(&bench, &Surroundings::default());
    let mut child = measuring(&bench, &sshd);
    sshd.signal_sessions(signal);
    ends(&mut child);
    let output: Output = child.wait_with_output().unwrap();
    let (_, said) = checked(&output, 3);
    // What was stopped hears that nobody is there any longer.
    drop(sshd);
    nothing_stays_there(&bench);
    let (store, run) = newest(&bench);
    for point in store.points(run).unwrap() {
        let PointState::Failed(reason) = &point.state else { panic!("{:?}", point.state) };
        assert!(reason.contains("ssh:") && reason.contains("the connection was lost"), "{reason}");
    }
    said
}

#[test]
fn a_connection_that_is_cut_fails_what_is_left_and_the_program_ends() {
    if !is_possible() {
        return;
    }
    let said = without_connection(Signal::KILL);
    assert!(said.contains("the connection was lost"), "{said}");
}

#[test]
fn a_network_that_falls_silent_does_so_too() {
    if !is_possible() {
        return;
    }
    let said = without_connection(Signal::STOP);
    assert!(said.contains("not responding"), "{said}");
}

#[test]
fn who_cannot_be_reached_is_told_with_a_remedy() {
    if !is_possible() {
        return;
    }
    let bench = Bench::with(LONG);
    let sshd = Sshd::start(&bench, &Surroundings::default());
    let measure = ["measure", "--preset-file", "short.toml"];
    let with = |client: String| {
        let mut command = on(&bench, &sshd, &measure);
        command.env("TOLLWAY_SSH", client);
        refused(&bench, command)
    };
    let said = with(sshd.client_with("foreign", "known"));
    assert!(said.contains("Permission denied") && said.contains("ssh-copy-id"), "{said}");
    let said = with(sshd.client_with("mine", "nobody-known"));
    assert!(said.contains("Host key verification failed") && said.contains("accept it once"), "{said}");
    let said = with("no-such-client".into());
    assert!(said.contains("openssh-client"), "{said}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = bench.tollway(&measure);
    command.args(["--on", &format!("ssh:127.0.0.1:{nobody}")]).env("TOLLWAY_SSH", "ssh -F none");
    let said = refused(&bench, command);
    assert!(said.contains("Connection refused") && said.contains("have sshd run there"), "{said}");
    let (_, said) = checked(&bench.tollway(&["measure", "null", "--on", "node"]).output().unwrap(), 2);
    assert!(said.contains("ssh:user@host"), "{said}");
}

#[test]
fn configuration_for_people_does_not_keep_the_agent_from_running() {
    if !is_possible() {
        return;
    }
    let bench = Bench::with(LONG);
    let sshd = Sshd::start(&bench, &Surroundings::default());
    let configuration = bench.file("configuration");
    // StdinNull and SessionType are of OpenSSH 8.7: a client that does not know them passes over them.
    let for_people = "IgnoreUnknown StdinNull,SessionType\nRemoteCommand tmux attach\nRequestTTY force\nLogLevel QUIET\n\
                      StdinNull yes\nSessionType none\n";
    fs::write(&configuration, for_people).unwrap();
    let client = sshd.client().replace("-F none", &format!("-F {}", configuration.display()));
    let mut command = on(&bench, &sshd, &["measure", "null", "--runs", "2"]);
    checked(&command.env("TOLLWAY_SSH", client).output().unwrap(), 0);
    nothing_stays_there(&bench);
}

#[test]
fn login_that_runs_no_command_is_told_with_what_it_said() {
    if !is_possible() {
        return;
    }
    let measure = ["measure", "--preset-file", "short.toml"];
    let nologin = "ForceCommand echo This account is currently not available.; exit 1".to_owned();
    let bench = Bench::with(LONG);
    let sshd = Sshd::start(&bench, &Surroundings { setting: nologin, ..Surroundings::default() });
    let said = refused(&bench, on(&bench, &sshd, &measure));
    assert!(said.contains("account is currently not available. (exit status: 1)"), "{said}");
    assert!(
        said.contains("whose login runs commands") && said.contains("-o StrictHostKeyChecking=yes"),
        "{said}"
    );
    drop(sshd);
    let bench = Bench::with(LONG);
    let environment = vec![("PATH".to_owned(), "/nowhere".to_owned())];
    let sshd = Sshd::start(&bench, &Surroundings { environment, ..Surroundings::default() });
    let said = refused(&bench, on(&bench, &sshd, &measure));
    assert!(said.contains("POSIX shell `sh` there") && !said.contains("openssh-client"), "{said}");
}

#[test]
fn a_host_that_cannot_take_the_agent_is_told_with_a_remedy() {
    if !is_possible() {
        return;
    }
    // Another architecture: what its shell says of itself.
    let bench = Bench::with(LONG);
    let programs = bench.file("programs");
    fs::create_dir(&programs).unwrap();
    fs::write(programs.join("uname"), "#!/bin/sh\necho Linux riscv64\n").unwrap();
    fs::set_permissions(programs.join("uname"), fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let environment = vec![("PATH".to_owned(), path)];
    let sshd = Sshd::start(&bench, &Surroundings { environment, ..Surroundings::default() });
    let said = refused(&bench, on(&bench, &sshd, &["measure", "--preset-file", "short.toml"]));
    assert!(said.contains("it is a Linux riscv64"), "{said}");
    nothing_stays_there(&bench);
}

#[test]
fn a_folder_that_is_full_or_runs_no_programs_is_told_with_a_remedy() {
    if !is_possible() || !is_root() {
        return;
    }
    for (options, why) in [("noexec", "no program may run there"), ("size=1m", "KiB are free")] {
        let bench = Bench::with(LONG);
        let there = bench.file("there");
        let first = format!("mount -t tmpfs -o {options} none {}", there.display());
        let sshd = Sshd::start(&bench, &Surroundings { first: Some(first), ..Surroundings::default() });
        let measure = ["measure", "--preset-file", "short.toml"];
        let mut command = on(&bench, &sshd, &measure);
        command.env("TOLLWAY_SSH_FOLDER", &there);
        let said = refused(&bench, command);
        assert!(said.contains(why) && said.contains("TOLLWAY_SSH_FOLDER"), "{said}");
        // Another folder does.
        let other = bench.file("other");
        fs::create_dir(&other).unwrap();
        let mut command = on(&bench, &sshd, &["measure", "null", "--runs", "2"]);
        checked(&command.env("TOLLWAY_SSH_FOLDER", &other).output().unwrap(), 0);
        bench.nothing_stays_behind();
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    }
}
