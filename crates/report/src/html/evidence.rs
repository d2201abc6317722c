//! What the page shows besides prices: predictions, quiet, method, machine.

use serde::Serialize;

use crate::columns::printable;
use crate::compare::differences::leaves;
use crate::document::{OutcomeDocument, PointDocument, RunDocument, Span};
use crate::number::{interval, percent, plain, ratio, share_of, time};

#[derive(Serialize)]
pub(crate) struct PredictionView {
    title: String,
    predicted: String,
    interval: String,
    measured: String,
    off: String,
    outcome: Option<&'static str>,
    lo: f64,
    width: f64,
    x: Option<f64>,
    hover: String,
}

#[derive(Serialize)]
pub(crate) struct QualityView {
    trials: u64,
    quiet: u64,
    share: String,
    width: f64,
    lost: Option<String>,
    noise: Vec<(String, u64, String)>,
    worst: Vec<(String, String, String)>,
}

impl PredictionView {
    pub(crate) fn of(point: &PointDocument) -> Option<PredictionView> {
        let prediction = point.prediction.as_ref().filter(|_| !point.on_a_curve())?;
        // Positions on a scale from half to twice the prediction, logarithmic.
        let x = |ns: f64| {
            let share = 0.5 + 0.5 * (ns / prediction.ns.estimate).log2();
            if share.is_finite() { (share.clamp(0.0, 1.0) * 1e4).round() / 100.0 } else { 50.0 }
        };
        let measured = prediction.measured.map(|m| m.ns);
        let (lo, hi) = (x(prediction.ns.lo), x(prediction.ns.hi));
        let over = measured.map(|m| Span {
            estimate: m.estimate / prediction.ns.estimate,
            lo: m.lo / prediction.ns.estimate,
            hi: m.hi / prediction.ns.estimate,
        });
        let title = printable(&point.label());
        let predicted = time(prediction.ns.estimate);
        let found = measured.map_or("–".into(), |m| time(m.estimate));
        Some(PredictionView {
            hover: format!("{title}: predicted {predicted} [{}], measured {found}", interval(&prediction.ns)),
            title,
            predicted,
            interval: interval(&prediction.ns),
            measured: found,
            off: over.map_or("–".into(), |o| ratio(&o).0),
            outcome: prediction.grade.map(|g| match g.outcome {
                OutcomeDocument::Holds => "holds",
                OutcomeDocument::Missed => "missed",
                OutcomeDocument::SaysNothing => "says nothing",
            }),
            lo,
            width: ((hi - lo) * 100.0).round() / 100.0,
            x: measured.map(|m| x(m.estimate)),
        })
    }
}

pub(crate) fn models(document: &RunDocument) -> Vec<String> {
    let mut models: Vec<String> =
        document.points.iter().filter_map(|p| p.prediction.as_ref()).map(|p| printable(&p.model)).collect();
    models.sort();
    models.dedup();
    models
}

impl QualityView {
    pub(crate) fn of(document: &RunDocument) -> QualityView {
        let quality = &document.quality;
        let mut worst: Vec<&PointDocument> = document.points.iter().filter(|p| p.noisy()).collect();
        worst.sort_by(|a, b| a.quiet_share.unwrap_or(1.0).total_cmp(&b.quiet_share.unwrap_or(1.0)));
        QualityView {
            trials: quality.trials,
            quiet: quality.quiet,
            share: share_of(quality.quiet, quality.trials),
            width: quality.quiet_share().unwrap_or(0.0) * 100.0,
            lost: quality.lost_share.map(percent),
            noise: quality
                .noise
                .iter()
                .map(|n| (printable(&n.reason), n.trials, printable(&n.example)))
                .collect(),
            worst: worst
                .iter()
                .take(8)
                .map(|p| {
                    let share = |s: Option<f64>| s.map_or("–".into(), percent);
                    (printable(&p.label()), share(p.quiet_share), share(p.lost_share))
                })
                .collect(),
        }
    }
}

