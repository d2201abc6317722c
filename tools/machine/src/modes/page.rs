//! What is said of two modes, as a page.

use tollway_report::{PageTable, Result, comparison_page};

use super::words::{FORETOLD, NOT_FORETOLD};
use super::{ModeDocument, ModesDocument};

impl ModesDocument {
    /// The page: one file that loads nothing.
    ///
    /// # Errors
    /// None that a document can bring about.
    pub fn page(&self) -> Result<String> {
        let [a, b] = &self.modes;
        let title = format!("{} and {}", a.name, b.name);
        let mut lead: Vec<String> =
            self.modes.iter().map(|mode| format!("{}: {}.", mode.name, mode.about)).collect();
        lead.push(self.how());
        let [not_foretold, without_a_figure] = self.setbacks();
        let tables = [self.repeated(), self.foretold(), not_foretold, self.set(), without_a_figure];
        let tables: Vec<PageTable> = tables.into_iter().flatten().collect();
        comparison_page(&self.comparison, &title, &lead, &tables)
    }

    fn repeated(&self) -> Option<PageTable> {
        let repeated = self.repeated.as_ref()?;
        Some(PageTable {
            title: "The same verdict each time?".into(),
            lead: format!("{} What stands above is the last of them.", repeated.summary()),
            heads: ["Row", "Verdict", "Ratios"].map(String::from).to_vec(),
            rows: repeated
                .rows
                .iter()
                .map(|row| vec![row.title.clone(), row.verdict(), row.ratios()])
                .collect(),
        })
    }

    fn foretold(&self) -> Option<PageTable> {
        let mut models: Vec<&str> = self.foretold.iter().map(|row| row.model.as_str()).collect();
        models.sort_unstable();
        models.dedup();
        (!models.is_empty()).then(|| PageTable {
            title: FORETOLD.into(),
            lead: format!("Made of {}.", models.join("; ")),
            heads: ["Row", "Foretold", "Interval", "Measured", "95 % interval", "The prediction"]
                .map(String::from)
                .to_vec(),
            rows: self
                .foretold
                .iter()
                .map(|row| row.cells().map(|cell| cell.trim().to_owned()).to_vec())
                .collect(),
        })
    }

    /// What the modes set, and where they are not what they stand for.
    fn set(&self) -> Option<PageTable> {
        let of = |mode: &ModeDocument| {
            let set = |what: &str, name: &str, value: &str| {
                vec![mode.name.clone(), what.into(), format!("{name} = {value}")]
            };
            let guest = mode.guest.iter().map(|one| set("guest", &one.name, &one.value));
            let host = mode.host.iter().map(|one| set("host", &one.name, &one.value));
            let deviations = mode.deviations.iter().map(|deviation| {
                let said = format!("not “{}”, but: {}", deviation.from, deviation.here);
                vec![mode.name.clone(), "deviation".into(), said]
            });
            guest.chain(host).chain(deviations).collect::<Vec<_>>()
        };
        Some(PageTable {
            title: "The modes".into(),
            lead: String::new(),
            heads: ["Mode", "Of", "What"].map(String::from).to_vec(),
            rows: self.modes.iter().flat_map(of).collect(),
        })
    }

    fn setbacks(&self) -> [Option<PageTable>; 2] {
        [(NOT_FORETOLD, &self.not_foretold), ("Rows without a figure", &self.setbacks)].map(
            |(title, rows)| {
                (!rows.is_empty()).then(|| PageTable {
                    title: title.into(),
                    lead: String::new(),
                    heads: ["Row", "Why"].map(String::from).to_vec(),
                    rows: rows.iter().map(|row| vec![row.title.clone(), row.why.clone()]).collect(),
                })
            },
        )
    }
}
