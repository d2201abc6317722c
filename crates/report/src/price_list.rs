//! The points of a run as a price list: grouped by boundary, what was skipped for one reason told once.

use tollway_core::Boundary;

use crate::document::{AcrossTenantsDocument, ComparedDocument, MissingDocument, PointDocument, RunDocument};

/// Share of quiet trials from which on a figure is not marked as noisy.
pub(crate) const QUIET_ENOUGH: f64 = 0.8;

/// The points that cross one boundary, or those of a path that belong to none.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    /// What stands above it.
    pub(crate) title: String,
    /// Points with a figure, or with trials to come.
    pub(crate) priced: Vec<&'a PointDocument>,
    /// Points that could not be measured, or whose result was wrong.
    pub(crate) failed: Vec<&'a PointDocument>,
    /// Points that were skipped, by what the machine lacks.
    pub(crate) skipped: Vec<(&'a MissingDocument, Vec<&'a PointDocument>)>,
}

/// All groups that have a point, boundaries first, in the order of [`Boundary::ALL`]. Points that the table of hosts and
/// guests shows beside a process of this machine are left to it, and those of a curve or of the score card to these.
pub(crate) fn groups(document: &RunDocument) -> Vec<Group<'_>> {
    let elsewhere =
        |p: &PointDocument| document.host_against_guest.as_ref().is_some_and(|table| table.has_alone(p.id));
    let points: Vec<&PointDocument> =
        document.points.iter().filter(|p| !elsewhere(p) && !p.on_a_curve() && !document.on_card(p)).collect();
    let of = |title: &str, chosen: &dyn Fn(&PointDocument) -> bool| {
        Group::of(title.into(), points.iter().copied().filter(|p| chosen(p)))
    };
    let mut groups: Vec<Group<'_>> =
        Boundary::ALL.iter().map(|b| of(b.title(), &|p| p.boundary == Some(*b))).collect();
    let mut paths: Vec<&str> = Vec::new();
    for point in points.iter().filter(|p| p.boundary.is_none()) {
        if !paths.contains(&point.path.as_str()) {
            paths.push(&point.path);
        }
    }
    for path in paths {
        groups.push(of(&format!("path {path}"), &|p| p.boundary.is_none() && p.path == path));
    }
    groups.retain(|g| !(g.priced.is_empty() && g.failed.is_empty() && g.skipped.is_empty()));
    groups
}

/// Crossings by boundary, those without one by path.
pub(crate) fn by_boundary<T: Crosses>(crossings: &[T]) -> Vec<(String, Vec<&T>)> {
    let mut groups: Vec<(String, Vec<&T>)> = Boundary::ALL
        .iter()
        .map(|b| (b.title().into(), crossings.iter().filter(|c| c.boundary() == Some(*b)).collect()))
        .collect();
    for crossing in crossings.iter().filter(|c| c.boundary().is_none()) {
        let title = format!("path {}", crossing.path());
        match groups.iter_mut().find(|(t, _)| *t == title) {
            Some((_, crossings)) => crossings.push(crossing),
            None => groups.push((title, vec![crossing])),
        }
    }
    groups.retain(|(_, crossings)| !crossings.is_empty());
    groups
}

/// A row that stands under a boundary, or under its path where it crosses none.
pub(crate) trait Crosses {
    /// The boundary that is crossed.
    fn boundary(&self) -> Option<Boundary>;
    /// The path's name.
    fn path(&self) -> &str;
}

impl Crosses for AcrossTenantsDocument {
    fn boundary(&self) -> Option<Boundary> {
        self.boundary
    }

    fn path(&self) -> &str {
        &self.path
    }
}

impl Crosses for ComparedDocument {
    fn boundary(&self) -> Option<Boundary> {
        self.boundary
    }

    fn path(&self) -> &str {
        &self.path
    }
}

impl<'a> Group<'a> {
    /// The points of a group, by what became of them.
    pub(crate) fn of(title: String, points: impl Iterator<Item = &'a PointDocument>) -> Group<'a> {
        let mut group = Group { title, priced: Vec::new(), failed: Vec::new(), skipped: Vec::new() };
        for point in points {
            if let Some(missing) = &point.skipped {
                match group.skipped.iter_mut().find(|(m, _)| *m == missing) {
                    Some((_, points)) => points.push(point),
                    None => group.skipped.push((missing, vec![point])),
                }
            } else if point.error.is_some() {
                group.failed.push(point);
            } else {
                group.priced.push(point);
            }
        }
        group
    }
}

impl PointDocument {
    /// What a list calls it: its title, and its side where there are several.
    pub(crate) fn label(&self) -> String {
        match &self.side {
            Some(side) => format!("{} [{side}]", self.title),
            None => self.title.clone(),
        }
    }
}
