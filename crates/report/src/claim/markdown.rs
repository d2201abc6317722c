//! Claims as the page REPRODUCTION.md: what has become of them in a table, how it was made, and every claim by itself.

use super::words::{command, demanded, figures, sentence, tally};
use crate::document::{
    ClaimDocument, ClaimVerdict, PathClaimsDocument, ReproductionDocument, TestingRunDocument,
};
use crate::markdown::escaped;
use crate::number::share_of;

/// What a reader has to know of the tables.
const HOW_TO_READ: &str = "\
A claim is a hypothesis; that it has expired is a result. By the 95 % interval of what was measured it is\n\
\n\
- *reproduced* where all of the interval lies where the claim says,\n\
- *expired* where none of it does,\n\
- *not separable* where part of it does: more trials, or a quieter machine, would tell,\n\
- *not testable here* where something lacks; what, stands under the table.\n\
\n\
*Published* is the source's figure in the source's unit. *Predicted* was reckoned from tolls and written down before the trials\n\
that it speaks of; – where nothing was. *Measured* is the figure that tests the claim, most often a ratio: which, and where it has\n\
to lie, stands under the table, with the source and with what was expected before anything was measured. `c` is a tick of the\n\
time-stamp counter; k, M and G are thousands, millions and billions.\n";

pub(super) fn reproduction(document: &ReproductionDocument, machines: &[Vec<String>]) -> String {
    let mut out = String::from(
        "# Reproduction\n\nWhat was published, what was predicted before it was measured, what was measured, and what has become \
         of each claim. Written by `tollway reproduce`.\n\n",
    );
    out += &summary(&document.paths);
    out += "\n## How to read it\n\n";
    out += HOW_TO_READ;
    out += "\n## How it was made\n\n";
    for (run, machine) in document.runs.iter().zip(machines) {
        out += &made(run, machine);
    }
    for path in &document.paths {
        out += &section(path, document.runs.len() > 1);
    }
    out
}

/// How many claims of each path have become what.
fn summary(paths: &[PathClaimsDocument]) -> String {
    let heads = ClaimVerdict::ALL.map(ClaimVerdict::title).join(" | ");
    let mut out = format!("| path | claims | {heads} |\n|---|--:|--:|--:|--:|--:|\n");
    let row = |name: &str, claims: &[&ClaimDocument]| {
        let of = |verdict| claims.iter().filter(|c| c.verdict == verdict).count().to_string();
        format!("| {name} | {} | {} |\n", claims.len(), ClaimVerdict::ALL.map(of).join(" | "))
    };
    for path in paths {
        let name = escaped(&path.path);
        out += &row(&format!("[{name}](#{name})"), &path.claims.iter().collect::<Vec<_>>());
    }
    if paths.len() > 1 {
        out += &row("all", &paths.iter().flat_map(|path| &path.claims).collect::<Vec<_>>());
    }
    out
}

/// Which run it is: by which command, when, how long, on what machine, and how quiet that was.
fn made(of: &TestingRunDocument, machine: &[String]) -> String {
    let run = &of.run;
    let took = run.ended.map(|ended| (ended.as_second() - run.started.as_second()).max(0));
    let took = took.map(|seconds| match seconds {
        0..=119 => format!(" in {seconds} s"),
        _ => format!(" in {} minutes", (seconds + 30) / 60),
    });
    format!(
        "    {}\n\nRun {} ({}), {}{}: Tollway {}, seed {}, {} trials, {} of them quiet.\nMachine: {}.\n\n",
        command(&run.argv),
        run.id,
        escaped(&run.state),
        run.started.strftime("%Y-%m-%d"),
        took.unwrap_or_default(),
        escaped(&run.version),
        run.seed,
        of.quality.trials,
        share_of(of.quality.quiet, of.quality.trials),
        escaped(&machine.join(" · ")),
    )
}

fn section(path: &PathClaimsDocument, several_runs: bool) -> String {
    let (name, count) = (escaped(&path.path), path.claims.len());
    let claims = if count == 1 { "1 claim".into() } else { format!("{count} claims") };
    let mut out = format!("\n## {name}\n\n{claims}: {}.", tally(path.claims.iter()));
    if several_runs {
        let mut runs: Vec<i64> = path.claims.iter().filter_map(|claim| claim.run).collect();
        runs.sort_unstable();
        runs.dedup();
        let runs: Vec<String> = runs.iter().map(i64::to_string).collect();
        out += &format!(" Measured by run {}.", runs.join(" and "));
    }
    out += "\n\n| claim | published | predicted | measured | 95 % interval | verdict |\n|---|---|--:|--:|---|---|\n";
    for claim in &path.claims {
        out += &row(claim);
    }
    if !path.conditions.is_empty() {
        out += "\n### What the source leaves open, and what is different here\n\n";
        for condition in &path.conditions {
            out += &format!("- {}\n", escaped(condition));
        }
    }
    out += "\n### Each claim\n";
    for claim in &path.claims {
        out += &detail(claim);
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
        " Expected: {} Verdict: {}: {}\n",
        sentence(&escaped(&claim.expected)),
        claim.verdict.title(),
        sentence(&escaped(&claim.why))
    )
}
