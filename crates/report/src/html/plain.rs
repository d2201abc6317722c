//! A page of tables and sentences.

use minijinja::value;
use serde::Serialize;

use crate::Result;
use crate::columns::printable;
use crate::number::glued;

/// A table of texts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PageTable {
    /// What stands above it.
    pub title: String,
    /// What a reader has to know of it.
    pub lead: String,
    /// What the columns are called.
    pub heads: Vec<String>,
    /// The rows, each with a text for each column.
    pub rows: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct Page {
    title: String,
    facts: Vec<String>,
    lead: Vec<String>,
    tables: Vec<PageTable>,
}

impl PageTable {
    /// The same without what a terminal or a page would take for an order, and each number with its unit on one line.
    pub(super) fn printable(&self) -> PageTable {
        PageTable {
            title: printable(&self.title),
            lead: printable(&self.lead),
            heads: self.heads.iter().map(|text| printable(text)).collect(),
            rows: self
                .rows
                .iter()
                .map(|row| row.iter().map(|text| glued(&printable(text))).collect())
                .collect(),
        }
    }
}

/// A page that needs no other file: under this title, with these facts beside it and these sentences before the tables.
///
/// # Errors
/// None that texts can bring about.
pub fn plain_page(title: &str, facts: &[String], lead: &[String], tables: &[PageTable]) -> Result<String> {
    let texts = |texts: &[String]| texts.iter().map(|text| printable(text)).collect();
    let page = Page {
        title: printable(title),
        facts: texts(facts),
        lead: texts(lead),
        tables: tables.iter().map(PageTable::printable).collect(),
    };
    Ok(super::environment()?.get_template("plain.html")?.render(value::Serde(page))?)
}
