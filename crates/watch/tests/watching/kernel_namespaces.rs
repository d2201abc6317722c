//! Programs in PID namespaces of their own: the numbers that they have there are others' outside, and nothing
//! of these others is counted or named.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::asleep::Thread;
use crate::common::{Killed, same};
use crate::eventually::eventually;
use crate::kernel::{calls, command, counted, settles, to_the_end, total, watch};
use crate::namespace::{LAST_NUMBER, next_number, run_within};
use procfs::FromRead;
use procfs::process::Status;
use tollway_core::Error;
use tollway_host::requirement::skip_test;
use tollway_watch::kernel::{Cost, Watch};
use tollway_watch::proc::Proc;
use tollway_watch::traced::Traced;
use tollway_watch::{Counts, FileKind};

/// Calls of each of the four threads of `floods`.
const EACH: u64 = 500;
/// Reads of `forks`: five children, of which two have one themselves.
const READS: u64 = 5 * 50 + 2 * 10;

const PROGRAM: &str = "TOLLWAY_SAME";
/// The number of a process outside.
const OTHER: &str = "TOLLWAY_OTHER";
/// What counting costs a call outside, in nanoseconds: on no file, and on one.
const COST: &str = "TOLLWAY_COST";

static OUTSIDE: OnceLock<[u128; 2]> = OnceLock::new();

/// Runs an ignored test in a namespace, while a process outside makes calls all the time whose number it is
/// given.
fn beside_another(test: &str, has_own_proc: bool) {
    let (Some(same), Some(_)) = (same(), watch(true, None)) else { return };
    if !Path::new(LAST_NUMBER).exists() {
        let missing = format!("this kernel has no {LAST_NUMBER} (CONFIG_CHECKPOINT_RESTORE)");
        return skip_test(&["ns-last-pid"], &missing);
    }
    let other = Killed(Command::new(same).arg("for-ever").stdin(Stdio::null()).spawn().unwrap());
    let environment = [
        (PROGRAM, same.display().to_string()),
        (OTHER, other.0.id().to_string()),
        (COST, format!("{:?}", OUTSIDE.get_or_init(median_cost))),
    ];
    run_within(&format!("kernel_namespaces::{test}"), has_own_proc, &environment);
}

/// What counting costs a call in nanoseconds, on no file and on one: medians, as others have the machine as well.
fn median_cost() -> [u128; 2] {
    let costs: Vec<Cost> = (0..3).map(|_| Watch::new(true, None).unwrap().cost()).collect();
    [|cost: &Cost| cost.call, |cost: &Cost| cost.call_on_file].map(|of| {
        let mut times: Vec<_> = costs.iter().map(|cost| of(cost).as_nanos()).collect();
        times.sort_unstable();
        times[1]
    })
}

fn program() -> PathBuf {
    std::env::var_os(PROGRAM).expect("the test that starts this one says where it is").into()
}

/// Has the next process here get the number of the process outside.
fn as_the_other() -> u32 {
    let other = std::env::var(OTHER).expect("the test that starts this one says it").parse().unwrap();
    next_number(other);
    other
}

/// A shell that does this once it has had a line.
fn waiting(script: &str) -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("read line; {script}")]).arg(program());
    let child =
        shell.env_remove("LD_LIBRARY_PATH").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    Thread::of(child.id(), child.id()).falls_asleep();
    child
}

/// What it does is counted to its end.
fn counts_to_the_end(watch: &mut Watch, child: &mut Child) -> Counts {
    drop(child.stdin.take());
    child.wait().unwrap();
    settles(watch);
    watch.counts().unwrap()
}

fn is_a_flood(counts: &Counts, process: u32) {
    let found = (calls(counts, libc::SYS_getppid), total(counts, libc::SYS_read, FileKind::Zero).0);
    assert_eq!(found, (4 * EACH, 4 * EACH), "{counts:#?}");
    assert_eq!((calls(counts, libc::SYS_execve), counts.lost), (1, 0), "{counts:#?}");
    let is_its = |thread: &tollway_watch::Thread| thread.process == process && thread.name == "same";
    assert!(counts.threads.iter().all(is_its), "{counts:#?}");
}

