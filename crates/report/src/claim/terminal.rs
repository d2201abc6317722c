//! Claims as text for a terminal.

use anstyle::{AnsiColor, Style};

use super::words::{demanded, figures, tally};
use crate::columns::{Align, Cell, Table, printable};
use crate::document::{ClaimDocument, ClaimVerdict, ReproductionDocument};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

pub(super) fn reproduction(document: &ReproductionDocument, width: Option<usize>) -> String {
    let mut out = String::new();
    for path in &document.paths {
        let mut table =
            Table::new([Align::Left, Align::Left, Align::Right, Align::Right, Align::Left, Align::Left]);
        let heads = ["claim", "published", "predicted", "measured", "95 % interval", "verdict"];
        table.row(heads.map(|h| Cell::styled(h, DIM)));
        for claim in &path.claims {
            row(claim, &mut table);
        }
        out += &table.render(width);
        out += &format!("{}: {}\n\n", path.path, tally(path.claims.iter()));
    }
    out
}

fn row(claim: &ClaimDocument, table: &mut Table) {
    let [predicted, measured, ends] = figures(claim);
    table.row([
        Cell::styled(printable(&claim.id), BOLD),
        Cell::plain(printable(&claim.published)),
        Cell::plain(predicted),
        Cell::plain(measured),
        Cell::styled(ends, DIM),
        Cell::styled(claim.verdict.title(), style(claim.verdict)),
    ]);
    table.across(2, Cell::plain(printable(&claim.says)));
    let tested = match demanded(claim) {
        demanded if demanded.is_empty() => claim.why.clone(),
        demanded if claim.measured.is_some() => format!("{}: {demanded}", claim.metric),
        _ => format!("{}: {}", claim.metric, claim.why),
    };
    table.across(2, Cell::styled(printable(&tested), DIM));
}

fn style(verdict: ClaimVerdict) -> Style {
    match verdict {
        ClaimVerdict::Reproduced => AnsiColor::Green.on_default(),
        ClaimVerdict::Expired => AnsiColor::Yellow.on_default(),
        ClaimVerdict::NotSeparable | ClaimVerdict::NotTestable => DIM,
    }
}
