//! What `tollway bill -- COMMAND --dry-run` tells: how the program would be watched, what would be measured besides, and what is
//! written.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use tollway_core::{Error, Missing};
use tollway_program_tool::args::{Program, Try};
use tollway_program_tool::command;
use tollway_program_tool::prices::needed;
use tollway_program_tool::ways;

use super::doctor::counting::{self, WayToCount};
use super::price_list::{self, Pricing};
use crate::args::{Arguments, Bill};
use crate::output::{self, Versioned};

/// What a bill would do.
#[derive(Serialize)]
pub struct PlannedBill {
    /// The command line, or the name of the process that is watched.
    program: String,
    /// The process that is watched; none where a program is started.
    pid: Option<u32>,
    /// How often it is billed.
    bills: u32,
    /// Seconds that each watches it; none: until it ends.
    seconds: Option<f64>,
    /// How it is counted: `kernel`, `ptrace` or `proc`.
    by: &'static str,
    /// In words.
    by_title: &'static str,
    /// The privileges that this needs.
    privileges: &'static str,
    /// Why it is not counted in a better way.
    instead: Vec<Missing>,
    /// How often it is started besides, to try changes.
    starts: u32,
    /// Settings of the whole machine that are changed meanwhile.
    changes: Vec<&'static str>,
    /// Prices that most bills need, and how many of them no list has.
    prices: usize,
    prices_missing: usize,
    /// Seconds that measuring prices takes at the most.
    pricing_seconds: f64,
    /// Files.
    writes: Vec<String>,
}

impl PlannedBill {
    /// What these options would do.
    ///
    /// # Errors
    /// The program cannot be counted in the way that is asked for.
    pub fn of(arguments: &Arguments, options: &Bill, pricing: &Pricing<'_>) -> Result<PlannedBill> {
        let program = &options.program;
        let (by, instead) = way(program)?;
        let needed = needed();
        let tries = program.tries.len() as u32;
        Ok(PlannedBill {
            program: program.pid.map_or_else(|| command::words(&program.command), command::name_of),
            pid: program.pid,
            bills: options.repeats.runs.unwrap_or(1),
            seconds: program.long.map(|long| long.as_secs_f64()),
            by: by.by,
            by_title: by.title,
            privileges: by.privileges,
            instead,
            starts: if tries == 0 { 0 } else { 1 + program.rounds * (1 + tries) },
            changes: program.tries.iter().filter_map(|change| of_the_machine(*change)).collect(),
            prices: needed.iter().collect::<BTreeSet<_>>().len(),
            prices_missing: pricing.missing(&needed)?,
            pricing_seconds: price_list::BUDGET,
            writes: writes(arguments, options, pricing),
        })
    }

    fn to_text(&self) -> String {
        let mut text = match self.pid {
            Some(pid) => format!("watches process {pid}, {}", self.program),
            None => format!("starts `{}` and watches it", self.program),
        };
        match self.seconds {
            Some(seconds) => text += &format!(" for {seconds} s"),
            None => text += " until it ends",
        }
        let bills = if self.bills == 1 { "one bill".into() } else { format!("{} bills", self.bills) };
        let _ = writeln!(text, ": {bills}\ncounted by {}", self.by_title);
        let _ = writeln!(text, "privileges: {}", self.privileges);
        for missing in &self.instead {
            let _ = writeln!(text, "not in a better way: {missing}");
        }
        if self.starts > 0 {
            let _ = writeln!(text, "then starts it {} times, with a change and without", self.starts);
        }
        for change in &self.changes {
            let _ = writeln!(text, "changes for that time, and sets back: {change}");
        }
        let _ = writeln!(
            text,
            "{} of {} prices that most bills need are not known yet; what this one needs is measured once that is known, \
             in {:.0} s at the most",
            self.prices_missing, self.prices, self.pricing_seconds
        );
        let writes = if self.writes.is_empty() { "nothing".into() } else { self.writes.join(", ") };
        text + &format!("writes {writes}\n")
    }
}

/// Tells it.
pub fn show(arguments: &Arguments, planned: PlannedBill) -> Result<()> {
    if arguments.json {
        return output::json(&Versioned::first(planned));
    }
    Ok(output::text(&planned.to_text())?)
}

/// The first way that can be used, and why those before it cannot.
fn way(program: &Program) -> Result<(WayToCount, Vec<Missing>)> {
    let mut instead = Vec::new();
    let mut tried = counting::examine();
    for by in ways::asked(program) {
        let name = by.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let Some(at) = tried.iter().position(|way| way.by == name) else { continue };
        let way = tried.swap_remove(at);
        match way.missing {
            None => return Ok((way, instead)),
            Some(missing) => instead.push(missing),
        }
    }
    Err(match instead.pop() {
        Some(missing) => Error::Missing(missing).into(),
        None => Error::Wrong("there is no way to count".into()).into(),
    })
}

/// What a change sets that is not the program's alone.
fn of_the_machine(change: Try) -> Option<&'static str> {
    match change {
        Try::Clock => Some("the clock source of the machine, as root"),
        Try::ProcessorLimit => Some("a control group of its own, as root"),
        Try::OneCore | Try::HugePages | Try::ReuseMemory | Try::BatchClass => None,
    }
}

fn writes(arguments: &Arguments, options: &Bill, pricing: &Pricing<'_>) -> Vec<String> {
    let kept = (!options.no_store)
        .then(|| [Some(arguments.store.clone()), pricing.file()])
        .into_iter()
        .flatten()
        .flatten();
    let asked = [&options.output, &options.repeats.export, &options.program.html];
    kept.chain(asked.into_iter().flatten().cloned()).map(|file| file.display().to_string()).collect()
}
