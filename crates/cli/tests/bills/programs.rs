//! `tollway bill -- COMMAND` and `--pid`: real programs, watched and billed.

use std::fs;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::asleep::sleeps_of;
use crate::eventually::eventually;
use crate::program::priced::bench;
use crate::program::{Bench, checked, skip};
use serde_json::{Value, json};

/// Whether the kernel's tracepoints can be used here.
fn kernel_tells() -> bool {
    let may = rustix_is_root() && Path::new("/sys/kernel/btf/vmlinux").exists();
    if !may {
        skip(
            "programs at the kernel's tracepoints",
            "bpf",
            "run as root on a kernel with CONFIG_DEBUG_INFO_BTF",
        );
    }
    may
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn bill(bench: &Bench, arguments: &[&str], code: i32) -> Value {
    let arguments: Vec<&str> = ["bill", "--json"].iter().chain(arguments).copied().collect();
    let (out, _) = bench.ends(&arguments, code);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{arguments:?}: {e}\n{out}"))
}

fn line<'a>(bill: &'a Value, what: &str) -> &'a Value {
    let lines = bill["lines"].as_array().unwrap();
    lines.iter().find(|line| line["what"] == what).unwrap_or_else(|| panic!("no {what} in {lines:#?}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// What dd does is known to the call, and the document adds up.
#[test]
fn a_program_is_billed_to_the_call() {
    if !kernel_tells() {
        return;
    }
    let bench = bench();
    let dd = ["dd", "if=/dev/zero", "of=/dev/null", "bs=512", "count=200000", "status=none"];
    let bill = bill(&bench, &[&["--exact", "--"], &dd[..]].concat(), 0);
    for (what, bytes) in [("read · /dev/zero", 200_000.0 * 512.0), ("write · /dev/null", 200_000.0 * 512.0)]
    {
        let line = line(&bill, what);
        assert_eq!((number(&line["count"]), number(&line["bytes"])), (200_000.0, bytes), "{what}");
        // It is really in the kernel at least as long as next to nothing takes, and the toll is no figure of fantasy.
        assert!(number(&line["inside"]) > 200_000.0 * 20.0, "{line}");
        let each = number(&line["each"]["ns"]);
        assert!((20.0..20_000.0).contains(&each), "{line}");
    }
    assert_eq!(number(&line(&bill, "execve")["count"]), 1.0);
    let sums: f64 =
        bill["lines"].as_array().unwrap().iter().filter_map(|line| line["sum"]["ns"].as_f64()).sum();
    assert!((sums / number(&bill["explained"]["ns"]) - 1.0).abs() < 1e-9);
    let (kernel, explained) = (number(&bill["kernel"]["ns"]), number(&bill["explained"]["ns"]));
    assert!((number(&bill["unexplained"]) - (kernel - explained)).abs() < 1.0);
    assert!(number(&bill["ran"]) >= kernel);
    assert_eq!((bill["exit_code"].as_u64(), bill["watching"]["lost"].as_u64()), (Some(0), Some(0)));

    // It is in the store, and the same when it is asked for again.
    let (history, _) = bench.ends(&["history", "--json"], 0);
    let history: Value = serde_json::from_str(&history).unwrap();
    let run = history["runs"].as_array().unwrap().iter().find(|run| run["title"] == "bill of dd").unwrap();
    let run = run["id"].as_i64().unwrap().to_string();
    let (again, _) = bench.ends(&["bill", "--json", "--of", &run], 0);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), bill);
}

