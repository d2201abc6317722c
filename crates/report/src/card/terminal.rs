//! The score card for a terminal.

use anstyle::Style;

use super::{HEADS, TITLE, groups, row};
use crate::columns::{Align, Cell, Table, printable};
use crate::document::RunDocument;
use crate::terminal::setbacks;

/// Columns of a terminal from which on there is room for quantiles.
const WITH_QUANTILES: usize = 110;

/// The card; `None` where nothing is told as a rate.
pub(crate) fn table(document: &RunDocument, width: Option<usize>) -> Option<String> {
    let groups = groups(document);
    if groups.is_empty() {
        return None;
    }
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let columns = if width.is_none_or(|w| w >= WITH_QUANTILES) { HEADS.len() } else { 3 };
    let mut table = Table::new([vec![Align::Left], vec![Align::Right; columns]].concat());
    let heads = HEADS[..columns].iter().map(|head| Cell::styled(*head, dim));
    table.row([vec![Cell::styled(TITLE, bold)], heads.collect()].concat());
    let mut noisy = false;
    for group in &groups {
        table.across(0, Cell::styled(printable(&group.title), bold));
        for point in &group.priced {
            let row = row(point);
            noisy |= point.noisy();
            let style = |at| if at == 0 { bold } else { Style::new() };
            let cells = row.cells.into_iter().take(columns).enumerate();
            let cells = cells.map(|(at, text)| Cell::styled(text, style(at)));
            table.row([vec![Cell::plain(format!("  {}", row.title))], cells.collect()].concat());
        }
        setbacks(&mut table, group);
    }
    if noisy {
        table.across(
            0,
            Cell::styled("~ a row most of whose trials were not all quiet: measure it again", dim),
        );
    }
    Some(table.render(width))
}
