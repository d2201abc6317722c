//! The score card for a terminal.

use anstyle::{AnsiColor, Style};

use super::{HEADS, NO_FIGURE, Row, TITLE, blocks, noise_of_all, row, sections};
use crate::columns::{Align, Cell, Table, printable};
use crate::document::{PointDocument, RunDocument};
use crate::history::sparkline;
use crate::terminal::setbacks;

/// Columns of a terminal from which on there is room for pictures.
const WITH_PICTURES: usize = 96;

/// Columns of a terminal from which on there is room for quantiles.
const WITH_QUANTILES: usize = 124;

/// The most blocks that a picture has: neighbours are drawn together where there are more.
const WIDEST: usize = 12;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// What there is room for.
struct Room {
    pictures: bool,
    quantiles: bool,
    history: bool,
}

/// The card; `None` where nothing is told as a rate.
pub(crate) fn table(document: &RunDocument, width: Option<usize>) -> Option<String> {
    let sections = sections(document);
    if sections.is_empty() {
        return None;
    }
    let has = |least: usize| width.is_none_or(|width| width >= least);
    let room = Room {
        pictures: has(WITH_PICTURES),
        quantiles: has(WITH_QUANTILES),
        history: has(WITH_PICTURES) && document.points.iter().any(|p| !p.earlier.is_empty()),
    };
    let heads = cells(&room, HEADS.map(String::from), "blocks".into(), "earlier".into());
    let mut table = Table::new([vec![Align::Left], vec![Align::Right; heads.len()]].concat());
    let heads = heads.into_iter().map(|head| Cell::styled(head, DIM));
    table.row([vec![Cell::styled(TITLE, BOLD)], heads.collect()].concat());
    let same_noise = noise_of_all(document);
    // The first line of the report has said it once.
    let is_said = same_noise.is_some() || document.quality.noisy().is_some();
    let (mut noisy, mut without) = (false, false);
    for section in &sections {
        table.across(0, Cell::styled(printable(&section.title), BOLD));
        for family in &section.families {
            if !family.common.is_empty() {
                table.across(2, Cell::styled(printable(&family.common.join(", ")), DIM));
            }
            for point in &family.group.priced {
                let Row { title, cells: texts, noise } = row(family, point);
                without |= texts[0] == "–";
                noisy |= noise.is_some();
                let mark = if noise.is_some() { " ~" } else { "" };
                let texts = cells(&room, texts, picture(blocks(point)), earlier(point));
                let style = |at| if at == 0 { BOLD } else { Style::new() };
                let cells = texts.into_iter().enumerate().map(|(at, text)| Cell::styled(text, style(at)));
                table.row([vec![Cell::plain(format!("  {title}{mark}"))], cells.collect()].concat());
                if let Some(noise) = noise.filter(|_| !is_said) {
                    table.across(6, Cell::styled(format!("~ {noise}"), AnsiColor::Yellow.on_default()));
                }
            }
            setbacks(&mut table, &family.group);
        }
    }
    table.blank();
    if room.pictures {
        let more = if room.history { "; earlier: earlier runs of this machine, this one last" } else { "" };
        table.across(
            0,
            Cell::styled(
                format!("blocks: each of fresh processes, in turn, from the least to the greatest{more}"),
                DIM,
            ),
        );
    }
    match same_noise {
        Some(noise) => {
            table.across(
                0,
                Cell::styled(
                    format!("~ every row is noisy, mostly by {noise}: measure again when that is gone"),
                    AnsiColor::Yellow.on_default(),
                ),
            );
        }
        None if noisy => {
            table.across(0, Cell::styled("~ measure the row again when the reason is gone", DIM))
        }
        None => {}
    }
    if without {
        table.across(0, Cell::styled(NO_FIGURE, DIM));
    }
    Some(table.render(width))
}

/// The cells of a line for which there is room.
fn cells(room: &Room, of: [String; 6], blocks: String, earlier: String) -> Vec<String> {
    let [figure, interval, that_is, quantiles @ ..] = of;
    let mut cells = vec![figure, interval, that_is];
    if room.pictures {
        cells.push(blocks);
    }
    if room.quantiles {
        cells.extend(quantiles);
    }
    if room.history {
        cells.push(earlier);
    }
    cells
}

/// The blocks as high as their figures.
fn picture(blocks: &[f64]) -> String {
    let together = blocks.len().div_ceil(WIDEST).max(1);
    let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
    sparkline(&blocks.chunks(together).map(mean).collect::<Vec<_>>())
}

/// Earlier runs and this one.
fn earlier(point: &PointDocument) -> String {
    let now = point.rates.first().map(|rate| rate.per_second).or(point.median.map(|median| median.ns));
    match now {
        Some(now) if !point.earlier.is_empty() => {
            let figures = point.earlier.iter().map(|e| e.figure.estimate).chain([now.estimate]);
            sparkline(&figures.collect::<Vec<_>>())
        }
        _ => String::new(),
    }
}
