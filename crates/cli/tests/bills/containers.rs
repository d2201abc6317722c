//! `tollway bill` in containers: a PID namespace of its own, with a mount and a control group namespace, as root of a
//! user namespace too. The counts are those outside, whatever other process has the same number.
//!
//! `TOLLWAY_TIMES` says how often that is tried: twice where nothing is said.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::priced::bench;
use crate::program::{Bench, checked, skip};
use serde_json::Value;

/// Where a namespace's last number is set: the next process has the one after it (proc(5)).
const LAST_NUMBER: &str = "/proc/sys/kernel/ns_last_pid";
/// Bytes that `dd` copies, one by one.
const BYTES: f64 = 3000.0;
/// Namespaces as container engines make them, without a user namespace and with one.
const CONTAINERS: [&[&str]; 2] = [
    &["--pid", "--fork", "--mount-proc", "--mount", "--cgroup"],
    &["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--mount", "--cgroup"],
];

/// The ways in which they are counted, and what is said of a better one: root of a user namespace alone may not use the
/// kernel's tracepoints.
const WAYS: [(&str, Option<&str>); 2] = [
    ("programs at the kernel's tracepoints", None),
    (
        "ptrace, which stops the program at each call",
        Some("by the kernel's tracepoints all of it could be seen: "),
    ),
];

