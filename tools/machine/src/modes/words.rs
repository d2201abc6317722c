//! What is said of two modes, for a terminal.

use tollway_report::columns::{Align, Cell, Table, printable};
use tollway_report::comparison_text;
use tollway_report::document::{OutcomeDocument, VerdictDocument};
use tollway_report::number::{percent, rate, ratio};

use super::{ForetoldDocument, ModeDocument, ModesDocument, RepeatedDocument, RepeatedRow};

pub(super) const FORETOLD: &str = "What encryption was foretold to leave, before the rows were measured";
pub(super) const NOT_FORETOLD: &str = "Of these it could not be foretold";

/// The word of a verdict, and what stands in the place of one.
fn verdict(verdict: Option<VerdictDocument>) -> &'static str {
    verdict.map_or("no ratio", VerdictDocument::word)
}

impl ModesDocument {
    /// For a terminal of `width` columns; `None` where the output is no terminal.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        for mode in &self.modes {
            text += &format!("{}: {}\n", mode.name, mode.about);
        }
        text += &format!("{}\n\n", self.how());
        text += &comparison_text(&self.comparison, width);
        if !self.foretold.is_empty() {
            text += &format!("\n{FORETOLD}\n");
            let mut table =
                Table::new([Align::Left, Align::Right, Align::Left, Align::Right, Align::Left, Align::Left]);
            let heads = ["", "foretold", "interval", "measured", "95 % interval", "the prediction"];
            table.row(heads.map(Cell::plain));
            for row in &self.foretold {
                table.row(row.cells().map(Cell::plain));
            }
            text += &table.render(width);
        }
        if !self.not_foretold.is_empty() {
            text += &format!("\n{NOT_FORETOLD}\n");
            for row in &self.not_foretold {
                text += &format!("  {}: {}\n", printable(&row.title), printable(&row.why));
            }
        }
        if let Some(repeated) = &self.repeated {
            text += &format!("\n{}\n", repeated.to_text(width));
        }
        for paragraph in self.deviations() {
            text += &format!("\n{}\n", printable(&paragraph));
        }
        text
    }

    /// Where and how the rows were measured.
    pub(super) fn how(&self) -> String {
        let place = if self.in_guests { "in guests, side by side" } else { "on this machine itself" };
        format!(
            "Measured {place}, in turns, each row until its ratio was known within ± {} or the time was up.",
            percent(self.until)
        )
    }

    /// Where the modes are not what they stand for.
    pub(super) fn deviations(&self) -> Vec<String> {
        let of = |mode: &ModeDocument| {
            let name = mode.name.clone();
            mode.deviations
                .clone()
                .into_iter()
                .map(move |d| format!("{name}: not “{}”, but: {}", d.from, d.here))
        };
        self.modes.iter().flat_map(of).collect()
    }
}

impl ForetoldDocument {
    /// Row, foretold, interval, measured, interval, outcome.
    pub(super) fn cells(&self) -> [String; 6] {
        let say = |x: f64| rate(x, &self.unit);
        let outcome = match self.outcome {
            OutcomeDocument::Holds => "holds",
            OutcomeDocument::Missed => "missed",
            OutcomeDocument::SaysNothing => "says nothing",
        };
        [
            format!("  {}", printable(&self.title)),
            say(self.foretold.estimate),
            format!("[{} … {}]", say(self.foretold.lo), say(self.foretold.hi)),
            say(self.measured.estimate),
            format!("[{} … {}]", say(self.measured.lo), say(self.measured.hi)),
            outcome.into(),
        ]
    }
}

impl RepeatedDocument {
    fn to_text(&self, width: Option<usize>) -> String {
        let mut table = Table::new([Align::Left, Align::Left, Align::Left]);
        table.row([String::new(), "verdict".into(), "ratios".into()].map(Cell::plain));
        for row in &self.rows {
            table.row([format!("  {}", printable(&row.title)), row.verdict(), row.ratios()].map(Cell::plain));
        }
        format!("{}\n{}", self.summary(), table.render(width))
    }

    /// In one sentence.
    pub(super) fn summary(&self) -> String {
        let (played, differ) = (self.runs.len(), self.rows.iter().filter(|row| !row.agree).count());
        match (played == self.times as usize, differ) {
            (false, _) => format!("Only {played} of {} repetitions were played.", self.times),
            (true, 0) => format!("Each row has the same verdict in {played} of {} repetitions.", self.times),
            (true, differ) => {
                format!(
                    "{differ} of {} rows have different verdicts in {played} repetitions.",
                    self.rows.len()
                )
            }
        }
    }
}

impl RepeatedRow {
    /// `worse, 5 of 5`, or how often which.
    pub(super) fn verdict(&self) -> String {
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for verdict in self.verdicts.iter().map(|v| verdict(*v)) {
            match counted.iter_mut().find(|(word, _)| *word == verdict) {
                Some((_, count)) => *count += 1,
                None => counted.push((verdict, 1)),
            }
        }
        let of = self.verdicts.len();
        let said: Vec<String> =
            counted.iter().map(|(word, count)| format!("{word}, {count} of {of}")).collect();
        format!("{}{}", if self.agree { "" } else { "✗ " }, said.join("; "))
    }

    pub(super) fn ratios(&self) -> String {
        let say = |span: &Option<_>| span.as_ref().map_or("–".into(), |span| ratio(span).0);
        self.ratios.iter().map(say).collect::<Vec<String>>().join("  ")
    }
}

impl ModeDocument {
    /// A few lines.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}: {}\n", self.name, self.about);
        for (what, settings) in [("guest", &self.guest), ("host", &self.host)] {
            for set in settings {
                text += &format!("  {what}  {} = {}\n", set.name, set.value);
            }
        }
        for deviation in &self.deviations {
            text += &format!("  stands for “{}”, and is: {}\n", deviation.from, deviation.here);
        }
        text
    }
}