/// A file that is closed at once is named all the same, and those of which no name is known stand together.
#[test]
fn the_dearest_file_has_its_name_though_it_is_closed_at_once() {
    if !kernel_tells() {
        return;
    }
    let bench = bench();
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..60).map(|number| folder.path().join(format!("file-{number}"))).collect();
    files.iter().for_each(|file| fs::write(file, "some bytes").unwrap());
    fs::write(&files[40], vec![0; 8 << 20]).unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    for by in ["kernel", "ptrace"] {
        let command = [&["--by", by, "--", "sh", "-c", "cat \"$@\" > /dev/null", "sh"], &paths[..]].concat();
        let bill = bill(&bench, &command, 0);
        let named = bill["files"].as_array().unwrap();
        let name = |at: usize| named[at]["name"].as_str().unwrap();
        assert!((0..2).any(|at| name(at) == format!("file {}", paths[40])), "{by}: {named:#?}");
        assert!(!named.iter().any(|one| one["name"].as_str().unwrap().contains("inode")), "{named:#?}");
    }
}

/// Work of the kernel that no toll is like is not explained away: random bytes are made in the kernel, and reading them is only priced as a call.
#[test]
fn what_no_toll_is_like_is_unexplained() {
    if !kernel_tells() {
        return;
    }
    let bench = bench();
    let dd = ["dd", "if=/dev/urandom", "of=/dev/null", "bs=64k", "count=8000", "status=none"];
    let bill = bill(&bench, &[&["--exact", "--"], &dd[..]].concat(), 0);
    let (kernel, unexplained) = (number(&bill["kernel"]["ns"]), number(&bill["unexplained"]));
    assert!(unexplained > 0.7 * kernel, "{unexplained} of {kernel}");
    assert_eq!(line(&bill, "read · device")["at_least"], true);
}

/// The exit code is the program's, and what it prints stays where it belongs.
#[test]
fn the_program_is_as_if_it_were_alone() {
    let bench = bench();
    let (out, err) =
        checked(&bench.tollway(&["bill", "--", "sh", "-c", "echo said; exit 7"]).output().unwrap(), 7);
    assert_eq!(out, "said\n");
    assert!(err.contains("The bill of sh -c echo said; exit 7"), "{err}");
    let killed = bill(&bench, &["--", "sh", "-c", "kill -9 $$"], 137);
    assert_eq!(killed["exit_code"], 137);
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that runs already goes on as before, and is billed by the second.
#[test]
fn a_program_that_runs_already() {
    if !kernel_tells() {
        return;
    }
    let bench = bench();
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "of=/dev/null", "bs=1k", "status=none"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut dd = Killed(dd.spawn().unwrap());
    let pid = dd.0.id().to_string();
    let bill = bill(&bench, &["--pid", &pid, "--for", "1500ms"], 0);
    assert_eq!(bill["per"], "second");
    // The end comes later where others have the processors.
    let (seconds, watched) = (number(&bill["count"]), number(&bill["watching"]["watched_s"]));
    assert!(seconds > 1.4 && (seconds / watched - 1.0).abs() < 0.1, "{seconds} of {watched}");
    assert!(number(&line(&bill, "read · /dev/zero")["count"]) > 10_000.0);
    assert_eq!(dd.0.try_wait().unwrap(), None, "it goes on");
    // By request, as many as were asked for.
    let (out, _) = bench.ends(&["bill", "--pid", &pid, "--for", "3s", "--per", "read"], 0);
    assert!(out.contains("a request (read)"), "{out}");
    // Each second is shown.
    let (out, _) = bench.ends(&["bill", "--pid", &pid, "--for", "5s", "--live"], 0);
    assert!(out.matches("sum of the tolls").count() >= 3, "{out}");
}

/// A ping-pong on one core: what is explained is most of what is measured; and two runs of it can be compared.
#[test]
fn runs_are_compared_and_changes_tried() {
    if !kernel_tells() {
        return;
    }
    let bench = bench();
    let script = "import os\na,b=os.pipe()\nc,d=os.pipe()\nif os.fork()==0:\n    for i in range(2000): os.write(d,os.read(a,1))\n    os._exit(0)\nfor i in range(2000): os.write(b,b'x'); os.read(c,1)\nos.wait()\n";
    fs::write(bench.file("pong.py"), script).unwrap();
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("a ping-pong in Python", "python3", "install python3");
    }
    for _ in 0..2 {
        bench.ends(&["bill", "--runs", "3", "--html", "bill.html", "--", "python3", "pong.py"], 0);
    }
    let page = fs::read_to_string(bench.file("bill.html")).unwrap();
    assert!(page.contains("write · pipe") && !page.contains("<script"), "{page}");
    let (history, _) = bench.ends(&["history", "--json"], 0);
    let history: Value = serde_json::from_str(&history).unwrap();
    let runs = history["runs"].as_array().unwrap().iter().filter(|run| run["title"] == "bill of python3");
    let runs: Vec<String> = runs.map(|run| run["id"].to_string()).collect();
    let (compared, _) = bench.ends(&["compare", &runs[1], &runs[0]], 0);
    assert!(
        compared.contains("processor time, all of it") && compared.contains("write · pipe, in the kernel"),
        "{compared}"
    );

    let tried =
        bill(&bench, &["--try", "one-core,batch-class", "--rounds", "3", "--", "python3", "pong.py"], 0);
    let tried = tried["tried"].as_array().unwrap();
    assert_eq!(tried.len(), 2);
    for one in tried {
        let saved = &one["saved"];
        assert!(
            number(&saved["lo"]) <= number(&saved["share"])
                && number(&saved["share"]) <= number(&saved["hi"]),
            "{one}"
        );
        assert_eq!(one["rounds"], 3);
    }
}

