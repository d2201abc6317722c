//! Rules about captured packets: where their cycles go, and what the changes of the path save.

use super::{Facts, Said, sure};
use crate::document::{BillDocument, GateDocument, Span};
use crate::number::{count, percent};

const PATH: &str = "capture";

/// The dearest gate of a packet, what its filter has of it, what a JIT saves, and what all changes do.
pub(super) fn packet(facts: &Facts<'_>) -> Option<Said> {
    let bill_of = |variant: &str| {
        let is_it = |b: &&BillDocument| b.path == PATH && b.variant == variant;
        facts.document.bills.iter().find(is_it)
    };
    let before = bill_of("before")?;
    let whole = sure(before.measured.ticks)?;
    let of_it =
        |gate: &GateDocument| Some((gate.name.clone(), gate.cost?.ticks, gate.cost?.ticks.over(whole)?));
    let mut gates: Vec<(String, Span, Span)> =
        before.gates.iter().filter(|gate| !gate.knock_out).map(of_it).collect::<Option<_>>()?;
    gates.sort_by(|(_, a, _), (_, b, _)| b.estimate.total_cmp(&a.estimate));
    let [(dearest, cost, share), (_, next, _), ..] = gates.as_slice() else { return None };
    if cost.lo <= next.hi {
        return None;
    }
    let share = sure(*share)?;
    let mut text = format!(
        "Of the {} cycles of a packet that is captured in the plain way {} [{}, {}] are the gate “{dearest}”",
        count(whole.estimate),
        percent(share.estimate),
        percent(share.lo),
        percent(share.hi.min(1.0))
    );
    if let Some((_, filter, part)) =
        gates.iter().find(|(name, ..)| name == "filter").filter(|(name, ..)| name != dearest)
    {
        text += &format!(", {} the filter", percent(part.estimate));
        let compiled =
            bill_of("after").and_then(|after| after.gates.iter().find(|gate| gate.name == "filter"));
        if let Some(compiled) = compiled.and_then(|gate| gate.cost).filter(|cost| cost.ticks.hi < filter.lo) {
            let saved = (filter.estimate - compiled.ticks.estimate) / whole.estimate;
            text += &format!(", of which compiling it saves {} of the packet", percent(saved));
        }
    }
    // Without that gate a packet would cost so many times less.
    let mut effect = without(share.lo);
    let change = facts
        .document
        .changes
        .iter()
        .find(|c| c.path == PATH && c.variant == "after" && c.instead_of == "before");
    if let Some((change, saved)) =
        change.and_then(|change| Some((change, change.measured.ticks.over(whole)?)))
        && saved.lo > 0.0
    {
        let when = if change.frozen { "foretold" } else { "by their gates" };
        let predicted = change.predicted.ticks.estimate / whole.estimate;
        text += &format!("; all changes save {} ({when} {})", percent(saved.estimate), percent(predicted));
        effect = effect.max(without(saved.lo));
    }
    Some(Said::new(text + ".", effect))
}

/// Times as much as what is left where this share is taken away.
fn without(share: f64) -> f64 {
    1.0 / (1.0 - share).max(0.01)
}
