//! The score card as Markdown.

use super::{HEADS, TITLE, groups, row};
use crate::document::RunDocument;
use crate::markdown::{escaped, setbacks_of};

/// The card; empty where nothing is told as a rate.
pub(crate) fn section(document: &RunDocument) -> String {
    let groups = groups(document);
    if groups.is_empty() {
        return String::new();
    }
    let mut out = format!("\n## {TITLE}\n");
    for group in &groups {
        out += &format!("\n### {}\n\n", escaped(&group.title));
        if !group.priced.is_empty() {
            out += &format!("| row | {} |\n|---|{}\n", HEADS.join(" | "), "--:|".repeat(HEADS.len()));
        }
        for point in &group.priced {
            let row = row(point);
            out += &format!("| {} | {} |\n", escaped(&row.title), row.cells.map(|c| escaped(&c)).join(" | "));
        }
        out += &setbacks_of(group);
    }
    out
}