/// The program of crates/watch/tests/programs/rings.c in the bench's folder; `None` where it cannot be made, or has no
/// rings.
fn rings(bench: &Bench) -> Option<String> {
    let program = bench.file("rings").display().to_string();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../watch/tests/programs/rings.c");
    let Ok(built) = Command::new("cc").args(["-O1", "-o", &program, source]).status() else {
        skip("a program that uses io_uring", "cc", "install gcc");
        return None;
    };
    assert!(built.success(), "cc: {built}");
    if Command::new(&program).args(["workers", "1"]).output().unwrap().status.code() == Some(77) {
        skip("io_uring", "io-uring", "use a kernel with CONFIG_IO_URING, and allow it");
        return None;
    }
    Some(program)
}

/// The bill of the program that has work done by rings, and the seconds that other threads than its first ran. From /proc nothing is known of what a thread did
/// since the last look, so it ends only when there was one more.
fn billed_while_it_stays(bench: &Bench, way: &str, rings: &str) -> (Value, f64) {
    let arguments = ["bill", "--json", "--by", way, "--", rings, "workers", "1000", "stays"];
    let mut billing = bench.tollway(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    // In microseconds, the second that of other threads than the first.
    let mut said = BufReader::new(billing.stderr.take().unwrap()).lines();
    let microseconds = said.find_map(|line| line.unwrap().split_once(' ')?.1.parse::<f64>().ok());
    if way == "proc" {
        let before = sleeps_of(billing.id());
        eventually("it is looked at", || sleeps_of(billing.id()) >= before + 6);
    }
    drop(billing.stdin.take());
    let output = billing.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{:?}", said.collect::<Vec<_>>());
    (serde_json::from_slice(&output.stdout).unwrap(), microseconds.unwrap() / 1e6)
}

/// What threads of the kernel do for a program's io_uring is in its bill, with the processor time that getrusage(2)
/// has of them.
#[test]
fn the_time_of_io_urings_threads_is_that_of_getrusage() {
    let bench = bench();
    let Some(rings) = rings(&bench) else { return };
    let ways: &[&str] = if kernel_tells() { &["kernel", "ptrace", "proc"] } else { &["ptrace", "proc"] };
    for way in ways {
        let (bill, expected) = billed_while_it_stays(&bench, way, &rings);
        let workers = line(&bill, "threads of the kernel (io_uring, vhost)");
        let found = number(&workers["inside"]) / 1e9;
        assert!(expected > 0.03 && number(&workers["count"]) >= 1.0, "{way}: {expected} s, {workers}");
        // One tick of the kernel's slowest clock.
        assert!((found - expected).abs() <= 0.01, "{way}: {found} of {expected} s");
        // All of it is in the kernel.
        if *way == "kernel" {
            assert!(number(&bill["kernel"]["ns"]) >= 1e9 * found, "{bill}");
        }
    }
}

/// The dearest call is the first line by what it was measured to take, though its toll is only that of an empty call; and the two stand apart.
#[test]
fn a_call_that_no_toll_is_like_stands_where_it_was_measured_to_be() {
    if !kernel_tells() {
        return;
    }
    let bench = bench();
    let dd = ["dd", "if=/dev/urandom", "of=/dev/null", "bs=64k", "count=4000", "status=none"];
    let bill = bill(&bench, &[&["--exact", "--"], &dd[..]].concat(), 0);
    let first = &bill["lines"][0];
    assert_eq!(first["what"], "read · device", "{first}");
    let (measured, toll) = (number(&first["measured"]), number(&first["sum"]["ns"]));
    assert!(measured > 10.0 * toll, "{first}");
    let attributed = &bill["attributed"];
    assert!(number(&attributed["measured"]) >= measured, "{attributed}");
    let all = number(&attributed["measured"]) + number(&attributed["by_tolls"]);
    assert!((number(&attributed["ns"]) / all - 1.0).abs() < 1e-9, "{attributed}");
    assert!(number(&bill["explained"]["ns"]) < measured, "it is no part of what tolls explain");
}

/// A program that has what a change is for, in Python, and what is counted less of with the change that `how` says.
const CHANGED: [(&str, &str, &str, &str); 4] = [
    (
        "reuse-memory",
        "for i in range(30):\n    x = [b'x' * 65536 for j in range(64)]\n    del x",
        "brk",
        "GLIBC_TUNABLES=glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.top_pad=67108864",
    ),
    (
        "one-core",
        "import os\na,b=os.pipe()\nc,d=os.pipe()\nchild=os.fork()\nos.sched_setaffinity(0, os.sched_getaffinity(0) if os.environ.get('ONE') else [sorted(os.sched_getaffinity(0))[-1 if child else 0]])\nif child==0:\n    for i in range(4000): os.write(d,os.read(a,1))\n    os._exit(0)\nfor i in range(4000): os.write(b,b'x'); os.read(c,1)\nos.wait()\n",
        "sleep, woken from another core",
        "ONE=1",
    ),
    (
        "huge-pages",
        "x = [b'x' * (64 << 20) for i in range(4)]",
        "minor page faults",
        "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
    ),
    ("clock", "import time\nfor i in range(50000): time.process_time()", "clock_gettime", "CLOCK=monotonic"),
];

/// Changes speak of programs that have what they are for, are silent of a program that only sleeps, and of a program that only computes; and where one is made
/// there is less of what it is to save.
#[test]
fn changes_speak_where_they_apply_and_save_what_they_say() {
    if !kernel_tells() {
        return;
    }
    // What is found as python3 may be a shell's script, which starts others.
    let Ok(found) = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output() else {
        return skip("programs in Python", "python3", "install python3");
    };
    let python = String::from_utf8(found.stdout).unwrap();
    let python = python.trim();
    let bench = bench();
    let names = |bill: &Value| -> Vec<String> {
        let all = bill["what_if"].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap().to_string()).collect()
    };
    let often = |bill: &Value, what: &str| -> f64 {
        let lines = bill["lines"].as_array().unwrap().iter();
        lines.filter(|line| line["what"] == what).map(|line| number(&line["count"])).sum()
    };
    let silent = [
        "one-core",
        "reuse-memory",
        "batch-class",
        "processor-limit",
        "pipelining",
        "fewer-syncs",
        "fewer-processes",
    ];
    for idle in ["import time\ntime.sleep(0.3)", "for i in range(2000000): pass"] {
        let bill = bill(&bench, &["--exact", "--", python, "-S", "-c", idle], 0);
        let mut spoke = names(&bill);
        spoke.retain(|name| silent.contains(&name.as_str()));
        // Beside other tests its processor is taken from it as often as they wake.
        if often(&bill, "switches against its will") >= 100.0 {
            spoke.retain(|name| name != "batch-class");
        }
        assert!(spoke.is_empty(), "{idle}: {spoke:?}");
    }
    // Python's heap is about a huge page when it has begun; a shell's is none.
    let counts = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let spoke = names(&bill(&bench, &["--exact", "--", "sh", "-c", counts], 0));
    assert!(!spoke.contains(&"huge-pages".to_string()), "{spoke:?}");
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, script, less, setting) in CHANGED {
        if name == "one-core" && processors < 2 {
            skip("two processors", "processors", "use two");
            continue;
        }
        let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if name == "huge-pages" && (huge.is_empty() || huge.contains("[never]")) {
            skip("huge pages", "huge-pages", "write madvise to /sys/kernel/mm/transparent_hugepage/enabled");
            continue;
        }
        let before = bill(&bench, &["--exact", "--", python, "-c", script], 0);
        assert!(names(&before).iter().any(|one| one == name), "{name}: {:?}", names(&before));
        if name == "clock" {
            continue;
        }
        let (variable, value) = setting.split_once('=').unwrap();
        let mut changed = bench.tollway(&["bill", "--json", "--exact", "--"]);
        let words: &[&str] = match name {
            "one-core" => &["taskset", "-c", "0", python, "-c", script],
            _ => &[python, "-c", script],
        };
        let (out, _) = checked(&changed.args(words).env(variable, value).output().unwrap(), 0);
        let after: Value = serde_json::from_str(&out).unwrap();
        let (had, has) = (often(&before, less), often(&after, less));
        assert!(had >= 500.0 && has < 0.2 * had, "{name}: {had} of {less} before, and {has} after");
        // At the most: 0 where it is silent.
        let most = |bill: &Value| -> f64 {
            let all = bill["what_if"].as_array().unwrap().iter();
            all.filter(|one| one["name"] == name).map(|one| number(&one["saves"]["hi"])).sum()
        };
        assert!(most(&before) > 0.0, "{name} saves nothing");
        assert!(most(&after) < most(&before) / 2.0, "{name} saves {} still", most(&after));
    }
}

