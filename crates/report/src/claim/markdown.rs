//! Claims as the page REPRODUCTION.md.

use super::words::{demanded, figures, tally};
use crate::document::{ClaimDocument, ReproductionDocument};
use crate::markdown::escaped;
use crate::number::share_of;

pub(super) fn reproduction(document: &ReproductionDocument, machine: &[String]) -> String {
    let run = &document.run;
    let mut out = format!(
        "# Reproduction\n\nWhat was published, what was predicted from tolls before it was measured, what was measured, and \
         what has become of each claim. Written by `tollway reproduce`.\n\n{} · {} · Tollway {} · seed {} · run {} ({}), {} trials, {} of them quiet\n",
        run.started.strftime("%Y-%m-%d"),
        escaped(&machine.join(" · ")),
        escaped(&run.version),
        run.seed,
        run.id,
        escaped(&run.state),
        document.quality.trials,
        share_of(document.quality.quiet, document.quality.trials),
    );
    out += "\nA claim is a hypothesis. It is *reproduced* where all of the measured interval (95 %) lies where the claim \
            says, *expired* where none of it does, *not separable* where part of it does, and *not testable here* where \
            something lacks.\n";
    for path in &document.paths {
        out += &format!("\n## {}: {}\n\n", escaped(&path.path), tally(path.claims.iter()));
        out += "| claim | published | predicted | measured | 95 % interval | verdict |\n|---|---|--:|--:|---|---|\n";
        for claim in &path.claims {
            out += &row(claim);
        }
        for claim in &path.claims {
            out += &detail(claim);
        }
        if !path.conditions.is_empty() {
            out += "\n### What the source leaves open, and what is different here\n\n";
            for condition in &path.conditions {
                out += &format!("- {}\n", escaped(condition));
            }
        }
    }
    out
}

fn row(claim: &ClaimDocument) -> String {
    let [predicted, measured, ends] = figures(claim);
    format!(
        "| {} | {} | {} | {} | {} | {} |\n",
        escaped(&claim.id),
        escaped(&claim.published),
        predicted,
        measured,
        ends,
        claim.verdict.title(),
    )
}

fn detail(claim: &ClaimDocument) -> String {
    let mut out = format!("\n**{}** {}\n", escaped(&claim.id), escaped(&claim.says));
    out += &format!("Source: {} ({}).", escaped(&claim.source), claim.provenance);
    let demanded = demanded(claim);
    if !demanded.is_empty() {
        out += &format!(" Tested by: {} (preset `{}`), {demanded}.", escaped(&claim.metric), claim.preset);
    }
    out + &format!(
        " Expected: {} Verdict: {}: {}.\n",
        escaped(&claim.expected),
        claim.verdict.title(),
        escaped(&claim.why)
    )
}
