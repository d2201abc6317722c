//! Counts of primes, which have to be exact: by our engine, and by Python where it is.

use tollway_core::Requirement;
use tollway_host::requirement::check;

use super::{Machine, tool};
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;

/// Seconds that a count may take; those that take more than a part of it on a machine of today are not asked for.
const PATIENCE: &str = "60";

/// Who counts the primes below what, and how many there are (OEIS A006880).
const COUNTS: [(&str, &str, &str, u64); 3] = [
    ("machine: primes below 10^6", "tollway", "1000000", 78_498),
    ("machine: primes below 10^7", "tollway", "10000000", 664_579),
    ("machine: primes below 10^6, Python", "python3", "1000000", 78_498),
];

pub fn measure(machine: &Machine<'_>, only: &Only) -> Vec<Row> {
    let wanted = COUNTS.iter().filter(|(name, ..)| only.wants(name));
    wanted
        .map(|(name, by, below, primes)| {
            let bar = Bar::Exactly(*primes).to_string();
            let row = row(machine, by, below, *primes);
            Row { name: (*name).into(), bar, ..row }
        })
        .collect()
}

fn row(machine: &Machine<'_>, by: &str, below: &str, primes: u64) -> Row {
    let of = |verdict| Row { verdict, ..Row::default() };
    let needs: Option<Requirement> = (by != "tollway").then(|| tool(by));
    if let Some(missing) = needs.and_then(|requirement| check(&requirement).err()) {
        return of(Verdict::Skipped(missing.to_string()));
    }
    let told = machine.example("machine_cpu", &["primes", by, below, PATIENCE]).lines();
    let line = match told.as_deref() {
        Ok([line]) => line,
        Ok(lines) => return of(Verdict::Broken(format!("it said {} lines", lines.len()))),
        Err(error) => return of(Verdict::Broken(format!("{error:#}"))),
    };
    let number = |name: &str| line[name].as_u64().map(|number| number.to_string());
    if number("reached").as_deref() != Some(below) {
        let reached = number("reached").unwrap_or_default();
        return of(Verdict::Skipped(format!(
            "in {PATIENCE} s it came to {reached} → a faster machine, or a quieter one"
        )));
    }
    let counted = line["primes"].as_u64();
    let seconds = line["seconds"].as_f64().unwrap_or(f64::NAN);
    let cell = format!("{} in {seconds:.2} s", counted.map_or("nothing".into(), |n| n.to_string()));
    let verdict = if counted == Some(primes) { Verdict::Holds } else { Verdict::Fails };
    let row = if by == "tollway" {
        Row { ours: cell, ..Row::default() }
    } else {
        Row { twin: cell, ..Row::default() }
    };
    Row { measured: counted.map_or_else(String::new, |n| n.to_string()), verdict, ..row }
}
