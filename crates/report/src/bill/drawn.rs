//! Bills drawn for a terminal as the study's figures are: a bar for each path, cut into its gates, all on one scale.

use anstyle::{AnsiColor, Style};

use crate::columns::{Align, Cell, Table, paint, printable};
use crate::document::{BillDocument, GateDocument, RunDocument};
use crate::number::{count, percent};

const BOLD: Style = Style::new().bold();

/// Colours of gates, in turns.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Blue,
    AnsiColor::Yellow,
    AnsiColor::Red,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Cyan,
];

/// Columns where nothing says how wide the terminal is.
const COLUMNS: usize = 80;

/// Columns that a bar leaves to its cost.
const COST: usize = 10;

/// The bars, and what each gate costs in each; empty where there is no bill.
pub(crate) fn all(document: &RunDocument, width: Option<usize>) -> String {
    let bills = &document.bills;
    let name = |bill: &BillDocument| printable(&bill.variant);
    let longest = bills.iter().map(whole).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let names = bills.iter().map(|b| name(b).chars().count()).max().unwrap_or_default();
    let room = width.unwrap_or(COLUMNS).saturating_sub(names + COST + 4).max(10);
    let mut gates: Vec<&str> = Vec::new();
    for gate in bills.iter().flat_map(|b| &b.gates).filter(|g| g.cost.is_some()) {
        if !gates.contains(&gate.name.as_str()) {
            gates.push(&gate.name);
        }
    }
    let mut out = paint("Where the cycles go", BOLD) + "\n";
    for bill in bills {
        let bar = bar(bill, &gates, room as f64 / longest);
        let measured = count(bill.measured.ticks.estimate);
        out += &format!("  {:names$}  {bar} {measured} c\n", name(bill));
    }
    out + "\n" + &legend(bills, &gates, width)
}

/// What is drawn of a bill: all that its gates cost, or what was measured where that is more.
fn whole(bill: &BillDocument) -> f64 {
    let sum: f64 = bill.gates.iter().filter_map(drawn).sum();
    sum.max(bill.measured.ticks.estimate)
}

/// What a gate costs, if it is part of the sum and more than nothing.
fn drawn(gate: &GateDocument) -> Option<f64> {
    gate.cost.filter(|_| !gate.knock_out).map(|c| c.ticks.estimate).filter(|c| *c > 0.0)
}

/// A gate's letter and style.
fn mark(gates: &[&str], name: &str) -> (char, Style) {
    let at = gates.iter().position(|g| *g == name).unwrap_or_default();
    let letter = char::from(b'a' + u8::try_from(at % 26).unwrap_or_default());
    (letter, COLOURS[at % COLOURS.len()].on_default())
}

/// The gates in their order, each as long as it costs; what is unexplained is dots.
fn bar(bill: &BillDocument, gates: &[&str], columns: f64) -> String {
    let mut parts: Vec<(char, Style, f64)> = Vec::new();
    for gate in &bill.gates {
        let Some(cost) = gate.cost.map(|c| c.ticks.estimate).filter(|c| *c > 0.0) else { continue };
        let (letter, style) = mark(gates, &gate.name);
        parts.push((letter, style, cost));
    }
    let rest = bill.unexplained.map_or(0.0, |r| r.ticks.estimate);
    if rest > 0.0 {
        parts.push(('·', Style::new(), rest));
    }
    let lengths = lengths(&parts.iter().map(|(.., cost)| cost * columns).collect::<Vec<_>>());
    let draw = |((letter, style, _), length): (&(char, Style, f64), usize)| {
        paint(&std::iter::repeat_n(*letter, length).collect::<String>(), *style)
    };
    parts.iter().zip(lengths).map(draw).collect()
}

/// Whole columns for each length, so that the bar is as long as all of them and no shorter part has more than a longer
/// one: what rounding leaves goes to the largest remainders (the method of Hamilton, as of seats in a parliament).
fn lengths(exact: &[f64]) -> Vec<usize> {
    let mut whole: Vec<usize> = exact.iter().map(|x| x.floor() as usize).collect();
    let left = (exact.iter().sum::<f64>().round() as usize).saturating_sub(whole.iter().sum());
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    order.into_iter().take(left).for_each(|at| whole[at] += 1);
    whole
}

/// Each gate's letter, and what it costs in each bill.
fn legend(bills: &[BillDocument], gates: &[&str], width: Option<usize>) -> String {
    let mut aligns = vec![Align::Left];
    aligns.extend(bills.iter().flat_map(|_| [Align::Right, Align::Right]));
    let mut table = Table::new(aligns);
    let mut heads = vec![Cell::plain("")];
    heads.extend(bills.iter().flat_map(|b| [Cell::plain(printable(&b.variant)), Cell::plain("")]));
    table.row(heads);
    for name in gates {
        let (letter, style) = mark(gates, name);
        let mut cells = vec![Cell::styled(format!("  {letter}  {}", printable(name)), style)];
        for bill in bills {
            let gate = bill.gates.iter().find(|g| g.name == *name);
            let cost = gate.and_then(|g| Some((g.cost?.ticks.estimate, g.share?)));
            let (cycles, share) =
                cost.map_or(("–".into(), String::new()), |(c, s)| (super::words::signless(c), percent(s)));
            cells.extend([Cell::plain(cycles), Cell::plain(share)]);
        }
        table.row(cells);
    }
    table.render(width)
}

#[cfg(test)]
mod tests {
    use super::lengths;

    #[test]
    fn a_bar_is_as_long_as_its_parts_and_none_is_longer_than_a_larger_one() {
        assert_eq!(lengths(&[0.45, 0.84, 2.4, 0.78, 0.55, 0.03, 1.3, 0.62]), [0, 1, 2, 1, 1, 0, 1, 1]);
        assert_eq!(lengths(&[0.4, 0.4]), [1, 0]);
        assert_eq!(lengths(&[]), [] as [usize; 0]);
    }
}