/// What a program does to begin is counted exactly, and what it goes on with is scaled, however short it is.
#[test]
fn a_short_program() {
    if !kernel_tells() {
        return;
    }
    let bench = bench();
    let out = "of=/dev/null";
    for (count, exact) in [("1000", true), ("300000", false)] {
        let words = ["--", "dd", "if=/dev/zero", out, "bs=1", &format!("count={count}"), "status=none"];
        let bill = bill(&bench, &words, 0);
        let (made, counted) =
            (count.parse::<f64>().unwrap(), number(&line(&bill, "write · /dev/null")["count"]));
        assert_eq!(number(&line(&bill, "execve")["count"]), 1.0);
        assert!(
            if exact { counted == made } else { (counted / made - 1.0).abs() < 0.1 },
            "{counted} of {made}"
        );
    }
}

/// A file as standard input is read from the same place at every start: what is before that place, by none.
#[test]
fn every_start_reads_the_same_input() {
    let bench = bench();
    fs::write(bench.file("input"), "not this\none\ntwo\n").unwrap();
    let mut input = fs::File::open(bench.file("input")).unwrap();
    input.seek(SeekFrom::Start(9)).unwrap();
    let says = "wc -l >> seen";
    let watching = ["bill", "--runs", "2", "--try", "one-core", "--rounds", "2", "--", "sh", "-c", says];
    checked(&bench.tollway(&watching).stdin(input).output().unwrap(), 0);
    // Two that are watched, one that finds cold caches, and two rounds of two.
    assert_eq!(fs::read_to_string(bench.file("seen")).unwrap(), "2\n".repeat(2 + 1 + 4));
}

