//! The same comparison from the start, several times over: does each row get the same verdict?

use serde::{Deserialize, Serialize};
use tollway_report::document::{ComparedDocument, Span, VerdictDocument};

use super::ModesDocument;

/// What repetitions have come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RepeatedDocument {
    /// How many were asked for.
    pub times: u32,
    /// The runs of those that were played to their end.
    pub runs: Vec<i64>,
    /// Whether all were played, and each row had the same verdict in all of them.
    pub agree: bool,
    /// The rows.
    pub rows: Vec<RepeatedRow>,
}

/// A row in all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RepeatedRow {
    /// The row.
    pub title: String,
    /// The verdicts, one of each repetition; null where it had none.
    pub verdicts: Vec<Option<VerdictDocument>>,
    /// The second mode over the first, one of each repetition; null where there was none.
    pub ratios: Vec<Option<Span>>,
    /// Whether the verdicts are all the same. A row that cannot be measured here has none, and that is the same too.
    pub agree: bool,
}

impl RepeatedDocument {
    /// Of those that were played to their end.
    pub(super) fn of(documents: &[ModesDocument], times: u32) -> RepeatedDocument {
        let figures = |document: &ModesDocument| document.comparison.figures.clone();
        let all: Vec<Vec<ComparedDocument>> = documents.iter().map(figures).collect();
        let rows: Vec<RepeatedRow> = (0..all.first().map_or(0, Vec::len))
            .map(|row| {
                let of_it: Vec<&ComparedDocument> =
                    all.iter().filter_map(|figures| figures.get(row)).collect();
                let ratio = |figure: &&ComparedDocument| figure.ratio.as_ref().map(|ratio| ratio.b_over_a);
                let verdict = |figure: &&ComparedDocument| figure.ratio.as_ref().map(|ratio| ratio.verdict);
                let verdicts: Vec<_> = of_it.iter().map(verdict).collect();
                RepeatedRow {
                    title: of_it.first().map(|figure| figure.title.clone()).unwrap_or_default(),
                    agree: verdicts.windows(2).all(|pair| pair[0] == pair[1]),
                    ratios: of_it.iter().map(ratio).collect(),
                    verdicts,
                }
            })
            .collect();
        RepeatedDocument {
            times,
            runs: documents.iter().map(|document| document.comparison.b.run).collect(),
            agree: documents.len() == times as usize && rows.iter().all(|row| row.agree),
            rows,
        }
    }
}
