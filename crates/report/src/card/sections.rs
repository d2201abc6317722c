//! Under which headings the rows of the card stand, and what of their titles is said once for all.

use crate::document::{PointDocument, RunDocument};
use crate::price_list::Group;

/// The parts of a machine in the order in which a person asks for them, and the variants of the path `machine` that tell of them.
/// A variant that is none of these stands under its own name.
const PARTS: [(&str, &[&str]); 5] = [
    ("Processor", &["primes", "events", "peak"]),
    ("Memory", &["stream", "latency", "faults"]),
    ("Disk", &["fsync", "disk", "image"]),
    ("Network", &["tcp-streams", "tcp-requests", "udp-datagrams"]),
    ("Service", &["service"]),
];

/// Rows of a variant from which on what their titles have in common is said once.
const MANY: usize = 3;

/// A heading and what stands under it.
pub(crate) struct Section<'a> {
    /// The part's name, or path and variant.
    pub(crate) title: String,
    /// The rows by variant, those first that have nothing in common.
    pub(crate) families: Vec<Family<'a>>,
}

/// Rows of one variant.
pub(crate) struct Family<'a> {
    /// What all of their titles say after the first comma; empty where that is nothing.
    pub(crate) common: Vec<String>,
    /// The rows, with what failed and what was skipped.
    pub(crate) group: Group<'a>,
}

impl Family<'_> {
    /// A row's title without what is said once for all.
    pub(crate) fn title(&self, point: &PointDocument) -> String {
        let label = point.label();
        let mut pieces = label.split(", ");
        let first: Vec<&str> = pieces.next().into_iter().collect();
        let rest = pieces.filter(|piece| !self.common.iter().any(|common| common == piece));
        first.into_iter().chain(rest).collect::<Vec<_>>().join(", ")
    }
}

/// Which part a variant of the path `machine` belongs to, for whoever lists them: a heading of the card.
pub fn part(path: &str, variant: &str) -> Option<&'static str> {
    let parts = PARTS.iter().filter(|_| path == "machine");
    parts.filter(|(_, variants)| variants.contains(&variant)).map(|(part, _)| *part).next()
}

/// The rows of the card under their headings: parts of a machine first, then other paths as they come.
pub(crate) fn sections(document: &RunDocument) -> Vec<Section<'_>> {
    let on_card: Vec<&PointDocument> = document.points.iter().filter(|p| document.on_card(p)).collect();
    let title = |p: &PointDocument| match part(&p.path, &p.variant) {
        Some(part) => part.to_string(),
        None => format!("{}: {}", p.path, p.variant),
    };
    let mut titles: Vec<String> = PARTS.iter().map(|(part, _)| part.to_string()).collect();
    for point in &on_card {
        if !titles.contains(&title(point)) {
            titles.push(title(point));
        }
    }
    let section = |heading: String| {
        let rows: Vec<&PointDocument> = on_card.iter().copied().filter(|p| title(p) == heading).collect();
        let mut variants: Vec<&str> = Vec::new();
        for point in &rows {
            if !variants.contains(&point.variant.as_str()) {
                variants.push(&point.variant);
            }
        }
        let mut families: Vec<Family<'_>> = variants
            .into_iter()
            .map(|v| family(rows.iter().copied().filter(|p| p.variant == v).collect()))
            .collect();
        families.sort_by_key(|family| !family.common.is_empty());
        Section { title: heading, families }
    };
    titles.into_iter().map(section).filter(|section| !section.families.is_empty()).collect()
}

fn family(rows: Vec<&PointDocument>) -> Family<'_> {
    let pieces = |point: &PointDocument| -> Vec<String> {
        point.label().split(", ").skip(1).map(String::from).collect()
    };
    let common = match rows.split_first() {
        Some((first, others)) if rows.len() >= MANY => {
            let mut common = pieces(first);
            common.retain(|piece| others.iter().all(|other| pieces(other).contains(piece)));
            common
        }
        _ => Vec::new(),
    };
    Family { common, group: Group::of(String::new(), rows.into_iter()) }
}
