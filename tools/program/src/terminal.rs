//! A program's bill as text.

use tollway_report::columns::{Align, Cell, Table, printable, wrap};
use tollway_report::number::{count, percent, time};

use crate::document::{BillDocument, LineDocument};
use crate::words::{TRIED, TRIED_HEADS, TRIED_LEAD, WHAT_IF, WHAT_IF_HEADS};

/// Lines that are shown by themselves; the rest are one.
const SHOWN: usize = 14;

fn wrapped(text: &str, width: Option<usize>) -> String {
    wrap(text, width).join("\n")
}

/// As much of a name's end as there is room for: of a path that tells most.
fn ending(name: &str, room: Option<usize>) -> String {
    let long = name.chars().count();
    match room {
        Some(room) if long > room => {
            let end: String = name.chars().skip(long - room.max(2) + 1).collect();
            format!("…{end}")
        }
        _ => name.into(),
    }
}

/// The longest note that stands in the last column on a terminal, in characters: `[3.81 s, 4.05 s]`.
const NOTE: usize = 18;

impl BillDocument {
    /// For a terminal of `width` columns; `None` where the output is no terminal.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let (title, how) = (format!("The bill of {}", printable(&self.program)), self.how());
        let top = [title, self.highlights(), how].map(|line| wrapped(&line, width));
        let mut text = format!("{}\n\n", top.join("\n"));
        text += &self.table(width);
        text += &self.payers(width);
        text += &self.changes(width);
        text += &self.tried(width);
        for note in self.notes() {
            text += &format!("\n{}\n", wrapped(&printable(&note), width));
        }
        text
    }

    /// What fits on a screen of so many rows: the sum, and as many of the dearest lines.
    pub fn to_screen(&self, width: Option<usize>, rows: Option<usize>) -> String {
        let room = rows.unwrap_or(usize::MAX).saturating_sub(1);
        let top = [wrapped(&self.highlights(), width), self.sum_line(width)].join("\n");
        let of = |shown: usize| format!("{top}\n\n{}", self.dearest_lines(shown, &[3, 2, 4]).render(width));
        let fits = |text: &String| text.lines().count() <= room;
        let most = (1..=SHOWN).rev().map(of).find(fits);
        let lines = most.unwrap_or_else(|| of(1));
        lines.lines().take(room).map(|line| format!("{line}\n")).collect()
    }

    fn table(&self, width: Option<usize>) -> String {
        // What is stamped can be left out before any other.
        let mut table = self.dearest_lines(SHOWN, &[3]);
        table.blank();
        for [name, by_tolls, measured, note] in self.sums() {
            let none = String::new;
            // On a terminal an interval and a reason have lines of their own: no column is wide enough.
            let beside = match width {
                Some(_) if note.chars().count() <= NOTE => note.len(),
                Some(_) => note.find(" [").unwrap_or(0),
                None => note.len(),
            };
            let (note, why) = (&note[..beside], note[beside..].trim_start());
            table.row([name, none(), none(), none(), by_tolls, measured, note.into()].map(Cell::plain));
            if !why.is_empty() {
                table.across(2, Cell::plain(why));
            }
        }
        table.render(width)
    }

    /// The dearest lines, and the rest as one; where there is no room, without these columns.
    fn dearest_lines(&self, shown: usize, left_out: &[usize]) -> Table {
        let mut aligns = vec![Align::Left];
        aligns.extend([Align::Right; 5]);
        aligns.push(Align::Left);
        let mut table = Table::new(aligns);
        table.can_be_narrow(left_out);
        table.row(self.heads().map(Cell::plain));
        let whole = self.whole();
        for line in self.lines.iter().take(shown) {
            table.row(self.cells(line, whole).map(Cell::plain));
        }
        let rest = self.lines.get(shown..).unwrap_or_default();
        if !rest.is_empty() {
            let ns: f64 = rest.iter().filter_map(|line| line.sum).map(|sum| sum.ns).sum();
            let often: f64 = rest.iter().map(|line| line.count).sum();
            let measured = rest.iter().filter_map(|line| line.measured).reduce(|a, b| a + b);
            let name = format!("{} others", rest.len());
            let cells = [
                name,
                count(often / self.count),
                String::new(),
                String::new(),
                time(ns / self.count),
                measured.map_or(String::new(), |ns| time(ns / self.count)),
                percent(rest.iter().map(LineDocument::worth).sum::<f64>() / whole),
            ];
            table.row(cells.map(Cell::plain));
        }
        table
    }

    fn payers(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        for (what, payers) in [("threads", &self.threads), ("files", &self.files)] {
            if payers.len() < 2 {
                continue;
            }
            text += &format!("\nThe dearest {what}\n");
            for payer in payers {
                let name = ending(&printable(&payer.name), width.map(|width| width.saturating_sub(14)));
                text += &format!("  {:>10}  {name}\n", time(payer.ns / self.count));
            }
        }
        text
    }

    fn changes(&self, width: Option<usize>) -> String {
        if self.what_if.is_empty() {
            return String::new();
        }
        let mut table = Table::new([Align::Left, Align::Right, Align::Left, Align::Left]);
        let [what, saves, interval, share, _] = WHAT_IF_HEADS;
        table.row([what, saves, interval, share].map(Cell::plain));
        let mut is_any = false;
        for one in self.what_if.iter().filter(|one| self.may_be_worth_it(one)) {
            let [what, saves, interval, share, how] = self.what_if_cells(one);
            table.row([what, saves, interval, share].map(Cell::plain));
            table.across(2, Cell::plain(how));
            is_any = true;
        }
        let changes = if is_any { table.render(width) } else { String::new() };
        let others =
            self.not_worth_it().map_or(String::new(), |names| format!("{}\n", wrapped(&names, width)));
        format!("\n{WHAT_IF}\n{changes}{others}")
    }

    fn tried(&self, width: Option<usize>) -> String {
        if self.tried.is_empty() {
            return String::new();
        }
        let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
        table.row(TRIED_HEADS.map(Cell::plain));
        for one in &self.tried {
            table.row(BillDocument::tried_cells(one).map(Cell::plain));
        }
        format!("\n{TRIED}: {TRIED_LEAD}\n{}", table.render(width))
    }
}

#[cfg(test)]
mod tests {
    use super::ending;

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(ending("file /usr/lib/x.so", Some(18)), "file /usr/lib/x.so");
        assert_eq!(ending("file /usr/lib/x.so", Some(12)), "…sr/lib/x.so");
        assert_eq!(ending("file /usr/lib/x.so", None), "file /usr/lib/x.so");
        assert_eq!(ending("überlänge", Some(0)), "…e");
    }
}