/// Who interrupts tollway ends the program, and has the bill up to then; a run's bill is shown again as it was.
#[test]
fn an_interrupted_watch_ends_the_program() {
    let bench = bench();
    let watching = bench.tollway(&["bill", "--", "sleep", "61.25"]).spawn().unwrap();
    let sleeps = || Command::new("pgrep").args(["-f", "^sleep 61.25"]).output().unwrap().status.success();
    eventually("it is started", sleeps);
    let killed = Command::new("kill").args(["-TERM", &watching.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let (_, err) = checked(&watching.wait_with_output().unwrap(), 143);
    assert!(err.contains("The bill of sleep 61.25") && !sleeps(), "{err}");
    let (again, _) = bench.ends(&["report"], 0);
    assert!(again.contains("The bill of sleep 61.25"), "{again}");
    bench.ends(&["report", "--html", "again.html"], 0);
    assert!(fs::read_to_string(bench.file("again.html")).unwrap().contains("sleep 61.25"));
}

/// Two processes that work at the same time, with the time of one processor and no more.
#[test]
fn a_limit_of_processor_time_is_foretold_and_tried() {
    let bench = bench();
    let both = "i=0; while [ $i -lt 250000 ]; do i=$((i+1)); done";
    // It says in which group it is, and what limits there are.
    let says = "group=$(sed -n 's,.*:/tollway-,tollway-,p' /proc/self/cgroup)
        (cat /proc/self/cgroup; cat /sys/fs/cgroup/cpu/$group/cpu.cfs_quota_us /sys/fs/cgroup/$group/cpu.max) >> seen 2>&1";
    fs::write(bench.file("both.sh"), format!("{says}; ({both}) & {both}; wait\n")).unwrap();
    let limited = ["bill", "--json", "--try", "processor-limit", "--rounds", "2", "--", "sh", "both.sh"];
    let child = bench.tollway(&limited).spawn().unwrap();
    let group = format!("tollway-{}", child.id());
    let output = child.wait_with_output().unwrap();
    if String::from_utf8_lossy(&output.stderr).contains("a control group with a limit of processor time: ") {
        return skip("a limit of processor time", "cgroup", "run as root, with control groups mounted");
    }
    let (out, _) = checked(&output, 0);
    let bill: Value = serde_json::from_str(&out).unwrap();
    let tried = &bill["tried"][0];
    let worked_at_once = number(&bill["ran"]) / 1e9 / number(&bill["watching"]["watched_s"]);
    // Where others had the second processor there is nothing to foretell.
    assert!(worked_at_once < 1.3 || number(&tried["foretold_sooner"]["share"]) < -0.2, "{tried}");
    let seen = fs::read_to_string(bench.file("seen")).unwrap();
    let lines = |of: &dyn Fn(&str) -> bool| seen.lines().filter(|line| of(line)).count();
    let limits = lines(&|line| line == "100000" || line == "100000 100000");
    let limited = lines(&|line| line.contains(":/tollway-"));
    assert!(limits == 2 && limited == 2, "once in each round: {seen}");
    for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"] {
        assert!(!Path::new(folder).join(&group).exists(), "{folder}/{group}");
    }
}

/// Without root there is less to see, and it is said what is missing and how to get it.
#[test]
fn without_root() {
    let bench = bench();
    // Everybody may use the folder.
    std::process::Command::new("chmod").args(["-R", "a+rwX"]).arg(bench.path()).status().unwrap();
    let mut command = if rustix_is_root() {
        let mut setpriv = Command::new("setpriv");
        setpriv.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ]);
        setpriv.arg(env!("CARGO_BIN_EXE_tollway"));
        setpriv
    } else {
        Command::new(env!("CARGO_BIN_EXE_tollway"))
    };
    bench.set_up(&mut command);
    command.args(["bill", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=3000", "status=none"]);
    let output = command.output().unwrap();
    if String::from_utf8_lossy(&output.stderr).contains("Permission denied") {
        return skip("a user without root", "root", "build where everybody may read the program");
    }
    let (_, err) = checked(&output, 0);
    assert!(err.contains("by ptrace") && err.contains("3.00 k"), "{err}");
    assert!(err.contains("each call takes") && err.contains("µs longer by that"), "{err}");
    assert!(err.contains("run as root, or with CAP_BPF and CAP_PERFMON"), "{err}");
    assert!(err.contains("was not measured: this way of counting would be most of it"), "{err}");
}

/// How it would be counted, how often it would be started, and what would be written, and the program is not started.
#[test]
fn a_dry_run_of_a_bill_starts_nothing_and_names_what_it_would_write() {
    let bench = bench();
    let there = || {
        let file = |file: std::io::Result<fs::DirEntry>| {
            let path = file.unwrap().path();
            (fs::read(&path).unwrap(), path)
        };
        let mut files: Vec<_> = fs::read_dir(bench.path()).unwrap().map(file).collect();
        files.sort();
        files
    };
    let before = there();
    let touch = ["--", "touch", "made"];
    let planned = |more: &[&str]| bench.ends(&[&["bill", "--dry-run"], more, &touch].concat(), 0).0;
    let text = planned(&["--by", "proc", "--html", "page.html", "--export", "bill.json", "--runs", "3"]);
    for part in [
        "starts `touch made`",
        "3 bills",
        "counted by proc",
        "privileges: none for",
        "tollway.db",
        "bill.json, page.html",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = planned(&["--by", "proc", "--no-store", "--try", "one-core,reuse-memory", "--rounds", "4"]);
    // The first finds cold caches; in each round it runs once as it is, and once with each change.
    assert!(text.contains("13 times") && text.contains("writes nothing"), "{text}");
    let (json, _) =
        bench.ends(&["bill", "--json", "--dry-run", "--for", "5s", "--pid", "1", "--by", "proc"], 0);
    let planned: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&planned["pid"], &planned["seconds"], &planned["by"]),
        (&json!(1), &json!(5.0), &json!("proc"))
    );
    assert!(there() == before, "it made or changed a file");
}

