//! Rows over time for a terminal: a line of blocks, and a line for each run.

use anstyle::{AnsiColor, Style};

use crate::columns::{Align, Cell, Table, printable};
use crate::document::{
    ChangedDocument, HistoryDocument, MomentDocument, RowHistoryDocument, SinceDocument, SinceVerdict, Span,
};
use crate::number::{self, NOTHING, interval, percent, rate, rate_interval, time};
use crate::price_list::QUIET_ENOUGH;

/// The least part of the greatest figure that the height of a line of blocks stands for: else noise looks like change.
const HEIGHT: f64 = 0.1;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// What every form of a history says.
pub(crate) const UNPAIRED: &str = "Unpaired: the runs were measured at different times, so that whatever else changed between them is in \
                                   the ratios. An interval of a ratio is that of the least favourable case. What is to be trusted is \
                                   compared in turns: `tollway compare --run`.";

/// All rows.
pub(super) fn all(document: &HistoryDocument, width: Option<usize>) -> String {
    let mut out = String::new();
    for row in &document.rows {
        out += &table(row, width);
        out.push('\n');
    }
    let mut notes = Table::new(Vec::new());
    if document.runs_elsewhere > 0 {
        let text = match document.runs_elsewhere {
            1 => "1 run of another machine is left out.".into(),
            n => format!("{n} runs of other machines are left out."),
        };
        notes.across(0, Cell::styled(text, DIM));
    }
    notes.across(0, Cell::styled(UNPAIRED, DIM));
    out + &notes.render(width)
}

fn table(row: &RowHistoryDocument, width: Option<usize>) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([Left, Right, Right, Right, Right, Right, Left]);
    let side = row.side.as_ref().map(|side| format!(" [{side}]")).unwrap_or_default();
    let better = if row.more_is_better { "more is better" } else { "less is better" };
    table.across(0, Cell::styled(printable(&format!("{}{side}", row.title)), BOLD));
    let about = format!("{} {} · {better} · {} runs", row.path, row.variant, row.runs.len());
    table.across(2, Cell::styled(printable(&about), DIM));
    let line = sparkline(&row.runs.iter().map(|m| m.figure.estimate).collect::<Vec<_>>());
    table.across(2, Cell::styled(line, AnsiColor::Cyan.on_default()));
    let digits = row.runs.iter().map(|m| m.run.to_string().len()).max().unwrap_or(0).max("run".len());
    let heads = ["figure", "95 % interval", "quiet", "since before", "since best", ""];
    let head = format!("  {:>digits$}  began (UTC)", "run");
    table.row([vec![Cell::styled(head, DIM)], heads.map(|h| Cell::styled(h, DIM)).to_vec()].concat());
    for moment in &row.runs {
        if !moment.changed.is_empty() {
            let text = moment.changed.iter().map(changed).collect::<Vec<_>>().join(" · ");
            table.across(4, Cell::styled(printable(&text), AnsiColor::Yellow.on_default()));
        }
        table.row(line_of(row, moment, digits));
    }
    table.render(width)
}

fn line_of(row: &RowHistoryDocument, moment: &MomentDocument, digits: usize) -> Vec<Cell> {
    let (figure, span) = said(row, &moment.figure);
    let noisy = moment.quiet_share < QUIET_ENOUGH;
    let noise = if noisy {
        format!("~ {}", printable(moment.noise.as_deref().unwrap_or("not quiet")))
    } else {
        String::new()
    };
    vec![
        Cell::plain(format!("  {:>digits$}  {}", moment.run, moment.started.strftime("%Y-%m-%d %H:%M"))),
        Cell::styled(figure, BOLD),
        Cell::plain(span),
        Cell::plain(percent(moment.quiet_share)),
        since(moment.before.as_ref(), "first"),
        since(moment.best.as_ref(), "best"),
        Cell::styled(noise, DIM),
    ]
}

/// A figure of a row and its interval, in words.
pub(crate) fn said(row: &RowHistoryDocument, figure: &Span) -> (String, String) {
    match row.more_is_better {
        true => (rate(figure.estimate, &row.unit), rate_interval(figure)),
        false => (time(figure.estimate), interval(figure)),
    }
}

fn since(of: Option<&SinceDocument>, without: &str) -> Cell {
    let Some(since) = of else { return Cell::styled(without, DIM) };
    let style = match since.verdict {
        SinceVerdict::Better => AnsiColor::Green.on_default(),
        SinceVerdict::Worse => AnsiColor::Red.on_default(),
        SinceVerdict::NotSeparable => DIM,
    };
    Cell::styled(moved(since), style)
}

/// By how much a figure differs: `+2.1 %`, `≈` where it cannot be told apart.
pub(crate) fn moved(since: &SinceDocument) -> String {
    let Some(ratio) = since.ratio else { return NOTHING.into() };
    match since.verdict {
        SinceVerdict::NotSeparable => "≈".into(),
        _ if ratio.estimate >= 2.0 => format!("× {:.1}", ratio.estimate),
        _ => number::signed((ratio.estimate - 1.0) * 100.0, 1) + " %",
    }
}

/// What changed, in words.
pub(crate) fn changed(of: &ChangedDocument) -> String {
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "unknown".into());
    let (from, to) = (word(&of.from), word(&of.to));
    match from.len().max(to.len()) > 40 {
        true => format!("{} changed", of.what),
        false => format!("{} {from} → {to}", of.what),
    }
}

/// Blocks as high as figures, from the least to the greatest; figures that hardly differ are of one height.
pub(crate) fn sparkline(figures: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = (most - least).max(HEIGHT * most.abs());
    let middle = 0.5 * (most + least);
    let block = |figure: &f64| {
        let share = if height > 0.0 { 0.5 + (figure - middle) / height } else { 0.5 };
        BLOCKS[((share * 8.0) as usize).min(7)]
    };
    figures.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_blocks_goes_from_the_least_to_the_greatest() {
        assert_eq!(sparkline(&[1.0, 2.0, 3.0]), "▁▅█");
        assert_eq!(sparkline(&[100.0, 100.1, 99.9]), "▅▅▄");
        assert_eq!(sparkline(&[0.0, 0.0]), "▅▅");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn what_cannot_be_told_apart_has_no_figure() {
        let since = |estimate: f64, verdict| SinceDocument {
            run: 1,
            ratio: Some(Span { estimate, lo: estimate * 0.9, hi: estimate * 1.1 }),
            verdict,
        };
        assert_eq!(moved(&since(1.02, SinceVerdict::NotSeparable)), "≈");
        assert_eq!(moved(&since(0.8, SinceVerdict::Worse)), "-20.0 %");
        assert_eq!(moved(&since(3.0, SinceVerdict::Better)), "× 3.0");
        assert_eq!(moved(&SinceDocument { ratio: None, ..since(1.0, SinceVerdict::NotSeparable) }), NOTHING);
    }
}