fn times() -> usize {
    std::env::var("TOLLWAY_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(2)
}

/// What copies the bytes.
fn copies() -> String {
    format!("dd if=/dev/zero of=/dev/null bs=1 count={BYTES} status=none")
}

/// A process of the host that copies all the time: some bytes in each millisecond, so that those whom it is beside have the
/// processors.
struct Busy(Child);

impl Busy {
    fn begin() -> Busy {
        let mut dd = Command::new("dd");
        dd.args(["of=/dev/null", "bs=1"]).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut dd = dd.spawn().unwrap();
        let mut bytes = dd.stdin.take().unwrap();
        // It ends when nobody reads any more.
        thread::spawn(move || {
            while bytes.write_all(&[0; 20]).is_ok() {
                pause(Duration::from_millis(1));
            }
        });
        Busy(dd)
    }

    fn number(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `None`, with the reason, where there can be no container.
fn can_contain() -> Option<()> {
    if !rustix::process::geteuid().is_root() {
        skip("containers", "root", "run as root");
        return None;
    }
    if !Path::new(LAST_NUMBER).exists() {
        skip(LAST_NUMBER, "ns-last-pid", "use a kernel with CONFIG_CHECKPOINT_RESTORE");
        return None;
    }
    Some(())
}

/// A script in a container, which finds `tollway` as `$0` and this number as `$1`.
fn contained(bench: &Bench, container: &[&str], script: &str, number: u32) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(container).args(["--kill-child", "sh", "-ec", script, env!("CARGO_BIN_EXE_tollway")]);
    bench.set_up(unshare.arg(number.to_string()));
    unshare
}

/// Reads of /dev/zero and writes to /dev/null of a bill.
fn copied(bill: &Value) -> (f64, f64) {
    let lines = bill["lines"].as_array().unwrap();
    let of = |what: &str| {
        let of = lines.iter().filter(|line| line["what"] == what);
        of.map(|line| line["count"].as_f64().unwrap()).sum()
    };
    (of("read · /dev/zero"), of("write · /dev/null"))
}

/// Has the next process get the number `$1` where `tollway` is the one before, and bills `$billed`, which leaves its
/// number in `number`: how many threads tollway begins before it is known after the first bill.
const AS_THE_OTHER: &str = "last=$(($1 - 2)); for time in 1 2 3 4 5; do
    echo $last > /proc/sys/kernel/ns_last_pid
    \"$0\" bill $options -- sh -c \"echo \\$\\$ > number; exec $copies\" > bill 2> said
    read got < number
    [ $got -eq $1 ] && break
    last=$((last - (got - $1)))
done";

/// The bill of a copy in a container that has the number of a process outside.
fn billed_as(bench: &Bench, container: &[&str], options: &str, busy: &Busy) -> String {
    let script = format!("options='{options}'; copies='{}'; {AS_THE_OTHER}", copies());
    let done = contained(bench, container, &script, busy.number()).output().unwrap();
    let said = fs::read_to_string(bench.file("said")).unwrap_or_default();
    assert!(done.status.success(), "{container:?}: {said} {}", String::from_utf8_lossy(&done.stderr));
    let number = fs::read_to_string(bench.file("number")).unwrap();
    assert_eq!(number.trim(), busy.number().to_string(), "{container:?}: it has another number");
    fs::read_to_string(bench.file("bill")).unwrap()
}

#[test]
fn a_program_in_a_container_has_the_counts_that_it_has_outside() {
    let Some(()) = can_contain() else { return };
    let (bench, busy) = (bench(), Busy::begin());
    for _ in 0..times() {
        let mut outside = bench.tollway(&["bill", "--json", "--"]);
        let (out, _) = checked(&outside.args(copies().split(' ')).output().unwrap(), 0);
        assert_eq!(copied(&serde_json::from_str(&out).unwrap()), (BYTES, BYTES), "outside");
        for (container, (by, says)) in CONTAINERS.into_iter().zip(WAYS) {
            let bill: Value = serde_json::from_str(&billed_as(&bench, container, "--json", &busy)).unwrap();
            assert_eq!(copied(&bill), (BYTES, BYTES), "{container:?}");
            let watching = &bill["watching"];
            assert_eq!(watching["by"], by, "{container:?}: {watching}");
            let unseen = watching["unseen"].as_array().unwrap().iter();
            let better = unseen.filter_map(Value::as_str).filter(|text| text.contains("could be seen: "));
            let better: Vec<&str> = better.collect();
            let is_said = match says {
                Some(says) => {
                    better.len() == 1 && better[0].starts_with(says) && better[0].contains("user namespace")
                }
                None => better.is_empty(),
            };
            assert!(is_said, "{container:?}: {better:?}");
        }
    }
    println!("{} of {} in each of {} containers have their counts", times(), times(), CONTAINERS.len());
}

/// Root of a container has the capabilities that the engine leaves it: both of these are needed, and no other.
#[test]
fn with_cap_bpf_and_cap_perfmon_the_kernels_tracepoints_are_used() {
    let Some(()) = can_contain() else { return };
    let bench = bench();
    // By their numbers (linux/capability.h), which older libraries know as well.
    let (bpf, perfmon) = ("+cap_39", "+cap_38");
    for (kept, (by, _), lacking) in [
        (vec![bpf, perfmon], WAYS[0], None),
        (vec![bpf], WAYS[1], Some("root is without CAP_PERFMON here")),
        (vec![perfmon], WAYS[1], Some("root is without CAP_BPF here")),
        (vec![], WAYS[1], Some("root is without CAP_BPF and CAP_PERFMON here")),
    ] {
        let bounding = ["--bounding-set=-all"].into_iter().chain(kept).collect::<Vec<_>>().join(",");
        let mut unshare = Command::new("unshare");
        unshare.args(CONTAINERS[0]).args(["--kill-child", "setpriv", "--inh-caps=-all", &bounding]);
        unshare.args([env!("CARGO_BIN_EXE_tollway"), "bill", "--json", "--"]).args(copies().split(' '));
        bench.set_up(&mut unshare);
        let (out, _) = checked(&unshare.output().unwrap(), 0);
        let bill: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((copied(&bill), &bill["watching"]["by"]), ((BYTES, BYTES), &by.into()), "{bounding}");
        let unseen = bill["watching"]["unseen"].to_string();
        assert!(lacking.is_none_or(|lacking| unseen.contains(lacking)), "{bounding}: {unseen}");
    }
}

/// Root of a container is root already: what it lacks for a process of more capabilities is one of these.
#[test]
fn root_that_may_not_trace_a_process_is_told_the_capability() {
    let Some(()) = can_contain() else { return };
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let (bench, busy) = (bench(), Busy::begin());
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--inh-caps=-all", "--bounding-set=-all", env!("CARGO_BIN_EXE_tollway")]);
    setpriv.args(["bill", "--by", "ptrace", "--for", "100ms", "--pid", &busy.number().to_string()]);
    bench.set_up(&mut setpriv);
    let output = setpriv.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{err}");
    // Where Yama refuses as well, that is said instead.
    let is_yamas = !matches!(scope.trim(), "" | "0");
    assert!(is_yamas || err.contains("or as root with CAP_SYS_PTRACE"), "{err}");
}

#[test]
fn a_change_is_tried_in_a_container() {
    let Some(()) = can_contain() else { return };
    let (bench, busy) = (bench(), Busy::begin());
    for container in CONTAINERS {
        let options = "--json --try one-core --rounds 2";
        let bill: Value = serde_json::from_str(&billed_as(&bench, container, options, &busy)).unwrap();
        assert_eq!(copied(&bill), (BYTES, BYTES), "{container:?}");
        let tried = &bill["tried"][0];
        assert_eq!((&tried["name"], &tried["rounds"]), (&"one-core".into(), &2.into()), "{container:?}");
    }
}

/// Each second of it is that of the process that has this number in the container, and not of the one outside.
#[test]
fn a_live_bill_in_a_container_is_of_the_process_there() {
    let Some(()) = can_contain() else { return };
    let (bench, busy) = (bench(), Busy::begin());
    let script = "echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid
        (while :; do kill -0 $$; done) & [ $! -eq $1 ]
        \"$0\" bill --live --by kernel --pid $1 --for 2500ms; kill $!";
    let (out, _) = checked(&contained(&bench, CONTAINERS[0], script, busy.number()).output().unwrap(), 0);
    let seconds = out.matches("sum of the tolls").count();
    assert!(seconds >= 2 && out.matches("\nkill ").count() >= seconds, "{out}");
    assert!(!out.contains("/dev/null"), "{out}");
}

/// A copy that has this number and waits for a line of the pipe `go`.
const WAITS: &str = "echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid; (read go < go; exec $copies) &";

fn waiting(then: &str) -> String {
    format!("copies='{}'; {WAITS} {then}", copies())
}

fn has_name(process: &str, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|comm| comm.trim_end() == name)
}

/// Whether a process has a program at the beginnings of calls, and no second thread, as it has while it measures what
/// that costs.
fn is_watching(process: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    let descriptors = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
    let mut texts = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    has_name(process, "tollway") && threads == 1 && texts.any(|text| text.contains("tp_name:\tsys_enter"))
}

/// Lets the copy go on once somebody watches who is not among those seen before.
fn goes_on_once_watched(bench: &Bench, seen: &mut BTreeSet<String>) {
    eventually("somebody watches", || {
        let new = bench.processes().into_iter().find(|one| !seen.contains(one) && is_watching(one));
        new.is_some_and(|one| seen.insert(one))
    });
    fs::write(bench.file("go"), "go\n").unwrap();
}

/// A bench with the pipe.
fn bench_with_pipe() -> Bench {
    let bench = bench();
    assert!(Command::new("mkfifo").arg(bench.file("go")).status().unwrap().success());
    bench
}

#[test]
fn a_number_that_is_used_again_in_a_container_is_billed_as_the_process_that_has_it_now() {
    let Some(()) = can_contain() else { return };
    let (bench, busy) = (bench_with_pipe(), Busy::begin());
    let script = waiting("\"$0\" bill --json --by kernel --pid \"$1\"; wait; ");
    let twice = format!("{script}{script}");
    for _ in 0..times() {
        let running = contained(&bench, CONTAINERS[0], &twice, busy.number()).spawn().unwrap();
        let mut seen = BTreeSet::new();
        goes_on_once_watched(&bench, &mut seen);
        goes_on_once_watched(&bench, &mut seen);
        let (out, _) = checked(&running.wait_with_output().unwrap(), 0);
        let bills = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
        let found: Vec<_> = bills.map(|bill| copied(&bill.unwrap())).collect();
        assert_eq!(found, [(BYTES, BYTES), (BYTES, BYTES)]);
    }
    println!("{} of {} numbers that are used again are billed as who has them", times(), times());
}

#[test]
fn a_program_in_a_container_is_billed_by_the_number_that_it_has_outside() {
    let Some(()) = can_contain() else { return };
    let (bench, busy) = (bench_with_pipe(), Busy::begin());
    let within_it = busy.number().to_string();
    for container in CONTAINERS.into_iter().cycle().take(CONTAINERS.len() * times()) {
        let mut running = contained(&bench, container, &waiting("wait"), busy.number()).spawn().unwrap();
        let mut outside = None;
        eventually("it begins", || {
            outside = bench.processes().into_iter().find(|process| {
                let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
                let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
                let numbers: Vec<_> = numbers.split_whitespace().collect();
                numbers.len() > 1 && numbers.last() == Some(&within_it.as_str())
            });
            outside.is_some()
        });
        let number = outside.unwrap();
        let bill = bench.tollway(&["bill", "--json", "--by", "kernel", "--pid", &number]).spawn().unwrap();
        goes_on_once_watched(&bench, &mut BTreeSet::new());
        let (out, _) = checked(&bill.wait_with_output().unwrap(), 0);
        assert_eq!(copied(&serde_json::from_str(&out).unwrap()), (BYTES, BYTES), "{container:?}");
        assert!(running.wait().unwrap().success());
    }
    println!("{} of {} in each container are billed from outside", times(), times());
}