/// What cannot be is refused with the place and the remedy, before anything is measured.
#[test]
fn bad_input_is_refused() {
    let bench = bench();
    for (arguments, place) in [
        (&["bill", "--pid", "4194303"][..], "process 4194303"),
        (&["bill", "--per", "nosuchcall", "--", "true"], "--per nosuchcall"),
        (&["bill", "--per", "0", "--", "true"], "--per 0"),
        (&["bill", "--for", "1x", "--", "true"], "--for"),
        (&["bill", "--for", "1ms", "--", "true"], "--for"),
        (&["bill", "--children", "--", "true"], "--children"),
        (&["bill", "--try", "one-core", "--pid", "1"], "--try"),
        (&["bill", "--try", "nosuch", "--", "true"], "--try"),
        (&["bill", "--overhead", "0", "--", "true"], "--overhead"),
        (&["bill", "--live", "--json", "--", "true"], "--live"),
        (&["bill", "--time", "5", "--", "true"], "--time"),
        (&["bill", "--export", "bill.csv", "--", "true"], "--export"),
        (&["bill", "--try", "one-core,one-core", "--", "true"], "--try"),
        (&["bill", "cipher", "--", "true"], "PATH"),
        (&["bill", "--pid", "1", "--", "true"], "--pid"),
        (&["bill"], "PATH"),
    ] {
        let (_, err) = bench.ends(arguments, 2);
        assert!(err.contains(place), "{arguments:?}: {err}");
    }
    // A call that the program never makes is known only afterwards.
    let (_, err) = bench.ends(&["bill", "--per", "accept4", "--", "true"], 2);
    assert!(err.contains("--per accept4"), "{err}");
}
