//! What a person and a program read of a run.
//!
//! Nothing here measures, and nothing here is stored: a [`RunReport`] and a [`Comparison`] are read from the store and
//! written as text for a terminal, as one JSON document, as Markdown; a run as CSV and as one HTML page as well.
//!
//! # Layers
//!
//! - [`document`]: the JSON documents, which hold every figure in base units. All other forms are made from them, so
//!   that no two forms can disagree.
//! - From documents to words: `remark` (what is remarkable, one rule a file), `compare` (two runs, two sides, the proof
//!   that a comparison finds what was planted).
//! - From documents to pages: `terminal`, `markdown`, `csv`, `html`, and what they share: `number` (three significant
//!   digits), `columns` (alignment), `price_list` (grouping by boundary).
//!
//! # What every form keeps
//!
//! There is no figure without its interval: a point with a single trial has "–". What was skipped says why and what to do
//! about it, what failed says so, noisy figures are marked, and the p99 of batches is not taken for that of operations.
#![warn(missing_debug_implementations)]

mod bill;
mod card;
mod claim;
mod classes;
pub mod columns;
mod compare;
mod counted;
mod csv;
pub mod document;
mod error;
mod headline;
mod history;
mod host_against_guest;
mod html;
mod machine;
mod markdown;
pub mod number;
mod price_list;
mod remark;
mod run_report;
mod sharing;
mod tenants;
mod terminal;
mod timed;

pub use card::sections::part;
pub use claim::Reproduction;
pub use compare::{Comparison, Proof, terminal as comparison_text};
pub use csv::lines as csv_lines;
pub use error::{ReportError, Result};
pub use history::{RowsOverTime, history};
pub use html::{PageTable, comparison_page, plain_page};
pub use run_report::RunReport;
pub use timed::quantile;
