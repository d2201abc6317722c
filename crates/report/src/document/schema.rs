//! The schemas of the documents: generated from the types, checked in under `schema/`.

use schemars::schema_for;

use super::{ComparisonDocument, HistoryDocument, ReproductionDocument, RunDocument};

/// A document that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// A run.
    Run,
    /// A comparison.
    Comparison,
    /// What became of claims.
    Reproduction,
    /// Rows over time.
    History,
}

impl Document {
    /// All of them.
    pub const ALL: [Document; 4] =
        [Document::Run, Document::Comparison, Document::Reproduction, Document::History];

    /// Its name on the command line and, with `.json`, its file.
    pub fn name(self) -> &'static str {
        match self {
            Document::Run => "run",
            Document::Comparison => "comparison",
            Document::Reproduction => "reproduction",
            Document::History => "history",
        }
    }
}

/// The JSON schema of a document.
pub fn schema(document: Document) -> serde_json::Value {
    let schema = match document {
        Document::Run => schema_for!(RunDocument),
        Document::Comparison => schema_for!(ComparisonDocument),
        Document::Reproduction => schema_for!(ReproductionDocument),
        Document::History => schema_for!(HistoryDocument),
    };
    schema.into()
}