#[test]
fn program_in_its_own_pid_namespace_has_its_own_calls() {
    beside_another("started_within", true);
}

#[test]
#[ignore = "is started by program_in_its_own_pid_namespace_has_its_own_calls"]
fn started_within() {
    for _ in 0..4 {
        let mut watch = Watch::new(true, None).unwrap();
        let other = as_the_other();
        let mut child = watch.start(&mut command(&program(), &["floods", &EACH.to_string()])).unwrap();
        assert_eq!(child.id(), other);
        // It may have ended already.
        assert!(watch.processes().all(|process| process == other));
        is_a_flood(&counts_to_the_end(&mut watch, &mut child), other);
    }
}

#[test]
fn counting_costs_within_a_pid_namespace_what_it_costs_outside() {
    beside_another("cost_within", true);
}

/// It is measured by the numbers of two threads, which the kernel has to be asked for here.
#[test]
fn counting_costs_the_same_where_proc_is_of_another_namespace() {
    beside_another("cost_within", false);
}

#[test]
#[ignore = "is started by counting_costs_within_a_pid_namespace_what_it_costs_outside"]
fn cost_within() {
    let outside = std::env::var(COST).expect("the test that starts this one says it");
    let outside = outside.trim_matches(['[', ']']).split(", ").map(|time| time.parse::<u128>().unwrap());
    for (within, outside) in median_cost().into_iter().zip(outside) {
        println!("{within} ns within, {outside} ns outside");
        // Of nobody's calls it would be next to nothing. A virtual processor is at half its speed at times.
        assert!(within > 0 && (outside / 10..=outside * 10).contains(&within), "{within} for {outside} ns");
    }
}

#[test]
fn program_that_is_attached_to_within_its_pid_namespace_has_its_own_calls() {
    beside_another("attached_within", true);
}

#[test]
#[ignore = "is started by program_that_is_attached_to_within_its_pid_namespace_has_its_own_calls"]
fn attached_within() {
    for _ in 0..4 {
        let mut watch = Watch::new(false, None).unwrap();
        let other = as_the_other();
        let mut child = waiting(&format!("exec \"$0\" floods {EACH}"));
        assert_eq!(child.id(), other);
        watch.attach(other).unwrap();
        assert!(watch.processes().eq([other]));
        is_a_flood(&counts_to_the_end(&mut watch, &mut child), other);
    }
}

#[test]
fn children_within_a_pid_namespace_have_their_own_calls() {
    beside_another("with_children_within", true);
}

#[test]
#[ignore = "is started by children_within_a_pid_namespace_have_their_own_calls"]
fn with_children_within() {
    for children in [true, false] {
        let mut watch = Watch::new(children, None).unwrap();
        let mut child = waiting("\"$0\" forks; exec \"$0\" copy 7");
        watch.attach(child.id()).unwrap();
        let other = as_the_other();
        let counts = counts_to_the_end(&mut watch, &mut child);
        let read = total(&counts, libc::SYS_read, FileKind::Zero).0;
        assert_eq!(read, if children { READS } else { 0 } + 7, "{counts:#?}");
        let has_other = counts.threads.iter().any(|thread| thread.process == other);
        assert_eq!((has_other, counts.lost), (children, 0), "{counts:#?}");
    }
    // Their children are in a namespace within this one, and have numbers here as well.
    let program = program().display().to_string();
    let arguments = ["--pid", "--fork", "--mount-proc", &program, "forks"];
    let counts = counted("unshare".as_ref(), &arguments).unwrap();
    assert_eq!(total(&counts, libc::SYS_read, FileKind::Zero).0, READS, "{counts:#?}");
    let first = counts.threads.iter().map(|thread| thread.process).min().unwrap();
    assert!(first > 1 && counts.threads.iter().all(|thread| thread.process <= first + 20), "{counts:#?}");
    // An exec by another thread than the first.
    let counts = counted(program.as_ref(), &["calls-before-a-thread-execs", "100"]).unwrap();
    let found = (calls(&counts, libc::SYS_getppid), calls(&counts, libc::SYS_execve));
    assert_eq!((found, counts.lost), ((100, 2), 0), "{counts:#?}");
}

