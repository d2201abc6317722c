//! What stands on top of a bill, and all of it in one line: for who reads no more.

use tollway_report::columns::{printable, wrap};
use tollway_report::number::{percent, time};

use crate::document::{BillDocument, WhatIfDocument};

/// The longest command line in the line of a sum, in characters.
const LONGEST: usize = 60;

impl BillDocument {
    /// The kernel's share, the dearest line, and the change that saves most.
    pub fn highlights(&self) -> String {
        let parts = [Some(self.kernel_share()), self.dearest(), Some(self.best_change())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// The sum of the tolls, against what was measured, for a terminal of `width` columns.
    pub fn sum_line(&self, width: Option<usize>) -> String {
        let per = |ns: f64| time(ns / self.count);
        let sum = &self.explained;
        let span = format!("[{}, {}]", per(sum.lo), per(sum.hi));
        let measured = match (self.kernel, self.explained_words()) {
            (Some(kernel), Some(share)) => {
                format!("the kernel's processor time {}, {share}", per(kernel.ns))
            }
            (Some(kernel), None) => {
                format!("the kernel's processor time in calls {}, by stamps", per(kernel.ns))
            }
            (None, _) => "the kernel's processor time was not measured".into(),
        };
        let whole = printable(&self.program);
        let mut program: String = whole.chars().take(LONGEST).collect();
        if program.len() < whole.len() {
            program.push('…');
        }
        let line = format!("{program}: sum of the tolls {} {span} a {}; {measured}", per(sum.ns), self.per);
        wrap(&line, width).join("\n")
    }

    fn kernel_share(&self) -> String {
        let by = if self.is_sampled { "" } else { ", by stamps" };
        match self.kernel.filter(|_| self.ran > 0.0) {
            Some(kernel) => {
                let share = percent((kernel.ns / self.ran).min(1.0));
                format!("in the kernel: {share} of its processor time{by}")
            }
            None => "in the kernel: not measured".into(),
        }
    }

    /// The line that comes to most.
    fn dearest(&self) -> Option<String> {
        let line = self.lines.iter().max_by(|a, b| a.worth().total_cmp(&b.worth()))?;
        let share = line.worth() / self.whole();
        (line.worth() > 0.0)
            .then(|| format!("dearest: {}, {} {}", printable(&line.what), percent(share), self.shares_of()))
    }

    fn best_change(&self) -> String {
        let worth = self.what_if.iter().filter(|one| one.is_worth_it && one.saves.ns > 0.0);
        let best: Option<&WhatIfDocument> = worth.max_by(|a, b| a.saves.ns.total_cmp(&b.saves.ns));
        match best.filter(|_| self.ran > 0.0) {
            Some(one) => {
                format!("what if (saves {}): {}", percent(one.saves.ns / self.ran), printable(&one.what))
            }
            None => "what if: nothing known saves more than 1 %".into(),
        }
    }
}
