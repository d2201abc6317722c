//! The schemas of the documents, as they are checked in under `schema/`; a test of the program holds them against the types.

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

/// The JSON schema of a document.
pub fn schema(document: Document) -> &'static str {
    match document {
        Document::Run => include_str!("../../schema/run.json"),
        Document::Comparison => include_str!("../../schema/comparison.json"),
        Document::Reproduction => include_str!("../../schema/reproduction.json"),
        Document::History => include_str!("../../schema/history.json"),
    }
}
