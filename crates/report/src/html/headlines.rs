//! The headlines on the page, each with a link to its row.

use serde::Serialize;

use crate::columns::printable;
use crate::document::RunDocument;
use crate::headline::{self, HEADS, Row, TITLE};

/// The headlines.
#[derive(Serialize)]
pub(crate) struct HeadlinesView {
    title: &'static str,
    heads: [&'static str; 2],
    paths: Vec<PathView>,
}

/// Those of a path.
#[derive(Serialize)]
struct PathView {
    name: String,
    rows: Vec<RowView>,
}

#[derive(Serialize)]
struct RowView {
    id: i64,
    title: String,
    figure: String,
    interval: String,
    wide: Option<String>,
}

impl HeadlinesView {
    /// `None` without headlines.
    pub(crate) fn of(document: &RunDocument) -> Option<HeadlinesView> {
        let mut paths: Vec<PathView> = Vec::new();
        for Row { id, path, title, cells: [figure, interval], wide } in headline::rows(document) {
            let row = RowView { id, title, figure, interval, wide };
            let name = printable(&path);
            match paths.iter_mut().find(|path| path.name == name) {
                Some(path) => path.rows.push(row),
                None => paths.push(PathView { name, rows: vec![row] }),
            }
        }
        (!paths.is_empty()).then_some(HeadlinesView { title: TITLE, heads: HEADS, paths })
    }
}
