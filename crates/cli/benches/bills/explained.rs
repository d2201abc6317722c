//! What the tolls explain of the kernel's processor time.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::Line;
use crate::program::{Bench, Killed};

/// How much has to be explained.
const LEAST: f64 = 0.8;

pub fn lines(bench: &Bench) -> Vec<Line> {
    // The price list, on its own.
    bench.bill(&[], &["true".into()]);
    let mut lines = Vec::new();
    for kind in ["pipe", "unix", "tcp", "eventfd"] {
        for (when, where_to) in [("after", "one core"), ("before", "two cores")] {
            let count = if when == "after" { "300000" } else { "60000" };
            let bill = bench.bill(&[], &bench.example("changes", &[kind, count, when]));
            lines.push(line(&format!("ping-pong by {kind}, {where_to}"), &bill));
        }
    }
    let dd = "dd if=/dev/zero of=/dev/null bs=4k count=4000000 status=none";
    lines.push(line("dd", &bench.bill(&[], &dd.split(' ').map(String::from).collect::<Vec<_>>())));
    lines.extend(sqlite(bench));
    lines.extend(redis(bench));
    lines
}

fn line(what: &str, bill: &Value) -> Line {
    let (explained, kernel) = (bill["explained"]["ns"].as_f64(), bill["kernel"]["ns"].as_f64());
    let share = explained.zip(kernel).map(|(explained, kernel)| explained / kernel);
    Line {
        what: format!("explained of {what}"),
        found: share.map_or("not measured".into(), |share| format!("{:.0} %", 100.0 * share)),
        bar: format!("at least {:.0} %", 100.0 * LEAST),
        holds: share.map(|share| share >= LEAST),
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
    Some(line("inserts into SQLite", &bench.bill(&[], &["sqlite3".into(), bench.file("rows.db"), read])))
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
    load.args(["-p", "7790", "-t", "set,get", "-n", "2000000", "-c", "20", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _load = Killed(load.spawn().ok()?);
    sleep(Duration::from_millis(500));
    let number = server.0.id().to_string();
    Some(line("redis under load", &bench.bill(&["--pid", &number, "--for", "5s"], &[])))
}
