//! Advice, for a terminal.

use std::collections::BTreeSet;
use std::fmt::Write;

use tollway_report::columns::{Align, Cell, Table};
use tollway_report::number;

use super::document::{AdviceDocument, VerifiedDocument, WayDocument};
use crate::span::{ends, off};

impl AdviceDocument {
    /// For a terminal of that many columns.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut out = self.asked();
        out += &self.verdict();
        out += &self.waits();
        // A crossover is of requests one upon another, whatever the rate.
        let upon = if self.asleep { ", one upon another" } else { "" };
        for crossing in &self.crossings {
            let _ = writeln!(
                out,
                "changes  async comes below the {} {} requests at a time{upon}",
                crossing.below,
                crossing.step.words(crossing.last)
            );
        }
        for silent in &self.silent {
            let _ = writeln!(out, "silent   {silent}");
        }
        out += &format!("\n{}", self.table(width));
        let runs: Vec<String> = self.tolls.iter().map(i64::to_string).collect();
        let _ = writeln!(out, "the time of a request, foretold from tolls of run {}", runs.join(", "));
        if let Some(verified) = &self.verified {
            out += &verified.to_text(width);
        }
        out
    }

    fn asked(&self) -> String {
        let rate = self.rate.map_or_else(
            || "as many as can be done".into(),
            |rate| format!("{} a second", number::count(rate)),
        );
        let cores = if self.cores == 1 { "one core" } else { "two cores" };
        format!(
            "asked    {} bytes, a service of {}, {} at a time at the most, {rate}, {cores}\n",
            self.size,
            number::time(self.service_ns),
            self.concurrency
        )
    }

    fn verdict(&self) -> String {
        let priced = |way: &WayDocument| {
            let time = format!("{} {} a request", number::time(way.time_ns.estimate), ends(&way.time_ns));
            match self.asleep {
                true => format!("{time} with its wake-ups"),
                false => format!("{time}, {} a second", number::count(way.per_second.estimate)),
            }
        };
        let mut out = format!("advised  {}: {}\n", self.advised.way, priced(&self.advised));
        if self.together != self.concurrency {
            let _ = writeln!(
                out,
                "         no more than {} at a time are on their way at that rate",
                self.together
            );
        }
        if self.asleep {
            out += "         at that rate both ends sleep before the next one comes: each is woken for it\n";
        }
        if self.enough == Some(false) {
            let _ = writeln!(out, "         that is not enough for the rate that was asked for");
        }
        if let (Some(other), Some(gain)) = (&self.instead, &self.gain) {
            let doubt = if self.certain {
                ""
            } else {
                ": the prediction does not tell the two apart; the synchronous way is the simpler program"
            };
            let _ = writeln!(
                out,
                "instead  {}: {}, {:.2} times [{:.2}, {:.2}] as much{doubt}",
                other.way,
                priced(other),
                gain.estimate,
                gain.lo,
                gain.hi
            );
        }
        out
    }

    fn waits(&self) -> String {
        let waiting = &self.waiting;
        let (gap, wake) = (number::time(waiting.gap_ns), waiting.wake_ns.map(number::time));
        let mut out = match (waiting.advised.as_str(), wake) {
            ("give-way", _) => "waiting  sleep: the other end needs the core\n".to_string(),
            ("look", Some(wake)) => format!(
                "waiting  look: an end has nothing to do for {gap}, which is less than the {wake} of a sleep and its wake-up\n"
            ),
            ("look", None) => "waiting  look: what a wake-up costs is not known\n".into(),
            (_, wake) => format!(
                "waiting  sleep: an end has nothing to do for {gap}, which is more than the {} of a sleep and its wake-up\n",
                wake.unwrap_or_default()
            ),
        };
        if let Some(rate) = waiting.look_from {
            let _ =
                writeln!(out, "         looking is better from {} requests a second on", number::count(rate));
        }
        out
    }

    fn table(&self, width: Option<usize>) -> String {
        let steps: BTreeSet<u64> = self.foretold.iter().map(|said| said.concurrency).collect();
        let mut ways: Vec<&str> = Vec::new();
        for said in &self.foretold {
            if !ways.contains(&said.way.as_str()) {
                ways.push(&said.way);
            }
        }
        let mut aligns = vec![Align::Right; steps.len() + 1];
        aligns[0] = Align::Left;
        let mut table = Table::new(aligns);
        let head = std::iter::once("at a time".to_string()).chain(steps.iter().map(u64::to_string));
        table.row(head.map(Cell::plain).collect::<Vec<_>>());
        for way in ways {
            let at = |step: &u64| {
                let said = self.foretold.iter().find(|said| said.way == way && said.concurrency == *step);
                said.map_or("–".into(), |said| number::time(said.time_ns.estimate))
            };
            let row = std::iter::once(way.to_string()).chain(steps.iter().map(at));
            table.row(row.map(Cell::plain).collect::<Vec<_>>());
        }
        table.render(width)
    }
}

impl VerifiedDocument {
    fn to_text(&self, width: Option<usize>) -> String {
        let mut out = format!(
            "\nVerified (run {}; the predictions were in the store before the first trial)\n",
            self.run
        );
        let mut table =
            Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Right]);
        table.row(
            ["way", "at a time", "foretold", "measured", "95 % interval", "off"].map(Cell::plain).to_vec(),
        );
        for step in &self.steps {
            let (foretold, measured) = (step.foretold_ns.estimate, step.measured_ns.estimate);
            let cells = [
                step.way.clone(),
                step.concurrency.to_string(),
                number::time(foretold),
                number::time(measured),
                ends(&step.measured_ns),
                off(foretold, measured, step.outcome.as_deref()),
            ];
            table.row(cells.map(Cell::plain).to_vec());
        }
        out += &table.render(width);
        for check in &self.checks {
            let _ = writeln!(
                out,
                "{}: {}: foretold {}, measured {}",
                check.fate.words(),
                check.what,
                check.foretold,
                check.measured
            );
        }
        if let Some(farthest) = self.farthest() {
            let _ = writeln!(out, "the farthest time was foretold {} %", number::signed(100.0 * farthest, 0));
        }
        out
    }
}
