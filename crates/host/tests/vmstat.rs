//! Our columns against vmstat's.

use std::collections::HashMap;
use std::process::Command;

use tollway_host::samplers::proc_stat::{ProcStat, Vmstat, delta};

fn agrees(ours: &Vmstat, theirs: &HashMap<String, f64>) -> Result<(), String> {
    let column = |name: &str| theirs.get(name).copied().ok_or(format!("vmstat shows no column {name}"));
    let split = ours.split.ok_or("our split is unknown")?;
    // Shares: theirs are whole percents.
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

/// Averages since boot, which are the same a moment later. A line over one second lies between two readings of
/// vmstat's, which are not ours.
#[test]
fn columns_agree_with_vmstat() {
    let output = match Command::new("vmstat").env("LC_ALL", "C").output() {
        Ok(output) => String::from_utf8(output.stdout).unwrap(),
        Err(error) => {
            let why = format!("vmstat: {error} → install procps");
            return tollway_host::requirement::skip_test(&["vmstat"], &why);
        }
    };
    let now = ProcStat::read().unwrap();
    let lines = output.lines().skip_while(|line| !line.contains(" cs "));
    let [names, values] = *lines.collect::<Vec<_>>() else { panic!("{output}") };
    let values = values.split_whitespace().map(|word| word.parse().unwrap());
    let theirs: HashMap<String, f64> = names.split_whitespace().map(str::to_owned).zip(values).collect();
    let none = ProcStat { interrupts: Some(0), switches: Some(0), ..ProcStat::default() };
    // procps divides interrupts and switches by the time of all processors together.
    let ours = delta(&none, &ProcStat { at: uptime() * now.each.len() as u64, ..now });
    println!("{ours:?}\n{output}");
    assert_eq!(agrees(&ours, &theirs), Ok(()));
}
