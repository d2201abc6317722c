//! What the classes of points waited, where a path tells its actors apart by classes: of who comes first the tail is what counts, and
//! a point's own figures are those of all.

use std::collections::BTreeMap;

use tollway_core::Spread;
use tollway_store::PointRecord;

use crate::columns::printable;
use crate::document::{ClassDocument, RunDocument};
use crate::timed;

/// The title.
pub(crate) const TITLE: &str = "How long each class took";

/// What the columns are called.
pub(crate) const HEADS: [&str; 4] = timed::HEADS;

/// A class of a point, in words.
pub(crate) struct ClassRow {
    /// The class, and how many of its operations were timed.
    pub(crate) name: String,
    /// In the order of [`HEADS`].
    pub(crate) cells: [String; 4],
}

/// The classes of a point, in the order of its actors.
pub(crate) fn of(record: &PointRecord, hz: f64) -> Vec<ClassDocument> {
    let mut classes: Vec<(&str, BTreeMap<u32, Spread>)> = Vec::new();
    for trial in &record.measured {
        for actor in &trial.actors {
            let (Some(class), Some(spread)) = (&actor.class, &actor.spread) else { continue };
            let at = classes.iter().position(|(name, _)| name == class).unwrap_or_else(|| {
                classes.push((class, BTreeMap::new()));
                classes.len() - 1
            });
            classes[at].1.entry(trial.block).or_default().merge(spread);
        }
    }
    let document = |(name, blocks): (&str, BTreeMap<u32, Spread>)| {
        let figures = timed::figures(&blocks, hz);
        ClassDocument {
            name: name.into(),
            timed: blocks.values().map(Spread::samples).sum(),
            mean: figures.mean,
            p50: figures.p50,
            p99: figures.p99,
            p999: figures.p999,
        }
    };
    classes.into_iter().map(document).collect()
}

/// The points that have classes: what was measured, and a row for each class.
pub(crate) fn rows(document: &RunDocument) -> Vec<(String, Vec<ClassRow>)> {
    let row = |class: &ClassDocument| ClassRow {
        name: printable(&format!("class {} ({} timed)", class.name, class.timed)),
        cells: timed::cells([&class.mean, &class.p50, &class.p99, &class.p999].map(|figure| figure.as_ref())),
    };
    let with_classes = document.points.iter().filter(|point| !point.classes.is_empty());
    with_classes.map(|point| (printable(&point.label()), point.classes.iter().map(row).collect())).collect()
}
