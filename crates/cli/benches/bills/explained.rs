//! What the tolls explain of the kernel's processor time, and, apart from that, how much of it is put down to calls as it was measured.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::Line;
use crate::program::{Bench, Killed};

/// How much has to be explained.
const LEAST: f64 = 0.8;
/// The same of each everyday program and of their median, how much has to be attributed, and what either may be at the most without a reason beside it.
const LEAST_EVERYDAY: f64 = 0.75;
const LEAST_MEDIAN: f64 = 0.9;
const LEAST_ATTRIBUTED: f64 = 0.95;
const MOST: f64 = 1.1;
/// Bills of each program.
const BILLS: usize = 3;
/// Bills at most, until there are so many of processors that are as far from each other as they were when prices were measured, and what is waited after one of
/// others: they stay where they are for seconds to minutes.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_secs(5);

pub fn lines(bench: &Bench) -> Vec<Line> {
    // The price list, on its own.
    let measured = bench.tollway(&["measure", "crossings", "--preset", "calls"]).status();
    assert!(measured.is_ok_and(|ended| ended.success()), "no price list");
    let mut lines = Vec::new();
    for kind in ["pipe", "unix", "tcp", "eventfd"] {
        for (when, where_to) in [("after", "one core"), ("before", "two cores")] {
            let count = if when == "after" { "300000" } else { "60000" };
            let example = bench.example("changes", &[kind, count, when]);
            let (what, bill) = (format!("ping-pong by {kind}, {where_to}"), || bench.bill(&[], &example));
            lines.push(if when == "after" { on_one_core(&what, bill) } else { between_cores(&what, bill) });
        }
    }
    let dd = "dd if=/dev/zero of=/dev/null bs=4k count=4000000 status=none";
    let dd: Vec<String> = dd.split(' ').map(String::from).collect();
    lines.push(on_one_core("dd", || bench.bill(&[], &dd)));
    lines.extend(sqlite(bench));
    lines.extend(redis(bench));
    lines.extend(everyday(bench));
    lines
}

/// Everyday programs: a name, what it needs besides a shell, and a shell's words. `$DIR` is a folder with a copy of a part of /usr/include, a small project in C
/// and a repository of both.
const EVERYDAY: [(&str, &str, &str); 9] = [
    ("ls -R", "ls", "exec ls -R /usr"),
    ("grep -r", "grep", "exec grep -r nothing-has-this /usr/include"),
    ("find", "find", "exec find /usr -newer /etc/hostname"),
    ("a shell loop of true", "true", "for i in $(seq 300); do /bin/true; done"),
    ("make -j2", "make", "cd $DIR/project && make -s clean && exec make -s -j2"),
    ("git clone", "git", "rm -rf $DIR/clone && exec git clone -q $DIR/repository $DIR/clone"),
    ("python with sqlite", "python3", "cd $DIR && exec python3 rows.py"),
    ("node", "node", "cd $DIR && exec node files.js"),
    ("tar", "tar", "exec tar cf $DIR/include.tar /usr/include"),
];

/// What everyday programs need.
const SET_UP: &str = r#"
set -e
mkdir -p $DIR/project $DIR/repository
cd $DIR/project
for i in 1 2 3 4 5 6 7 8; do printf '#include <stdio.h>\n#include <stdlib.h>\nint f%s(int n) { printf("%%d", n); return rand(); }\n' $i > f$i.c; done
printf 'int main(void) { return 0; }\n' > main.c
printf 'OBJECTS := $(patsubst %%.c,%%.o,$(wildcard *.c))\nall: $(OBJECTS)\n\t$(CC) -o all $(OBJECTS)\nclean:\n\trm -f all *.o\n' > Makefile
if command -v git > /dev/null; then
  cd $DIR/repository
  for i in $(seq 800); do seq $i $((i + 400)) > $i.txt; done
  git init -q . && git add -A . && git -c user.name=a -c user.email=a@b commit -q -m all
