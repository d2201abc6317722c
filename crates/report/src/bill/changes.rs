//! What changes of a path bring: predicted from the tolls of their gates, and measured.

use tollway_store::{PointSpec, Store};

use super::{Billed, ByBlock, interval};
use crate::Result;
use crate::document::{ChangeDocument, Estimate};

/// A prediction holds where it is within this share of what was measured, whatever the intervals.
const WITHIN: f64 = 0.1;

/// A change for each point whose variant is one, where the run has the variant that it changes at the same parameters.
pub(super) fn of(store: &Store, bills: &[Billed<'_>], hz: f64) -> Result<Vec<ChangeDocument>> {
    let mut changes = Vec::new();
    for changed in bills {
        let Some(name) = &changed.point.spec.changes else { continue };
        let Some(original) = bills.iter().find(|b| b.point.spec.variant == *name && same_place(b, changed))
        else {
            continue;
        };
        let (Some(before), Some(after)) = (&original.sum, &changed.sum) else { continue };
        let predicted = interval(difference(before, after));
        let measured = interval(difference(&original.measured, &changed.measured));
        let (Some(predicted), Some(measured)) = (predicted, measured) else { continue };
        let off = predicted.estimate - measured.estimate;
        let holds = off.abs() <= WITHIN * measured.estimate.abs()
            || predicted.contains(measured.estimate)
            || measured.contains(predicted.estimate);
        let frozen =
            store.prediction(original.point.id)?.is_some() && store.prediction(changed.point.id)?.is_some();
        changes.push(ChangeDocument {
            point: changed.point.id.0,
            original: original.point.id.0,
            path: changed.point.spec.path.clone(),
            variant: changed.point.spec.variant.clone(),
            instead_of: name.clone(),
            params: changed.point.spec.params.to_string(),
            departures: departures(&changed.point.spec),
            predicted: Estimate::of_ticks(&predicted, hz),
            measured: Estimate::of_ticks(&measured, hz),
            share: measured.estimate / original.document.measured.ticks.estimate,
            frozen,
            holds,
        });
    }
    Ok(changes)
}

/// What a point's title says besides its path and variant.
fn departures(spec: &PointSpec) -> String {
    let named = format!("{} {}", spec.path, spec.variant);
    spec.title.strip_prefix(&named).unwrap_or_default().trim().into()
}

/// Whether all parameters that both have are the same.
fn same_place(one: &Billed<'_>, other: &Billed<'_>) -> bool {
    let (one, other) = (&one.point.spec, &other.point.spec);
    one.path == other.path
        && one.params.iter().all(|(name, value)| other.params.get(name).is_none_or(|v| v == value))
}

/// What is saved in each block that both have.
fn difference<'a>(before: &'a ByBlock, after: &'a ByBlock) -> impl Iterator<Item = f64> + 'a {
    before.iter().filter_map(|(block, ticks)| Some(ticks - after.get(block)?))
}
