//! What the page shows of tenants: the crossings in this machine and in its guests, and what each tenant got.

use serde::Serialize;
use tollway_core::TenantKind;

use crate::columns::printable;
use crate::document::{AcrossTenantsDocument, HostAgainstGuestDocument, RunDocument};
use crate::host_against_guest::{kind_title, legend, ratio_words, setbacks};
use crate::number::{glued, plain, time};
use crate::price_list::by_boundary;
use crate::tenants;

/// Height of a strip above and below its marks, and between them, in pixels.
const STEP: usize = 13;

/// The crossings in this machine and in its guests.
#[derive(Serialize)]
pub(crate) struct GuestsView {
    kinds: Vec<KindView>,
    ticks: Vec<RatioTick>,
    height: usize,
    groups: Vec<(String, Vec<CrossingView>)>,
    legend: String,
    notes: Vec<String>,
    setbacks: Vec<String>,
}

/// A column: a kind of tenant that is compared with processes.
#[derive(Serialize)]
struct KindView {
    title: String,
    /// How it is drawn.
    class: &'static str,
}

#[derive(Serialize)]
struct RatioTick {
    x: f64,
    label: String,
    anchor: &'static str,
    /// Whether it is the price of this machine itself.
    host: bool,
}

#[derive(Serialize)]
struct CrossingView {
    title: String,
    key: String,
    host: String,
    hover: String,
    marks: Vec<MarkView>,
    cells: Vec<CellView>,
}

#[derive(Serialize)]
struct MarkView {
    class: &'static str,
    x: f64,
    y: usize,
    lo: f64,
    width: f64,
}

#[derive(Serialize)]
struct CellView {
    kind: String,
    median: String,
    ratio: Option<String>,
    verdict: &'static str,
}

/// What each tenant got.
#[derive(Serialize)]
pub(crate) struct TenantsView {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    legend: &'static str,
}

impl GuestsView {
    pub(crate) fn of(document: &RunDocument) -> Option<GuestsView> {
        let found = document.host_against_guest.as_ref()?;
        let others: Vec<TenantKind> =
            found.tenants.iter().copied().filter(|kind| *kind != TenantKind::Process).collect();
        let scale = RatioScale::of(found);
        let crossing = |c: &AcrossTenantsDocument| CrossingView::of(c, &others, document, scale);
        Some(GuestsView {
            kinds: others
                .iter()
                .map(|kind| KindView { title: kind_title(*kind, &document.guests), class: class(*kind) })
                .collect(),
            ticks: scale.ticks(),
            height: STEP * (others.len() + 1),
            groups: by_boundary(&found.crossings)
                .into_iter()
                .map(|(title, crossings)| (printable(&title), crossings.into_iter().map(crossing).collect()))
                .collect(),
            legend: legend(found),
            notes: found.notes.iter().map(|note| glued(&printable(note))).collect(),
            setbacks: setbacks(found).iter().map(|setback| printable(setback)).collect(),
        })
    }
}

fn class(kind: TenantKind) -> &'static str {
    match kind {
        TenantKind::Process | TenantKind::Thread => "thread",
        TenantKind::MicroGuest => "micro",
        TenantKind::LinuxGuest => "linux",
    }
}

impl CrossingView {
    fn of(
        crossing: &AcrossTenantsDocument,
        others: &[TenantKind],
        document: &RunDocument,
        scale: RatioScale,
    ) -> CrossingView {
        let title = printable(&crossing.label());
        let mut hover = vec![title.clone()];
        let (mut marks, mut cells) = (Vec::new(), Vec::new());
        for (i, kind) in others.iter().enumerate() {
            let cell = crossing.in_tenant(*kind);
            let words = cell.and_then(ratio_words);
            let name = kind_title(*kind, &document.guests);
            if let (Some(ratio), Some(words)) = (cell.and_then(|c| c.to_host.as_ref()), &words) {
                let (lo, hi) = (scale.x(ratio.b_over_a.lo), scale.x(ratio.b_over_a.hi));
                hover.push(format!("{name} {} ({})", words.text, words.verdict));
                marks.push(MarkView {
                    class: class(*kind),
                    x: scale.x(ratio.b_over_a.estimate),
                    y: STEP * (i + 1),
                    lo,
                    width: ((hi - lo) * 100.0).round() / 100.0,
                });
            }
            cells.push(CellView {
                kind: name,
                median: cell.and_then(|c| c.median).map_or("–".into(), |m| time(m.ns.estimate)),
                verdict: words.as_ref().map_or("", |w| w.verdict),
                ratio: words.map(|w| w.text),
            });
        }
        let here = crossing.in_tenant(TenantKind::Process).and_then(|c| c.median);
        CrossingView {
            key: crossing.toll.as_ref().map(|key| printable(&key.to_string())).unwrap_or_default(),
            host: here.map_or("–".into(), |m| time(m.ns.estimate)),
            hover: hover.join("; "),
            title,
            marks,
            cells,
        }
    }
}