fi
cat > $DIR/rows.py <<'END'
import os, sqlite3
if os.path.exists("rows.db"): os.remove("rows.db")
rows = sqlite3.connect("rows.db")
rows.execute("create table t(a integer primary key, b text)")
for number in range(300):
    rows.execute("insert into t values(?, ?)", (number, "row %d" % number))
    rows.commit()
END
cat > $DIR/files.js <<'END'
const fs = require("fs"), path = require("path");
let bytes = 0;
function add(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) add(name);
    else if (entry.isFile()) bytes += fs.readFileSync(name).length + fs.statSync(name).nlink;
  }
}
add("/usr/include");
END
"#;

/// Each everyday program that is installed here, and what is explained of them on the median.
fn everyday(bench: &Bench) -> Vec<Line> {
    let folder = bench.file("everyday");
    let set_up = Command::new("sh").args(["-c", SET_UP]).env("DIR", &folder).stdout(Stdio::null()).status();
    if !set_up.is_ok_and(|status| status.success()) {
        return lacks("what everyday programs need").into_iter().collect();
    }
    let mut lines = Vec::new();
    let mut explained = Vec::new();
    for (name, program, script) in EVERYDAY {
        let has = format!("command -v {program}");
        if !Command::new("sh").args(["-c", &has]).stdout(Stdio::null()).status().is_ok_and(|it| it.success())
        {
            lines.extend(lacks(name));
            continue;
        }
        let script = script.replace("$DIR", &folder);
        let words = ["sh".to_string(), "-c".into(), script];
        lines.extend(both(name, &mut explained, || bench.bill(&[], &words)));
    }
    lines.extend(fetched(bench, &mut explained));
    explained.sort_by(f64::total_cmp);
    if let Some(median) = explained.get(explained.len() / 2) {
        lines.push(Line {
            what: format!("explained of {} everyday programs", explained.len()),
            found: format!("{:.0} % on the median", 100.0 * median),
            bar: format!("at least {:.0} %", 100.0 * LEAST_MEDIAN),
            holds: Some(*median >= LEAST_MEDIAN),
        });
    }
    lines
}

/// curl, from a server on the loopback device.
fn fetched(bench: &Bench, explained: &mut Vec<f64>) -> Vec<Line> {
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
        return lacks("curl").into_iter().collect();
    }
    let folder = bench.file("served");
    fs::create_dir_all(&folder).unwrap();
    fs::write(format!("{folder}/large"), vec![7; 200 << 20]).unwrap();
    let mut server = Command::new("python3");
    server.args(["-m", "http.server", "7792", "--bind", "127.0.0.1", "--directory", &folder]);
    let Ok(server) = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        return lacks("a server for curl (python3)").into_iter().collect();
    };
    let _server = Killed(server);
    sleep(Duration::from_secs(1));
    let words = ["curl", "-s", "-o", "/dev/null", "http://127.0.0.1:7792/large"].map(String::from);
    both("curl", explained, || bench.bill(&[], &words))
}

/// What is explained and what is attributed of some bills of one program, a line each.
fn both(name: &str, explained: &mut Vec<f64>, bill: impl Fn() -> Value) -> Vec<Line> {
    // The first finds cold caches.
    drop(bill());
    let bills: Vec<Value> = (0..BILLS).map(|_| bill()).filter(|bill| bill["is_sampled"] == true).collect();
    let of = |number: fn(&Value) -> Option<f64>| {
        let mut shares: Vec<f64> =
            bills.iter().filter_map(|bill| Some(number(bill)? / bill["kernel"]["ns"].as_f64()?)).collect();
        shares.sort_by(f64::total_cmp);
        shares
    };
    let line = |what: &str, shares: &[f64], least: f64| {
        let median = shares.get(shares.len() / 2);
        let each =
            shares.iter().map(|share| format!("{:.0} %", 100.0 * share)).collect::<Vec<_>>().join(", ");
        Line {
            what: format!("{what} of {name}"),
            found: median.map_or("not measured".into(), |share| format!("{:.0} % ({each})", 100.0 * share)),
            bar: format!("{:.0} % to {:.0} %", 100.0 * least, 100.0 * MOST),
            holds: median.map(|share| (least..=MOST).contains(share)),
        }
    };
    let by_tolls = of(|bill| bill["explained"]["ns"].as_f64());
    let measured = of(|bill| bill["attributed"]["ns"].as_f64());
    explained.extend(by_tolls.get(by_tolls.len() / 2));
    vec![line("explained", &by_tolls, LEAST_EVERYDAY), line("attributed", &measured, LEAST_ATTRIBUTED)]
}

