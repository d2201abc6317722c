//! Claims in words.

use tollway_core::{Figured, Metric, Quantity, Series};

use crate::bill::words::signless;
use crate::document::{ClaimDocument, ClaimVerdict, Span};
use crate::number::rate;

/// What is measured, as `filter + copy 1 of before / before`.
pub(super) fn metric(metric: &Metric) -> String {
    match metric {
        Metric::Value(of) => quantity(of),
        Metric::Ratio { of, to } => format!("{} / {}", quantity(of), quantity(to)),
        Metric::Bend(of) => format!("bend of {}", series(of)),
        Metric::Rank(of) => format!("rank correlation of {}", series(of)),
        Metric::Crossover(of) => {
            format!("the {} from which on {} is below {}", of.axis, quantity(&of.of), quantity(&of.below))
        }
        Metric::None(_) => "–".into(),
    }
}

/// The last value of a crossover's axis: a figure beyond it says that it was not reached.
pub(super) fn last_step(metric: &Metric) -> Option<f64> {
    match metric {
        Metric::Crossover(of) => of.each.last().map(|(x, ..)| *x),
        _ => None,
    }
}

fn series(series: &Series) -> String {
    format!("{} along {}", quantity(&series.of), series.axis)
}

fn quantity(of: &Quantity) -> String {
    let at = of.at.to_string();
    let point = if at.is_empty() { of.variant.clone() } else { format!("{} {at}", of.variant) };
    let mut text = match (&of.visit, &of.counter, &of.per) {
        (Some(gate), ..) => format!("a {gate} of {point}"),
        (None, Some(counter), Some(per)) => format!("{counter} for each of {per} of {point}"),
        (None, Some(counter), None) => format!("{counter} of {point}"),
        (None, None, _) if !of.gates.is_empty() => format!("{} of {point}", of.gates.join(" + ")),
        (None, None, _) => point,
    };
    match of.what {
        Figured::Cost => {}
        Figured::Pace => text = format!("pace of {text}"),
        Figured::Response => text = format!("response of {text}"),
        Figured::Predicted => text = format!("what was predicted of {text}"),
        Figured::Rate => text = format!("rate of {text}"),
        Figured::Unevenness => text = format!("fastest / slowest tenant of {text}"),
    }
    for gate in &of.without {
        text += &format!(" without {gate}");
    }
    match &of.less {
        Some(less) => format!("({text} − {})", quantity(less)),
        None => text,
    }
}

/// Why a claim that was measured has its verdict.
pub(super) fn why(verdict: ClaimVerdict, measured: Option<Span>, least: f64, most: f64) -> String {
    let range = range(least, most);
    match (verdict, measured) {
        (ClaimVerdict::Reproduced, _) => format!("all of the interval is {range}"),
        (ClaimVerdict::Expired, Some(span)) if span.hi < least => format!("below {}", signless(least)),
        (ClaimVerdict::Expired, _) => format!("above {}", signless(most)),
        _ => format!("only part of the interval is {range}"),
    }
}

/// Where a figure has to be: `from 3.10 to 5.00`, `at least 0.900`.
fn range(least: f64, most: f64) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, true) => format!("from {} to {}", signless(least), signless(most)),
        (true, false) => format!("at least {}", signless(least)),
        _ => format!("at most {}", signless(most)),
    }
}

/// What the claim demands of its figure; empty where it demands nothing.
pub(super) fn demanded(claim: &ClaimDocument) -> String {
    match (claim.at_least, claim.at_most) {
        (None, None) => String::new(),
        (least, most) => range(least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY)),
    }
}

/// How many there are of each verdict: `7 reproduced, 5 expired`.
pub(super) fn tally<'a>(claims: impl Iterator<Item = &'a ClaimDocument> + Clone) -> String {
    let of = |verdict: ClaimVerdict| {
        let n = claims.clone().filter(|c| c.verdict == verdict).count();
        (n > 0).then(|| format!("{n} {}", verdict.title()))
    };
    ClaimVerdict::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

/// What was predicted, what was measured, and its interval; dashes where there is none. Of a crossover a figure beyond its last value
/// is said to be.
pub(super) fn figures(claim: &ClaimDocument) -> [String; 3] {
    let said = |x: f64| match claim.last_step {
        Some(last) if x > last => format!("> {}", signless(last)),
        _ => signless(x),
    };
    let full = |x: f64| match claim.unit.as_deref() {
        // 12 k c, as 12 kB/s.
        Some(unit) => rate(x, unit),
        None => said(x),
    };
    let predicted = claim.predicted.map_or("–".into(), full);
    match claim.measured {
        Some(Span { estimate, lo, hi }) => {
            [predicted, full(estimate), format!("[{}, {}]", said(lo), said(hi))]
        }
        None => [predicted, "–".into(), String::new()],
    }
}

/// A text as a sentence of its own.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '?', '!']) { text.into() } else { format!("{text}.") }
}

/// The command by which a run was made, as a person would give it again: this program by its name alone.
pub(super) fn command(argv: &[String]) -> String {
    let name = |program: &String| program.rsplit('/').next().unwrap_or_default().to_string();
    let quoted = |word: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/%+@".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    argv.iter().take(1).map(name).chain(argv.iter().skip(1).map(quoted)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_given_again_and_names_no_folder() {
        let argv = |words: &[&str]| command(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>());
        assert_eq!(argv(&["/home/me/target/release/tollway", "reproduce"]), "tollway reproduce");
        assert_eq!(
            argv(&["tollway", "reproduce", "--page", "it's.md"]),
            r"tollway reproduce --page 'it'\''s.md'"
        );
        assert_eq!(argv(&[]), "");
    }

    #[test]
    fn what_is_no_sentence_yet_becomes_one() {
        assert_eq!([sentence("yes"), sentence("Yes. "), sentence("why?")], ["yes.", "Yes.", "why?"]);
    }
}