#[test]
fn process_within_a_pid_namespace_is_watched_from_outside() {
    let Some(same) = same() else { return };
    for _ in 0..3 {
        let Some(mut watch) = watch(true, None) else { return };
        let script = "read line; \"$0\" forks; exec \"$0\" copy 7";
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--mount-proc", "sh", "-c", script]).arg(same);
        unshare.env_remove("LD_LIBRARY_PATH").stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = Killed(unshare.spawn().unwrap());
        let path = format!("/proc/{0}/task/{0}/children", child.0.id());
        let within = || std::fs::read_to_string(&path).ok()?.trim().parse::<u32>().ok();
        let name = |number| Status::from_file(format!("/proc/{number}/status")).map(|status| status.name);
        eventually("its shell", || {
            within().is_some_and(|number| name(number).is_ok_and(|name| name == "sh"))
        });
        watch.attach(within().unwrap()).unwrap();
        let counts = counts_to_the_end(&mut watch, &mut child.0);
        assert_eq!(total(&counts, libc::SYS_read, FileKind::Zero).0, READS + 7, "{counts:#?}");
        assert!(counts.threads.iter().all(|thread| thread.process > child.0.id()), "{counts:#?}");
    }
}

#[test]
fn nothing_is_named_after_another_where_proc_is_of_another_namespace() {
    beside_another("without_its_own_proc", false);
}

#[test]
#[ignore = "is started by nothing_is_named_after_another_where_proc_is_of_another_namespace"]
fn without_its_own_proc() {
    assert!(!tollway_watch::is_proc_own());
    let mut watch = Watch::new(true, None).unwrap();
    let other = as_the_other();
    let mut child = watch.start(&mut command(&program(), &["floods", &EACH.to_string()])).unwrap();
    assert_eq!(child.id(), other);
    is_a_flood(&counts_to_the_end(&mut watch, &mut child), other);
    // All of it is counted, however little that may cost: slices of it could not be scaled.
    let mut watch_in_slices = Watch::new(true, Some(0.001)).unwrap();
    let arguments = ["floods", &(100 * EACH).to_string()];
    let mut child = watch_in_slices.start(&mut command(&program(), &arguments)).unwrap();
    to_the_end(&mut watch_in_slices, &mut child);
    let counts = watch_in_slices.counts().unwrap();
    assert_eq!((calls(&counts, libc::SYS_getppid), counts.extra.len()), (4 * 100 * EACH, 0));
    // As long as it lives nobody tells its name and times.
    as_the_other();
    let child = Killed(watch.start(&mut command(&program(), &["waits"])).unwrap());
    let counts = watch.counts().unwrap();
    let thread = counts.threads.iter().find(|thread| thread.name != "same").unwrap();
    assert_eq!((thread.process, thread.name.as_str(), thread.moments.minor), (other, "", Some(0)));

    let missing = |what: &str, error: Option<Error>| match error {
        Some(Error::Missing(missing)) => {
            assert!(missing.to_string().contains("namespace"), "{what}: {missing}")
        }
        other => panic!("{what}: {other:?}"),
    };
    missing("attaching", watch.attach(child.0.id()).err());
    missing("tracing", Traced::attach(child.0.id(), false).err());
    missing("looking", Proc::attach(child.0.id(), false).err());
    missing("looking from the start", Proc::start(&mut command(&program(), &["copy"])).err());
    drop(child);

    as_the_other();
    let traced = Traced::start(&mut command(&program(), &["floods", &EACH.to_string()])).unwrap();
    assert_eq!(traced.program(), Some(other));
    assert_eq!(traced.wait().unwrap().code(), Some(7));
    let counts = traced.counts().unwrap();
    let found = (calls(&counts, libc::SYS_getppid), total(&counts, libc::SYS_read, FileKind::Zero).0);
    assert_eq!(found, (4 * EACH, 4 * EACH), "{counts:#?}");
    let is_its = |thread: &tollway_watch::Thread| thread.process == other && thread.name.is_empty();
    assert!(counts.threads.iter().all(is_its), "{counts:#?}");
    assert!(counts.threads.iter().all(|thread| thread.moments.signals.is_none()), "{counts:#?}");
}
