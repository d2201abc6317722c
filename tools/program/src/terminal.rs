//! A program's bill as text.

use tollway_report::columns::{Align, Cell, Table, printable};
use tollway_report::number::{count, percent, time};

use crate::document::{BillDocument, LineDocument};

/// Lines that are shown by themselves; the rest are one.
const SHOWN: usize = 14;
/// The longest bar, in characters.
const BAR: f64 = 16.0;

impl BillDocument {
    /// For a terminal of `width` columns; `None` where the output is no terminal.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut text = format!("The bill of {}\n{}\n\n", printable(&self.program), self.how());
        text += &self.table(width);
        text += &self.payers();
        for note in self.notes() {
            text += &format!("\n{note}");
        }
        text
    }

    fn how(&self) -> String {
        let watching = &self.watching;
        let sliced = if watching.counted_s < 0.98 * watching.watched_s {
            let part = percent(watching.counted_s / watching.watched_s);
            format!(", in slices of time, {part} of it: counts are estimates")
        } else {
            String::new()
        };
        format!(
            "{:.2} s, counted by {}{sliced}; counting took {} of its processor time ({} a call, {} a call on a file)",
            watching.watched_s,
            watching.by,
            percent(watching.share),
            time(watching.call_ns),
            time(watching.call_on_file_ns),
        )
    }

    fn table(&self, width: Option<usize>) -> String {
        let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
        let per = if self.per == "run" { "how often".to_string() } else { format!("a {}", self.per) };
        table.row([String::new(), per, "toll".into(), "processor time".into(), "of the kernel's".into()].map(Cell::plain));
        let whole = self.kernel.ns.max(self.explained.ns).max(1.0);
        for line in self.lines.iter().take(SHOWN) {
            table.row(self.cells(line, whole).map(Cell::plain));
        }
        let rest = self.lines.get(SHOWN..).unwrap_or_default();
        if !rest.is_empty() {
            let ns: f64 = rest.iter().filter_map(|line| line.sum).map(|sum| sum.ns).sum();
            let often: f64 = rest.iter().map(|line| line.count).sum();
            let name = format!("{} others", rest.len());
            let cells = [name, count(often / self.count), String::new(), time(ns / self.count), percent(ns / whole)];
            table.row(cells.map(Cell::plain));
        }
        let whole_row = |name: &str, ns: f64, note: String| {
            [name.to_string(), String::new(), String::new(), time(ns / self.count), note].map(Cell::plain)
        };
        table.blank();
        let interval = |lo: f64, hi: f64| format!("[{}, {}]", time(lo / self.count), time(hi / self.count));
        table.row(whole_row("sum of the tolls", self.explained.ns, interval(self.explained.lo, self.explained.hi)));
        let measured = if self.is_sampled { interval(self.kernel.lo, self.kernel.hi) } else { "by stamps".into() };
        table.row(whole_row("the kernel's processor time, measured", self.kernel.ns, measured));
        let share = self.explained_share().map_or(String::new(), |share| format!("{} explained", percent(share)));
        let (name, ns) = if self.unexplained < 0.0 {
            ("tolls say more by", -self.unexplained)
        } else {
            ("unexplained", self.unexplained)
        };
        table.row(whole_row(name, ns, share));
        table.row(whole_row("its own work, in user mode", self.user, String::new()));
        table.render(width)
    }

    fn cells(&self, line: &LineDocument, whole: f64) -> [String; 5] {
        let each = match (&line.each, line.at_least) {
            (Some(each), false) => time(each.ns),
            (Some(each), true) => format!("≥ {}", time(each.ns)),
            (None, _) => "no toll".into(),
        };
        let sum = line.sum.map_or(String::new(), |sum| time(sum.ns / self.count));
        let share = line.sum.map_or(0.0, |sum| sum.ns / whole);
        let bar = "█".repeat((share * BAR).round() as usize);
        let size = if line.bytes > 0.0 && line.count > line.failed {
            format!(" · {} B each", count(line.bytes / (line.count - line.failed)))
        } else {
            String::new()
        };
        let name = format!("{}{size}", printable(&line.what));
        let bar = if line.sum.is_some() { format!("{} {bar}", percent(share)) } else { String::new() };
        [name, count(line.count / self.count), each, sum, bar]
    }

    fn payers(&self) -> String {
        let mut text = String::new();
        for (what, payers) in [("threads", &self.threads), ("files", &self.files)] {
            if payers.len() < 2 {
                continue;
            }
            text += &format!("\nThe dearest {what}\n");
            for payer in payers {
                text += &format!("  {:>10}  {}\n", time(payer.ns / self.count), printable(&payer.name));
            }
        }
        text
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.lines.iter().any(|line| line.at_least) {
            notes.push("≥: no toll is like this call; it is priced as an empty one, and what it does is among the unexplained.".into());
        }
        if !self.is_sampled {
            notes.push(
                "It ran too short for the kernel's own account of its time, which samples: what stands for it are stamps around calls, \
                 without page faults and with what watching adds."
                    .into(),
            );
        }
        if self.watching.lost > 0 {
            notes.push(format!("{} threads or calls are in no count, as there was no room for them.", self.watching.lost));
        }
        notes.extend(self.watching.unseen.iter().map(|unseen| format!("Not seen: {unseen}.")));
        if !notes.is_empty() {
            notes.push(String::new());
        }
        notes
    }
}
