//! Curves as text for a terminal.

use anstyle::Style;

use super::words;
use crate::columns::{Align, Cell, Table};
use crate::document::{RunDocument, SharedPoint, SharingDocument};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Rows of a curve up to which all are shown; of a longer one, those that tell most.
const ROWS: usize = 16;

/// Every curve of a run.
pub(crate) fn all(document: &RunDocument, width: Option<usize>) -> Vec<String> {
    document.sharing.iter().map(|curve| table(curve, width)).collect()
}

fn table(curve: &SharingDocument, width: Option<usize>) -> String {
    let mut table = Table::new([Align::Right; 8]);
    table.across(0, Cell::styled(format!("What each gets: {}", words::title(curve)), BOLD));
    table.across(2, Cell::styled(format!("in {}; {}", words::unit(curve), words::caps(curve)), DIM));
    table.row(words::HEADS.map(|head| Cell::styled(head, DIM)));
    for point in telling(&curve.points) {
        table.row(words::row(point).map(Cell::plain));
    }
    if curve.points.len() > ROWS {
        let left = curve.points.len() - telling(&curve.points).len();
        table.across(2, Cell::styled(format!("{left} more are in the page and in --json"), DIM));
    }
    table.across(0, Cell::plain(words::verdict(curve)));
    table.across(0, Cell::styled(words::LEGEND, DIM));
    table.render(width)
}

/// The first, the last, and of the others those about as far apart as they are many.
fn telling(points: &[SharedPoint]) -> Vec<&SharedPoint> {
    if points.len() <= ROWS {
        return points.iter().collect();
    }
    let ratio = (points.len() as f64).powf(1.0 / (ROWS - 4) as f64);
    let mut next = 0.0;
    let mut chosen = Vec::new();
    for (at, point) in points.iter().enumerate() {
        if at as f64 >= next || at + 1 == points.len() {
            chosen.push(point);
            next = ((at + 1) as f64 * ratio - 1.0).max(at as f64 + 1.0);
        }
    }
    chosen
}