/// The median of some bills of what runs on one core at a time.
fn on_one_core(what: &str, bill: impl Fn() -> Value) -> Line {
    let shares: Vec<f64> = (0..BILLS).filter_map(|_| share(&bill())).collect();
    told(what, shares, &[])
}

/// The same of what goes from one core to another, while the two are as far from each other as when prices were measured. What was explained while a hypervisor
/// had them elsewhere is shown apart, as the bills themselves say.
fn between_cores(what: &str, bill: impl Fn() -> Value) -> Line {
    let (mut fit, mut apart) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let bill = bill();
        if bill["apart"].is_null() {
            fit.extend(share(&bill));
        } else {
            apart.extend(share(&bill));
            sleep(PAUSE);
        }
        if fit.len() == BILLS {
            break;
        }
    }
    told(what, fit, &apart)
}

/// What the tolls explain of a bill's kernel time.
fn share(bill: &Value) -> Option<f64> {
    Some(bill["explained"]["ns"].as_f64()? / bill["kernel"]["ns"].as_f64()?)
}

fn told(what: &str, mut shares: Vec<f64>, apart: &[f64]) -> Line {
    shares.sort_by(f64::total_cmp);
    let median = shares.get(shares.len() / 2);
    let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
    let each = |shares: &[f64]| shares.iter().map(percent).collect::<Vec<_>>().join(", ");
    let apart =
        if apart.is_empty() { String::new() } else { format!("; of another distance {}", each(apart)) };
    let found =
        median.map_or("not measured".into(), |share| format!("{} ({})", percent(share), each(&shares)));
    Line {
        what: format!("explained of {what}"),
        found: found + &apart,
        bar: format!("at least {}", percent(&LEAST)),
        holds: median.map(|share| *share >= LEAST),
    }
}

fn lacks(what: &str) -> Option<Line> {
    Some(Line { what: what.into(), found: "not installed here".into(), bar: String::new(), holds: None })
}

fn sqlite(bench: &Bench) -> Option<Line> {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        return lacks("sqlite3");
    }
    let rows: String = (0..5000).map(|row| format!("insert into t values({row}, 'row {row}');\n")).collect();
    fs::write(bench.file("rows.sql"), format!("create table t(a integer primary key, b text);\n{rows}"))
        .unwrap();
    let read = format!(".read {}", bench.file("rows.sql"));
    let words = ["sqlite3".into(), bench.file("rows.db"), read];
    Some(on_one_core("inserts into SQLite", || {
        let _ = fs::remove_file(bench.file("rows.db"));
        bench.bill(&[], &words)
    }))
}

/// A server and its load.
pub fn redis_server(bench: &Bench, port: &str) -> Option<Killed> {
    let mut server = Command::new("redis-server");
    server
        .args(["--port", port, "--save", "", "--dir", &bench.file("")])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let server = Killed(server.spawn().ok()?);
    sleep(Duration::from_millis(500));
    Some(server)
}

fn redis(bench: &Bench) -> Option<Line> {
    let Some(server) = redis_server(bench, "7790") else { return lacks("redis-server") };
    let mut load = Command::new("redis-benchmark");
    load.args(["-p", "7790", "-t", "set", "-n", "1000000000", "-c", "20", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _load = Killed(load.spawn().ok()?);
    sleep(Duration::from_millis(500));
    let number = server.0.id().to_string();
    Some(between_cores("redis under load", || bench.bill(&["--pid", &number, "--for", "3s"], &[])))
}
