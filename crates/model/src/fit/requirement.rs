//! What a model takes for granted, each held against the trace, and the sentence that says so where it fails.

use tollway_stats::{Location, Spearman};

use super::coupling::Coupling;
use super::estimate::Estimate;
use super::queue::{Candidate, Judged, Takes, Traffic};
use super::series::Examined;
use super::text::{self, change, p_value, time};
use super::{Family, Fitted};
use crate::Unit;

/// One thing that a model takes for granted.
pub(super) struct Requirement {
    /// p-value against it.
    pub(super) p: f64,
    /// What to say where it is rejected.
    pub(super) against: String,
}

/// All that a model takes for granted and the trace can tell of.
pub(super) fn requirements(
    of: &Candidate,
    judged: &Judged,
    traffic: &Traffic,
    gaps: &Examined,
    services: &Examined,
    estimates: &[Estimate],
) -> Vec<Requirement> {
    let mut found = Vec::new();
    let load = traffic.utilization();
    if load >= 1.0 {
        found.push(Requirement {
            p: 0.0,
            against: format!("utilization {}: no steady state", text::number(load)),
        });
    }
    for (name, series, takes) in [("gap", gaps, of.gaps), ("service", services, of.services)] {
        found.extend(of_series(name, series, takes));
    }
    if let (Some(p), Some(off), Some(mean)) = (judged.mean_p, judged.mean_off, judged.predicted_mean) {
        let seen = estimates.iter().find(|e| e.name == "response.mean").map(text::estimate);
        let seen = seen.unwrap_or_default();
        let against =
            format!("mean response {} predicted, {seen} seen: {} ({})", time(mean), change(off), p_value(p));
        found.push(Requirement { p, against });
    }
    found
}

/// That a process has no memory: its gaps are exponential and independent.
pub(super) fn memoryless(name: &str, gaps: &Examined) -> Vec<Requirement> {
    of_series(&format!("{name} gap"), gaps, Takes::Memoryless)
}

/// That services do not depend on the gaps beside them.
pub(super) fn uncoupled(coupling: &Coupling) -> impl Iterator<Item = Requirement> {
    let gaps = [(coupling.before, "the gaps before them"), (coupling.after, "the gaps after them")];
    gaps.into_iter().filter_map(|(found, which)| {
        let Spearman { rho, p, .. } = found?;
        let (rho, p_value) = (text::number(rho), p_value(p));
        Some(Requirement {
            p,
            against: format!("services depend on {which}: rank correlation {rho} ({p_value})"),
        })
    })
}

/// That a series is independent, has a level, and is of the family that a model takes it for.
fn of_series(name: &str, series: &Examined, takes: Takes) -> Vec<Requirement> {
    let mut found: Vec<Requirement> = family(name, series, takes).into_iter().collect();
    found.extend(series.independence.map(|independence| Requirement {
        p: independence.p,
        against: format!(
            "{name}s depend on each other: rank correlation of {} {} ({})",
            match independence.lag {
                1 => "neighbours".into(),
                lag => format!("those {lag} apart"),
            },
            text::number(independence.correlation),
            p_value(independence.p)
        ),
    }));
    let (first, second) = series.halves;
    found.extend(series.stationarity.map(|stationarity| Requirement {
        p: stationarity.p,
        against: format!(
            "{name}s change over the trace: mean {} in the first half, {} in the second ({})",
            time(first),
            time(second),
            p_value(stationarity.p)
        ),
    }));
    found
}

/// That a series is of the family that a model takes it for.
fn family(name: &str, series: &Examined, takes: Takes) -> Option<Requirement> {
    let family = match takes {
        Takes::Memoryless => Family::Exponential,
        Takes::Constant => Family::Constant,
        Takes::Any => return None,
    };
    let (_, result) = series.families.iter().find(|(of, _)| *of == family)?;
    Some(match result {
        Ok(fitted) => Requirement { p: fitted.ad_p, against: against(name, series, fitted) },
        // Too few values to tell.
        Err(_) => return None,
    })
}

/// What contradicts a family, by its most telling figure.
fn against(name: &str, series: &Examined, fitted: &Fitted) -> String {
    let constant = fitted.family == Family::Constant;
    let expected = if constant { 0.0 } else { 1.0 };
    let moments = &series.moments;
    let excluded = moments.scv_interval.filter(|i| expected < i.lo || i.hi < expected);
    match excluded.map(|interval| text::estimate(&Estimate::of("scv", interval, Unit::Ratio))) {
        Some(scv) if constant => {
            let (least, most) = series.range;
            format!("{name} cv² {scv}, not 0: {} to {}", time(least), time(most))
        }
        Some(scv) => {
            let variation = Location {
                estimate: moments.scv.ln(),
                standard_error: moments.scv_error.unwrap_or(0.0),
                degrees_of_freedom: 1e9,
                units: series.values,
            };
            format!("{name} cv² {scv}, not 1 ({})", p_value(variation.p_different(0.0).min(fitted.ad_p)))
        }
        None => format!(
            "{name}s are not {}: {} % of them are elsewhere (Anderson–Darling {})",
            fitted.family.name(),
            text::number((1e4 * fitted.ks).round() / 1e2),
            p_value(fitted.ad_p)
        ),
    }
}
