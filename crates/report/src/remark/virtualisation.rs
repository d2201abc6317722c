//! Rules about what virtualisation costs: what it leaves alone, and what it makes dearest.

use tollway_core::TenantKind;

use super::{Facts, Said, sure, times};
use crate::document::{
    AcrossTenantsDocument, HostAgainstGuestDocument, InTenantDocument, RatioDocument, VerdictDocument,
};
use crate::host_against_guest::kind_title;
use crate::number::{percent, time};

/// How many crossings are named.
const NAMED: usize = 3;

/// A crossing that has a ratio in a guest.
type Judged<'a> = (&'a AcrossTenantsDocument, &'a InTenantDocument, &'a RatioDocument);

/// The crossings in guests of a kind; of a run with sides those of the first one.
fn judged<'a>(facts: &Facts<'a>, table: &'a HostAgainstGuestDocument, kind: TenantKind) -> Vec<Judged<'a>> {
    let side = facts.document.run.sides.first();
    let crossings = table.crossings.iter().filter(|c| c.side.as_ref() == side);
    crossings
        .filter_map(|c| {
            let cell = c.in_tenant(kind)?;
            Some((c, cell, cell.to_host.as_ref()?))
        })
        .collect()
}

/// Each kind of guest with its crossings.
fn guests<'a>(facts: &Facts<'a>) -> Vec<(TenantKind, &'a HostAgainstGuestDocument, Vec<Judged<'a>>)> {
    let Some(table) = &facts.document.host_against_guest else { return Vec::new() };
    [TenantKind::MicroGuest, TenantKind::LinuxGuest]
        .into_iter()
        .map(|kind| (kind, table, judged(facts, table, kind)))
        .filter(|(.., judged)| !judged.is_empty())
        .collect()
}

/// Which crossings cost the same in a guest.
pub(super) fn free_in_guests(facts: &Facts<'_>) -> Option<Said> {
    let mut sentences = Vec::new();
    for (kind, table, judged) in guests(facts) {
        let same: Vec<&str> = judged
            .iter()
            .filter(|(.., ratio)| ratio.verdict == VerdictDocument::Same)
            .map(|(c, ..)| c.title.as_str())
            .collect();
        if same.is_empty() {
            continue;
        }
        let more = same.len().saturating_sub(NAMED);
        let named = same[..same.len() - more].join("; ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        sentences.push(format!(
            "A {} leaves {} of {} crossings at the price of this machine, within {}: {named}{more}.",
            kind_title(kind, &facts.document.guests),
            same.len(),
            judged.len(),
            percent(table.margin)
        ));
    }
    (!sentences.is_empty()).then(|| Said::new(sentences.join(" "), 1.0))
}

/// Which crossing a guest makes dearest.
pub(super) fn dearest_in_guests(facts: &Facts<'_>) -> Option<Said> {
    let (mut sentences, mut effect) = (Vec::new(), 1.0_f64);
    for (kind, _, judged) in guests(facts) {
        let dearer = judged.iter().filter(|(.., ratio)| ratio.verdict == VerdictDocument::Worse);
        let dearest = dearer.max_by(|(.., a), (.., b)| a.b_over_a.estimate.total_cmp(&b.b_over_a.estimate));
        let Some((crossing, cell, ratio)) = dearest else { continue };
        let here = crossing.in_tenant(TenantKind::Process).and_then(|c| c.median);
        let (Some(there), Some(here)) = (cell.median, here) else { continue };
        let Some(dearer) = sure(ratio.b_over_a) else { continue };
        effect = effect.max(dearer.lo);
        sentences.push(format!(
            "Of {} crossings a {} makes {} dearest: {} what it costs in this machine, {} against {}.",
            judged.len(),
            kind_title(kind, &facts.document.guests),
            crossing.title,
            times(&dearer),
            time(there.ns.estimate),
            time(here.ns.estimate)
        ));
    }
    (!sentences.is_empty()).then(|| Said::new(sentences.join(" "), effect))
}
