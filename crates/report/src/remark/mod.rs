//! What is remarkable in a run: sentences made from its figures.

use crate::document::{RemarkDocument, RunDocument};

pub(crate) fn remarks(_document: &RunDocument) -> Vec<RemarkDocument> {
    Vec::new()
}
