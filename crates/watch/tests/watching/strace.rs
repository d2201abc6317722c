//! What `strace -f -c` counts of a program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tollway_host::requirement::skip_test;
use tollway_watch::Counts;
use tollway_watch::numbers::name;

/// Calls and failures by name.
pub type Table = BTreeMap<String, (u64, u64)>;

pub fn table(counts: &Counts) -> Table {
    let mut table = Table::new();
    for calls in counts.threads.iter().flat_map(|thread| &thread.calls) {
        let entry = table.entry(name(calls.number).unwrap_or("?").into()).or_default();
        entry.0 += calls.count;
        entry.1 += calls.failed.unwrap();
    }
    table
}

/// Takes out `exit` and `exit_group`, of which strace counts none, and its log may show one too many (6.1, of a thread that is killed at
/// a call): how many there were of each.
pub fn without_ends(table: &mut Table) -> [u64; 2] {
    ["exit", "exit_group"].map(|end| table.remove(end).map_or(0, |(count, _)| count))
}

/// `None` where there is no strace.
pub fn by_strace(program: &Path, arguments: &[&str]) -> Option<Table> {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("log");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-c", "-o"])
        .arg(&log)
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if let Err(error) = strace.env_remove("LD_LIBRARY_PATH").status() {
        skip_test(&["strace"], &format!("strace: {error} → install strace"));
        return None;
    }
    let log = fs::read_to_string(&log).unwrap();
    let mut table = Table::new();
    for line in log.lines().skip(2).take_while(|line| !line.starts_with("---")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let failed = if words.len() == 6 { words[4].parse().unwrap() } else { 0 };
        table.insert(words[words.len() - 1].into(), (words[3].parse().unwrap(), failed));
    }
    assert!(!table.contains_key("exit_group"), "strace has learnt to count ends: {log}");
    Some(table)
}
