//! The price list in this machine and in its guests, side by side: what virtualisation costs, crossing by crossing.

mod meaning;
pub(crate) mod terminal;
mod words;

pub(crate) use words::{kind_title, legend, ratio_words, setbacks};

use std::collections::BTreeMap;

use tollway_core::{TenantKind, TollKey, Value};
use tollway_stats::{Criteria, Direction, Ratio, judge_all};
use tollway_store::{PointRecord, RunRecord};

use crate::compare::{ratio_document, sides};
use crate::document::{
    AcrossTenantsDocument, HostAgainstGuestDocument, InTenantDocument, PointDocument, RatioDocument,
    RunDocument,
};

/// The axis that says where actors live.
const AXIS: &str = "tenant";

/// The axis that says how many do it at once.
const HOW_MANY: &str = "tenants";

/// A point and its document.
type Both<'a> = (&'a PointRecord, &'a PointDocument);

/// The points of a run that differ in the axis `tenant` only; `None` where there is no such pair.
pub(crate) fn of(record: &RunRecord, document: &RunDocument) -> Option<HostAgainstGuestDocument> {
    let mut rows: Vec<(Identity<'_>, Vec<(TenantKind, Both<'_>)>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for both in record.points.iter().zip(&document.points) {
        // What several do at once has the others' share in it: it stands in what each tenant got.
        let Some(tenant) = tenant_of(both.1).filter(|_| !at_once(both.1)) else { continue };
        let identity = Identity::of(both.1);
        let place = *places.entry(identity.text()).or_insert_with(|| {
            rows.push((identity, Vec::new()));
            rows.len() - 1
        });
        if rows[place].1.iter().all(|(kind, _)| *kind != tenant) {
            rows[place].1.push((tenant, both));
        }
    }
    rows.retain(|(_, cells)| cells.len() > 1);
    let tenants: Vec<TenantKind> = TenantKind::ALL
        .iter()
        .copied()
        .filter(|kind| rows.iter().flat_map(|(_, cells)| cells).any(|(k, _)| k == kind))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let criteria = Criteria::default();
    let mut judged = judge(&rows, criteria).into_iter();
    let crossings = rows
        .into_iter()
        .map(|(identity, cells)| {
            let mut measured: Vec<InTenantDocument> = cells
                .iter()
                .map(|(tenant, (_, point))| {
                    let (to_host, why) = match judged.next() {
                        Some(Judged::Host) | None => (None, None),
                        Some(Judged::Ratio(ratio)) => (Some(ratio), None),
                        Some(Judged::None(why)) => (None, Some(why)),
                    };
                    let why = why.or_else(|| (point.median.is_none()).then(|| no_figure(point)));
                    InTenantDocument { tenant: *tenant, point: point.id, median: point.median, to_host, why }
                })
                .collect();
            measured.sort_by_key(|m| tenants.iter().position(|t| *t == m.tenant));
            identity.row(measured, &cells)
        })
        .collect();
    let mut found = HostAgainstGuestDocument {
        tenants,
        margin: criteria.margin,
        false_discovery_rate: criteria.false_discovery_rate,
        crossings,
        notes: Vec::new(),
    };
    found.notes = meaning::notes(&found, document);
    Some(found)
}

/// Where the actors of a point lived, if it had the choice.
fn tenant_of(point: &PointDocument) -> Option<TenantKind> {
    match point.params.get(AXIS)? {
        Value::Text(word) => word.parse().ok(),
        _ => None,
    }
}

/// Whether several actors did it at the same time.
fn at_once(point: &PointDocument) -> bool {
    matches!(point.params.get(HOW_MANY), Some(Value::Int(count)) if *count > 1)
}

/// Why a point has no figure.
fn no_figure(point: &PointDocument) -> String {
    match (&point.skipped, &point.error, point.trials) {
        (Some(m), ..) => format!("skipped: {}: {} → {}", m.what, m.reason, m.remedy),
        (_, Some(error), _) => format!("failed: {error}"),
        (.., 1) => "a single trial has no interval".into(),
        _ => "not measured".into(),
    }
}

/// What is the same of a crossing in all tenants.
struct Identity<'a> {
    point: &'a PointDocument,
    params: BTreeMap<String, Value>,
    toll: Option<TollKey>,
}

impl<'a> Identity<'a> {
    fn of(point: &'a PointDocument) -> Identity<'a> {
        let mut params = point.params.clone();
        params.remove(AXIS);
        let toll = point.toll.clone().map(|key| key.tenant(TenantKind::Process));
        Identity { point, params, toll }
    }

    /// Debug tells a word from a number: `size=64` and `size="64"` are not one crossing.
    fn text(&self) -> String {
        let p = self.point;
        let toll = self.toll.as_ref().map(ToString::to_string);
        format!("{:?}", (&p.side, &p.path, &p.variant, &self.params, toll))
    }

    fn row(self, measured: Vec<InTenantDocument>, cells: &[(TenantKind, Both<'_>)]) -> AcrossTenantsDocument {
        let here = cells.iter().find(|(kind, _)| *kind == TenantKind::Process);
        let title = match (&self.toll, here) {
            (Some(key), _) => key.title(),
            // A title without a toll is made of the parameters.
            (None, Some((_, (_, point)))) => point.title.replace(" tenant=process", ""),
            (None, None) => self.point.title.clone(),
        };
        AcrossTenantsDocument {
            side: self.point.side.clone(),
            path: self.point.path.clone(),
            variant: self.point.variant.clone(),
            boundary: self.point.boundary,
            params: self.params,
            toll: self.toll,
            title,
            measured,
        }
    }
}

/// What may be said of one tenant against this machine's processes.
enum Judged {
    /// It is what the others are compared with.
    Host,
    Ratio(RatioDocument),
    /// There is no ratio, and why.
    None(String),
}

/// Each cell of the table, row by row; false discoveries are controlled over all of it.
fn judge(rows: &[(Identity<'_>, Vec<(TenantKind, Both<'_>)>)], criteria: Criteria) -> Vec<Judged> {
    let mut ratios: Vec<Option<Result<Ratio, String>>> = Vec::new();
    for (_, cells) in rows {
        let host = cells.iter().find(|(kind, _)| *kind == TenantKind::Process);
        for (kind, (record, point)) in cells {
            ratios.push(match (kind, host) {
                (TenantKind::Process, _) => None,
                _ if point.median.is_none() => Some(Err(no_figure(point))),
                (_, Some((_, (host, there)))) if there.median.is_some() => {
                    Some(sides::paired(host, record).ratio)
                }
                _ => Some(Err("there is no figure of a process to compare with".into())),
            });
        }
    }
    let all: Vec<tollway_stats::Comparison> = ratios
        .iter()
        .flatten()
        .filter_map(|ratio| ratio.as_ref().ok())
        .map(|ratio| tollway_stats::Comparison { ratio: *ratio, direction: Direction::LowerIsBetter })
        .collect();
    let mut judgements = judge_all(&all, criteria).unwrap_or_default().into_iter();
    ratios
        .into_iter()
        .map(|ratio| match ratio {
            None => Judged::Host,
            Some(Err(why)) => Judged::None(why),
            Some(Ok(ratio)) => match judgements.next().and_then(|j| ratio_document(&ratio, &j).ok()) {
                Some(ratio) => Judged::Ratio(ratio),
                None => Judged::None("it cannot be judged".into()),
            },
        })
        .collect()
}
