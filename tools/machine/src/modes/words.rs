//! What is said of two modes, for a terminal.

use tollway_report::comparison_text;
use tollway_report::document::OutcomeDocument;
use tollway_report::number::rate;

use super::{ForetoldDocument, ModeDocument, ModesDocument};

impl ModesDocument {
    /// For a terminal of `width` columns; `None` where the output is no terminal.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        let place = if self.in_guests { "in guests, side by side" } else { "on this machine itself" };
        for mode in &self.modes {
            text += &format!("{}: {}\n", mode.name, mode.about);
        }
        text += &format!(
            "Measured {place}, each row until its ratio was known within ± {} % or the time was up.\n\n",
            self.until * 100.0
        );
        text += &comparison_text(&self.comparison, width);
        if !self.foretold.is_empty() {
            text += "\nWhat encryption was foretold to leave, before the rows were measured\n";
            for row in &self.foretold {
                text += &format!("  {}\n", row.to_text());
            }
        }
        for (row, why) in &self.setbacks {
            text += &format!("\n{row}: {why}\n");
        }
        for mode in &self.modes {
            for (from, here) in &mode.deviations {
                text += &format!("\n{}: not “{from}”, but: {here}\n", mode.name);
            }
        }
        text
    }
}

impl ForetoldDocument {
    fn to_text(&self) -> String {
        let say = |x: f64| rate(x, &self.unit);
        let outcome = match self.outcome {
            OutcomeDocument::Holds => "holds",
            OutcomeDocument::Missed => "missed",
            OutcomeDocument::SaysNothing => "says nothing",
        };
        format!(
            "{}: foretold {} [{}, {}], measured {} [{}, {}]: {outcome}",
            self.title,
            say(self.foretold.estimate),
            say(self.foretold.lo),
            say(self.foretold.hi),
            say(self.measured.estimate),
            say(self.measured.lo),
            say(self.measured.hi),
        )
    }
}

impl ModeDocument {
    /// A few lines.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}: {}\n", self.name, self.about);
        for (what, settings) in [("guest", &self.guest), ("host", &self.host)] {
            for (name, value) in settings {
                text += &format!("  {what}  {name} = {value}\n");
            }
        }
        for (from, here) in &self.deviations {
            text += &format!("  stands for “{from}”, and is: {here}\n");
        }
        text
    }
}
