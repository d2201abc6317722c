//! The score card as Markdown.

use super::{HEADS, TITLE, row, sections};
use crate::document::RunDocument;
use crate::markdown::{escaped, setbacks_of};

/// The card; empty where nothing is told as a rate.
pub(crate) fn section(document: &RunDocument) -> String {
    let sections = sections(document);
    if sections.is_empty() {
        return String::new();
    }
    let mut out = format!("\n## {TITLE}\n");
    for section in &sections {
        out += &format!("\n### {}\n", escaped(&section.title));
        for family in &section.families {
            out.push('\n');
            if !family.common.is_empty() {
                out += &format!("{}:\n\n", escaped(&family.common.join(", ")));
            }
            if !family.group.priced.is_empty() {
                out += &format!("| row | {} |\n|---|{}\n", HEADS.join(" | "), "--:|".repeat(HEADS.len()));
            }
            for point in &family.group.priced {
                let row = row(family, point);
                let noise = row.noise.map(|noise| format!(" (~ {noise})")).unwrap_or_default();
                let cells = row.cells.map(|c| escaped(&c)).join(" | ");
                out += &format!("| {}{} | {cells} |\n", escaped(&row.title), escaped(&noise));
            }
            out += &setbacks_of(&family.group);
        }
    }
    out
}
