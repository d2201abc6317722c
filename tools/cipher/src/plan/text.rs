//! What was found, for a terminal.

use std::fmt::Write;

use tollway_report::columns::{Align, Cell, Table};

use super::document::PlanDocument;
use crate::predict::OutcomeDocument;
use crate::predict::text::{digits, ends, fitted, rate, time};

impl PlanDocument {
    /// For a terminal of that many columns.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut out = fitted(&self.cipher, self.size, &self.fitted);
        let what = self.slo.split(" <").next().unwrap_or_default();
        let mut table =
            Table::new([&[Align::Left; 1][..], &[Align::Right; 6][..], &[Align::Left; 1]].concat());
        let head = ["way", "tenants", "largest load", what, "mean", "interrupts", "processors", ""];
        table.row(head.map(Cell::plain).to_vec());
        for (at, of) in self.choices.iter().enumerate() {
            let told = |number: Option<f64>, tell: fn(f64) -> String| number.map_or("–".into(), tell);
            let remark = match (&of.left_out, of.rate) {
                (Some(why), _) => why.clone(),
                (None, None) => format!("{} at no load", self.slo),
                (None, Some(_)) if Some(at) == self.best => "← best".into(),
                (None, Some(_)) => String::new(),
            };
            let known = of.remark.iter().cloned();
            let remark = [remark]
                .into_iter()
                .filter(|told| !told.is_empty())
                .chain(known)
                .collect::<Vec<_>>()
                .join("; ");
            let row = [
                of.way.clone(),
                of.tenants.map_or("–".into(), |tenants| tenants.to_string()),
                told(of.rate, rate),
                told(of.at_ns, time),
                told(of.mean_ns, time),
                told(of.interrupts, rate),
                told(of.processors, digits),
                remark,
            ];
            table.row(row.map(Cell::plain).to_vec());
        }
        let most = time(self.at_most_ns);
        let _ = write!(
            out,
            "\n{}, by simulation: {what} < {most}, so that it is kept although the model may be off\n{}",
            self.slo,
            table.render(width)
        );
        if let (Some(verified), Some(best)) = (&self.verified, self.best.and_then(|at| self.choices.get(at)))
        {
            let _ = writeln!(
                out,
                "{} at {}: {what} {} foretold, {} measured: {}, and {} is {}kept",
                best.way,
                best.rate.map_or("–".into(), rate),
                time(verified.foretold_ns),
                ends(verified.measured_ns),
                match verified.outcome {
                    OutcomeDocument::Holds => "holds",
                    OutcomeDocument::Missed => "missed",
                    OutcomeDocument::SaysNothing => "says nothing, so wide is the interval",
                },
                self.slo,
                if verified.kept { "" } else { "not " },
            );
        }
        let runs: Vec<String> = self.runs.iter().map(i64::to_string).collect();
        let _ = writeln!(out, "runs {} of the store", runs.join(", "));
        out
    }
}
