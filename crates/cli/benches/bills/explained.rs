//! What the tolls explain of the kernel's processor time, of programs that do one thing.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::Line;
use crate::program::{Bench, Killed};

/// How much has to be explained.
const LEAST: f64 = 0.8;
/// Bills of each program.
const BILLS: usize = 3;
/// Bills at most, until there are so many of processors that are as far from each other as they were when prices were measured, and what is waited after one of
/// others: they stay where they are for seconds to minutes.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_secs(5);

pub fn lines(bench: &Bench) -> Vec<Line> {
    bench.measure_prices();
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
    lines
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

pub fn lacks(what: &str) -> Option<Line> {
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

/// The same under load.
pub fn loaded_redis(bench: &Bench) -> Option<(Killed, Killed)> {
    let server = redis_server(bench, "7790")?;
    let mut load = Command::new("redis-benchmark");
    load.args(["-p", "7790", "-t", "set", "-n", "1000000000", "-c", "20", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let load = Killed(load.spawn().ok()?);
    sleep(Duration::from_millis(500));
    Some((server, load))
}

fn redis(bench: &Bench) -> Option<Line> {
    let Some((server, _load)) = loaded_redis(bench) else { return lacks("redis-server") };
    let number = server.0.id().to_string();
    Some(between_cores("redis under load", || bench.bill(&["--pid", &number, "--for", "3s"], &[])))
}
