//! The table in a terminal: a row a crossing where the columns fit, else a row a tenant.

use anstyle::{AnsiColor, Style};
use tollway_core::TenantKind;

use super::{kind_title, legend, ratio_words, setbacks};
use crate::columns::{Align, Cell, Table, printable};
use crate::document::{HostAgainstGuestDocument, InTenantDocument, RunDocument, VerdictDocument};
use crate::number::time;
use crate::price_list::by_boundary;

/// Columns of a terminal that the crossings and the host's price take.
const HOST: usize = 48;
/// Columns that one more kind of tenant takes.
const EACH: usize = 31;

/// What the signs behind a ratio mean.
const SIGNS: &str = "≈: same; ?: not separable; without a sign: dearer or cheaper, as the ratio says.";

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

pub(crate) fn table(document: &RunDocument, width: Option<usize>) -> Option<String> {
    let found = document.host_against_guest.as_ref()?;
    let others: Vec<TenantKind> =
        found.tenants.iter().copied().filter(|kind| *kind != TenantKind::Process).collect();
    let wide = width.is_none_or(|w| w >= HOST + EACH * others.len());
    let mut table =
        if wide { in_columns(found, document, &others) } else { stacked(found, document, &others) };
    table.blank();
    table.across(0, Cell::styled(format!("{} {SIGNS}", legend(found)), DIM));
    for note in &found.notes {
        table.across(0, Cell::plain(printable(note)));
    }
    for setback in setbacks(found) {
        table.across(0, Cell::styled(printable(&setback), AnsiColor::Yellow.on_default()));
    }
    Some(table.render(width))
}

fn in_columns(found: &HostAgainstGuestDocument, document: &RunDocument, others: &[TenantKind]) -> Table {
    let mut aligns = vec![Align::Left, Align::Right];
    let mut heads =
        vec![Cell::styled("Host against guest", BOLD), Cell::styled(TenantKind::Process.title(), DIM)];
    for kind in others {
        aligns.extend([Align::Right, Align::Left]);
        heads
            .extend([kind_title(*kind, &document.guests), "to process".into()].map(|t| Cell::styled(t, DIM)));
    }
    let mut table = Table::new(aligns);
    table.row(heads);
    for (title, crossings) in by_boundary(&found.crossings) {
        table.across(0, Cell::styled(printable(&title), BOLD));
        for crossing in crossings {
            let mut cells = vec![
                Cell::plain(format!("  {}", printable(&crossing.label()))),
                Cell::styled(median(crossing.in_tenant(TenantKind::Process)), BOLD),
            ];
            for kind in others {
                let cell = crossing.in_tenant(*kind);
                cells.extend([Cell::plain(median(cell)), against_host(cell)]);
            }
            table.row(cells);
        }
    }
    table
}

fn stacked(found: &HostAgainstGuestDocument, document: &RunDocument, others: &[TenantKind]) -> Table {
    let mut table = Table::new([Align::Left, Align::Right, Align::Left]);
    let heads = [("Host against guest", BOLD), ("median", DIM), ("to process", DIM)];
    table.row(heads.map(|(text, style)| Cell::styled(text, style)));
    for (title, crossings) in by_boundary(&found.crossings) {
        table.across(0, Cell::styled(printable(&title), BOLD));
        for crossing in crossings {
            let here = Cell::styled(median(crossing.in_tenant(TenantKind::Process)), BOLD);
            let title = Cell::plain(format!("  {}", printable(&crossing.label())));
            table.row([title, here, Cell::plain("")]);
            for kind in others {
                let Some(cell) = crossing.in_tenant(*kind) else { continue };
                let title = Cell::styled(format!("    {}", kind_title(*kind, &document.guests)), DIM);
                table.row([title, Cell::plain(median(Some(cell))), against_host(Some(cell))]);
            }
        }
    }
    table
}

fn median(cell: Option<&InTenantDocument>) -> String {
    cell.and_then(|c| c.median).map_or("–".into(), |m| time(m.ns.estimate))
}

fn against_host(cell: Option<&InTenantDocument>) -> Cell {
    let Some((cell, words)) = cell.and_then(|c| Some((c, ratio_words(c)?))) else { return Cell::plain("") };
    let style = match cell.to_host.as_ref().map(|r| r.verdict) {
        Some(VerdictDocument::Worse) => AnsiColor::Red.on_default(),
        Some(VerdictDocument::Better) => AnsiColor::Green.on_default(),
        Some(VerdictDocument::NotSeparable) => AnsiColor::Yellow.on_default(),
        Some(VerdictDocument::Same) | None => Style::new(),
    };
    Cell::styled(format!("{} {}", words.text, words.sign).trim_end(), style)
}