/// A logarithmic scale of ratios, from one round number to another, with 1 on it.
#[derive(Clone, Copy)]
struct RatioScale {
    lo: f64,
    hi: f64,
}

impl RatioScale {
    /// Around all ratios and their intervals, half to double at least.
    fn of(found: &HostAgainstGuestDocument) -> RatioScale {
        let cells = found.crossings.iter().flat_map(|c| &c.measured);
        let ratios = cells.filter_map(|m| m.to_host.as_ref()).map(|r| r.b_over_a);
        let (lo, hi) = ratios.fold((0.5, 2.0), |(lo, hi): (f64, f64), r| {
            // An interval that is wider than a thousand-fold would press all others together.
            (lo.min(r.lo.max(r.estimate / 1e3)), hi.max(r.hi.min(r.estimate * 1e3)))
        });
        let below = round_numbers().take_while(|x| *x <= lo).last().unwrap_or(1e-9);
        let above = round_numbers().find(|x| *x >= hi).unwrap_or(1e9);
        RatioScale { lo: below.log10(), hi: above.log10() }
    }

    /// Where that ratio stands, in per cent of the width, with two decimals.
    fn x(self, ratio: f64) -> f64 {
        let share = (ratio.max(1e-12).log10() - self.lo) / (self.hi - self.lo);
        (share.clamp(0.0, 1.0) * 1e4).round() / 100.0
    }

    /// A mark for each round number, or for each power of ten where there are many.
    fn ticks(self) -> Vec<RatioTick> {
        let on_it = |x: &f64| (self.lo - 1e-9..=self.hi + 1e-9).contains(&x.log10());
        let all: Vec<f64> = round_numbers().filter(on_it).collect();
        let few = all.len() <= 7;
        let decade = |x: f64| (x.log10() - x.log10().round()).abs() < 1e-9;
        let (first, last) = (all.first().copied(), all.last().copied());
        all.into_iter()
            .filter(|x| few || decade(*x))
            .map(|x| RatioTick {
                x: self.x(x),
                label: if decade(x) && (x - 1.0).abs() < 1e-9 {
                    "1 ×".into()
                } else {
                    format!("{} ×", short(x))
                },
                anchor: match x {
                    x if Some(x) == first => "start",
                    x if Some(x) == last => "end",
                    _ => "middle",
                },
                host: (x - 1.0).abs() < 1e-9,
            })
            .collect()
    }
}

/// 1, 2 and 5 times the powers of ten, from a billionth to a billion.
fn round_numbers() -> impl Iterator<Item = f64> {
    (-9..=9).flat_map(|power| [1.0, 2.0, 5.0].map(|x| x * 10f64.powi(power)))
}

/// A round number without the digits that it does not need.
fn short(x: f64) -> String {
    if x >= 1.0 { format!("{x:.0}") } else { plain(x).trim_end_matches('0').into() }
}

impl TenantsView {
    pub(crate) fn of(document: &RunDocument) -> Option<TenantsView> {
        let rows = tenants::rows(document);
        let [_, heads @ ..] = tenants::HEADS;
        (!rows.is_empty()).then(|| TenantsView {
            heads: heads.into(),
            rows: rows
                .into_iter()
                .map(|r| {
                    [r.title, r.tenants, r.share, r.own, r.rate, r.total, r.fairness]
                        .map(|t| glued(&t))
                        .into()
                })
                .collect(),
            legend: tenants::LEGEND,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_stand_where_they_belong() {
        let scale = RatioScale { lo: 0.5f64.log10(), hi: 50f64.log10() };
        assert_eq!([0.5, 5.0, 50.0, 500.0].map(|r| scale.x(r)), [0.0, 50.0, 100.0, 100.0]);
        let labels: Vec<String> = scale.ticks().into_iter().map(|t| t.label).collect();
        assert_eq!(labels, ["0.5 ×", "1 ×", "2 ×", "5 ×", "10 ×", "20 ×", "50 ×"]);
        let wide = RatioScale { lo: -1.0, hi: 3.0 };
        let labels: Vec<String> = wide.ticks().into_iter().map(|t| t.label).collect();
        assert_eq!(labels, ["0.1 ×", "1 ×", "10 ×", "100 ×", "1000 ×"]);
    }
}
