//! Our columns against vmstat's, over the same time.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[path = "../testing/quiet.rs"]
mod quiet;
use quiet::is_quiet;
use tollway_host::samplers::proc_stat::{ProcStat, Vmstat, delta};

fn agrees(ours: &Vmstat, theirs: &HashMap<String, f64>) -> Result<(), String> {
    let column = |name: &str| theirs.get(name).copied().ok_or(format!("vmstat shows no column {name}"));
    let split = ours.split.ok_or("our split is unknown")?;
    // Shares: theirs are whole percents, and the two readings are some ms apart.
    let shares = [("us", split.us), ("sy", split.sy), ("id", split.id), ("wa", split.wa), ("st", split.st)];
    for (name, share) in shares {
        if (share - column(name)?).abs() > 4.0 {
            return Err(format!("{name}: {share:.1} here, {} there", column(name)?));
        }
    }
    if let Ok(guests) = column("gu")
        && (split.gu - guests).abs() > 4.0
    {
        return Err(format!("gu: {:.1} here, {guests} there", split.gu));
    }
    for (name, rate) in [("cs", ours.cs), ("in", ours.interrupts)] {
        let (rate, theirs) = (rate.ok_or("a rate is unknown")?, column(name)?);
        if (rate - theirs).abs() > 0.1 * theirs + 50.0 {
            return Err(format!("{name}: {rate:.0} here, {theirs} there"));
        }
    }
    Ok(())
}

/// Nanoseconds since the machine was started.
fn uptime() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = text.split_whitespace().next().unwrap().parse().unwrap();
    (seconds * 1e9) as u64
}

/// Its first line is of all the time since the machine was started, which is the same a moment later; seconds are compared where nothing happens between
/// its reading and ours.
#[test]
fn columns_agree_with_vmstat() {
    let child = Command::new("vmstat").args(["1", "3"]).stdout(Stdio::piped()).env("LC_ALL", "C").spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            return tollway_host::requirement::skip_test(
                &["vmstat"],
                &format!("vmstat: {error} → install procps"),
            );
        }
    };
    let mut lines = BufReader::new(child.stdout.take().expect("it was piped")).lines().map_while(Result::ok);
    let names: Vec<String> = lines
        .by_ref()
        .find(|l| l.contains(" cs "))
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let none = ProcStat { interrupts: Some(0), switches: Some(0), ..ProcStat::default() };
    let mut before = None;
    let mut compared = Vec::new();
    for line in lines {
        let now = ProcStat::read().unwrap();
        let (from, to) = match before.replace(now.clone()) {
            Some(before) => (before, now),
            // There procps divides interrupts and switches by the time of all processors together.
            None => (none.clone(), ProcStat { at: uptime() * now.each.len() as u64, ..now }),
        };
        let values = line.split_whitespace().map(|word| word.parse().unwrap_or(f64::NAN));
        let theirs: HashMap<String, f64> = names.iter().cloned().zip(values).collect();
        let ours = delta(&from, &to);
        println!("{ours:?}\n{line}");
        compared.push(agrees(&ours, &theirs));
    }
    child.wait().unwrap();
    assert_eq!(compared.len(), 3);
    assert_eq!(compared[0], Ok(()), "since the machine was started");
    assert!(compared[1..].iter().any(Result::is_ok) || !is_quiet(), "{compared:?}");
}
