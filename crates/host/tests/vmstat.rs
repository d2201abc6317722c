//! Our columns against vmstat's, over the same seconds.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

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
    // Something to see in `us` and `cs`.
    let over = AtomicBool::new(false);
    let compared = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for _ in 0..100_000 {
                    std::hint::spin_loop();
                }
                thread::yield_now();
            }
        });
        let mut lines =
            BufReader::new(child.stdout.take().expect("it was piped")).lines().map_while(Result::ok);
        let names: Vec<String> = lines
            .by_ref()
            .find(|l| l.contains(" cs "))
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let mut before: Option<ProcStat> = None;
        let mut compared = Vec::new();
        for line in lines {
            let now = ProcStat::read().unwrap();
            let values = line.split_whitespace().map(|word| word.parse().unwrap_or(f64::NAN));
            let theirs: HashMap<String, f64> = names.iter().cloned().zip(values).collect();
            // The first line is since boot.
            if let Some(before) = before.replace(now.clone()) {
                let ours = delta(&before, &now);
                println!("{ours:?}\n{line}");
                compared.push(agrees(&ours, &theirs));
            }
        }
        over.store(true, Ordering::Relaxed);
        compared
    });
    child.wait().unwrap();
    assert_eq!(compared.len(), 2);
    // A burst between the two readings of a boundary falsifies one second; both only if the columns are wrong.
    assert!(compared.iter().any(Result::is_ok), "{compared:?}");
}
