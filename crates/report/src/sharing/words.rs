//! What is said of a curve, wherever it is shown.

use crate::columns::printable;
use crate::document::{ErrorsDocument, SharedPoint, SharingDocument};
use crate::number::{count, percent};

/// What the columns are called.
pub(crate) const HEADS: [&str; 8] =
    ["tenants", "each", "95 % interval", "predicted", "off", "for a fair share", "off", "least · most"];

/// What the columns mean.
pub(crate) const LEGEND: &str = "Predicted is min(c₁ × share, C/n), with the share of a processor that tenants really got; c₁ and C \
    were measured and frozen before. Beside it stands the same for a fair share of the processors. Least and most are over \
    tenants, each the median over all trials.";

/// What a curve is of.
pub(crate) fn title(curve: &SharingDocument) -> String {
    let params: Vec<String> = curve.params.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    printable(&format!("{} {} {}", curve.path, curve.variant, params.join(" ")))
}

/// The unit of rates.
pub(crate) fn unit(curve: &SharingDocument) -> String {
    printable(&curve.gives)
}

/// The caps, and where the curve breaks.
pub(crate) fn caps(curve: &SharingDocument) -> String {
    let (alone, together) = (count(curve.alone), count(curve.together));
    let from = if curve.break_point < 1.05 {
        "all share from the first on".to_string()
    } else {
        format!("they share from {:.1} on", curve.break_point)
    };
    format!("cap of each {alone}, cap of all together {together}: {from} ({} processors)", curve.processors)
}

/// How far the law is off.
pub(crate) fn verdict(curve: &SharingDocument) -> String {
    let say = |errors: &ErrorsDocument| {
        format!(
            "median {}, greatest {} ({})",
            percent(errors.median),
            percent(errors.greatest),
            match errors.greatest_at {
                1 => "1 tenant".into(),
                n => format!("{n} tenants"),
            }
        )
    };
    let unscaled = say(&curve.unscaled_error);
    let off = match &curve.error {
        Some(errors) => format!("off by {}; for a fair share by {unscaled}", say(errors)),
        None => format!("off by {unscaled}"),
    };
    let starved = match curve.starved_trials {
        0 => "nobody got nothing".into(),
        1 => "in one trial a tenant got nothing".to_string(),
        n => format!("in {n} trials a tenant got nothing"),
    };
    format!("{off}; {starved}")
}

/// A row: the texts under [`HEADS`].
pub(crate) fn row(point: &SharedPoint) -> [String; 8] {
    let (least, most) = point.each.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), r| (l.min(*r), m.max(*r)));
    let ends = crate::number::rounded_span(&point.measured);
    [
        point.tenants.to_string(),
        ends.0,
        ends.1,
        point.predicted_for_share.map_or("–".into(), count),
        point.error.map_or("–".into(), signed),
        count(point.predicted),
        signed(point.unscaled_error),
        if point.each.is_empty() { "–".into() } else { format!("{} · {}", count(least), count(most)) },
    ]
}

fn signed(share: f64) -> String {
    let text = percent(share);
    if share > 0.0 && !text.starts_with("0 %") { format!("+{text}") } else { text }
}