/// How steady the machine was before the run.
#[derive(Serialize)]
pub(crate) struct SteadinessView {
    summary: String,
    /// What was not steady, and what would help.
    findings: Vec<(String, String)>,
}

impl SteadinessView {
    /// `None` where that was not looked at.
    pub(crate) fn of(document: &RunDocument) -> Option<SteadinessView> {
        let (summary, findings) = crate::machine::steadiness(document)?;
        let findings = findings.iter().map(|(what, remedy)| (printable(what), printable(remedy)));
        Some(SteadinessView { summary: printable(&summary), findings: findings.collect() })
    }
}

pub(crate) fn method(document: &RunDocument) -> Vec<(String, String)> {
    let run = &document.run;
    let blocks: Vec<u32> = document.points.iter().map(|p| p.blocks).filter(|b| *b > 0).collect();
    let blocks = match (blocks.iter().min(), blocks.iter().max()) {
        (Some(lo), Some(hi)) if lo == hi => format!("{lo} of freshly started processes"),
        (Some(lo), Some(hi)) => format!("{lo} to {hi} of freshly started processes"),
        _ => "none".into(),
    };
    let mut method = vec![
        ("Command line".to_string(), printable(&command_line(&run.argv))),
        ("Tollway".into(), printable(&run.version)),
        ("Seed".into(), run.seed.to_string()),
        ("Clock".into(), format!("{:.0} ticks a second ({} GHz)", run.hz, plain(run.hz / 1e9))),
        ("Blocks".into(), blocks),
        ("Began".into(), run.started.to_string()),
        ("Ended".into(), run.ended.map_or("–".into(), |t| t.to_string())),
        ("Machine".into(), printable(&document.machine.id)),
    ];
    if !run.sides.is_empty() {
        method.push(("Sides".into(), printable(&run.sides.join(", "))));
    }
    method
}

/// The command line as a shell would take it.
fn command_line(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    argv.iter()
        .map(|word| match word.is_empty() || !word.chars().all(plain) {
            true => format!("'{}'", word.replace('\'', "'\\''")),
            false => word.clone(),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Each caveat once, with what it holds for.
pub(crate) fn caveats(document: &RunDocument) -> Vec<(String, String)> {
    let mut caveats: Vec<(String, Vec<String>)> = Vec::new();
    for point in document.points.iter().filter(|p| !p.caveats.trim().is_empty()) {
        let (text, name) = (printable(point.caveats.trim()), printable(&point.variant));
        match caveats.iter_mut().find(|(t, _)| *t == text) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => caveats.push((text, vec![name])),
        }
    }
    caveats.into_iter().map(|(text, names)| (names.join(", "), text)).collect()
}

pub(crate) fn fingerprint(document: &RunDocument) -> Vec<(String, String)> {
    leaves(&document.machine.fingerprint)
        .into_iter()
        // It has a place of its own.
        .filter(|(field, _)| !field.starts_with("steadiness."))
        .map(|(field, value)| {
            let value = match value {
                serde_json::Value::Null => "–".into(),
                serde_json::Value::String(text) => text,
                serde_json::Value::Array(items) if items.len() > 64 => format!("{} values", items.len()),
                serde_json::Value::Number(n) => number(&n),
                other => other.to_string(),
            };
            (printable(&field), printable(&value))
        })
        .collect()
}

/// A number of the fingerprint: whole as it is, else with no more digits than a person reads.
fn number(n: &serde_json::Number) -> String {
    match n.as_f64() {
        Some(x) if n.is_f64() && x.abs() >= 1000.0 => format!("{x:.0}"),
        Some(x) if n.is_f64() => plain(x),
        _ => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn a_command_line_can_be_pasted() {
        let argv = ["tollway", "run", "--title", "it's new", ""].map(String::from);
        assert_eq!(command_line(&argv), "tollway run --title 'it'\\''s new' ''");
    }
}
