//! A run as one page that needs no other file.

mod distribution;

pub(crate) use distribution::Distribution;

use crate::Result;
use crate::document::RunDocument;

pub(crate) fn page(_document: &RunDocument, _distributions: &[Option<Distribution>]) -> Result<String> {
    Ok(String::new())
}
