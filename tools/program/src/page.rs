//! A program's bill as a page.

use tollway_report::number::time;
use tollway_report::{PageTable, Result, plain_page};

use crate::document::{BillDocument, PayerDocument};
use crate::words;

impl BillDocument {
    /// The page: one file that loads nothing.
    ///
    /// # Errors
    /// None that a document can bring about.
    pub fn page(&self) -> Result<String> {
        let facts =
            [format!("{:.2} s", self.watching.watched_s), format!("a {}: {:.0}", self.per, self.count)];
        let mut lead = vec![self.highlights(), self.how()];
        lead.extend(self.notes());
        let whole = self.whole();
        let lines = PageTable {
            title: "Counts × tolls".into(),
            lead: words::STAMPED.into(),
            heads: self.heads().to_vec(),
            rows: self.lines.iter().map(|line| self.cells(line, whole).to_vec()).collect(),
        };
        let sums = PageTable {
            title: "Against what was measured".into(),
            lead: String::new(),
            heads: ["", "By tolls", "Measured", ""].map(String::from).to_vec(),
            rows: self.sums().into_iter().map(|sum| sum.to_vec()).collect(),
        };
        let what_if = PageTable {
            title: words::WHAT_IF.into(),
            lead: words::WHAT_IF_LEAD.into(),
            heads: words::WHAT_IF_HEADS.map(String::from).to_vec(),
            rows: self.changes_of_page(),
        };
        let tried = PageTable {
            title: words::TRIED.into(),
            lead: words::TRIED_LEAD.into(),
            heads: words::TRIED_HEADS.map(String::from).to_vec(),
            rows: self.tried.iter().map(|one| BillDocument::tried_cells(one).to_vec()).collect(),
        };
        let payers = |title: &str, payers: &[PayerDocument]| PageTable {
            title: title.into(),
            lead: String::new(),
            heads: ["Which", "Processor time"].map(String::from).to_vec(),
            rows: payers.iter().map(|payer| vec![payer.name.clone(), time(payer.ns / self.count)]).collect(),
        };
        let (threads, files) =
            (payers("The dearest threads", &self.threads), payers("The dearest files", &self.files));
        let tables = [lines, sums, what_if, tried, threads, files];
        let tables: Vec<PageTable> = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
        plain_page(&format!("The bill of {}", self.program), &facts, &lead, &tables)
    }

    /// Changes that may be worth it, a row each, and the names of the others in one.
    fn changes_of_page(&self) -> Vec<Vec<String>> {
        let worth = self.what_if.iter().filter(|one| self.may_be_worth_it(one));
        let mut rows: Vec<Vec<String>> = worth.map(|one| self.what_if_cells(one).to_vec()).collect();
        rows.extend(self.not_worth_it().map(|names| {
            let mut row = vec![String::new(); words::WHAT_IF_HEADS.len()];
            row[0] = names;
            row
        }));
        rows
    }
}
