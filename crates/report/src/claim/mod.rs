//! Claims against what a run measured: the verdicts, as a document and in the forms that people read.

mod markdown;
mod measured;
mod terminal;
mod words;

use tollway_core::{Claim, Claims};
use tollway_store::{RunId, Store};

use self::measured::Measured;
use crate::Result;
use crate::document::{
    ClaimDocument, ClaimVerdict, PathClaimsDocument, ReproductionDocument, RunDocument, SCHEMA_VERSION, Span,
    TestingRunDocument,
};

/// What has become of claims, by the trials of runs.
#[derive(Debug)]
pub struct Reproduction {
    document: ReproductionDocument,
    /// The machine of each run in short parts.
    machines: Vec<Vec<String>>,
}

impl Reproduction {
    /// Holds claims against runs, each claim against the last of them that measured all that it needs: by path, each list
    /// [complete](Claim::complete).
    ///
    /// # Errors
    /// Where the store cannot be read or has no such run.
    pub fn from_store(store: &Store, runs: &[RunId], claims: &[(String, Claims)]) -> Result<Reproduction> {
        let (mut machines, mut heads, mut points) = (Vec::new(), Vec::new(), Vec::new());
        for run in runs {
            let record = RunDocument::of(&store.record(*run)?);
            machines.push(crate::machine::summary(&record));
            let RunDocument { run: head, machine, quality, .. } = record;
            heads.push(TestingRunDocument { run: head, machine, quality });
            points.push(measured::points(store, *run)?);
        }
        let mut measured: Vec<Measured<'_>> =
            points.iter().zip(&heads).map(|(points, of)| Measured::of(store, points, of.run.hz)).collect();
        let mut paths = Vec::new();
        for (path, of_path) in claims {
            let mut claims = Vec::new();
            for claim in &of_path.claim {
                // One that none of them measured is held against the last that tried, which says what lacks.
                let by = measured
                    .iter()
                    .rposition(|run| run.measured(path, claim))
                    .or_else(|| measured.iter().rposition(|run| run.tried(path, claim)))
                    .or(measured.len().checked_sub(1));
                let tested = by.filter(|_| claim.relation.is_some()).map(|by| heads[by].run.id);
                if let Some(measured) = by.and_then(|by| measured.get_mut(by)) {
                    claims.push(document(path, claim, tested, measured)?);
                }
            }
            let (path, conditions) = (path.clone(), of_path.conditions.clone());
            paths.push(PathClaimsDocument { path, conditions, claims });
        }
        let document = ReproductionDocument { schema_version: SCHEMA_VERSION, runs: heads, paths };
        Ok(Reproduction { document, machines })
    }

    /// Everything that it says.
    pub fn document(&self) -> &ReproductionDocument {
        &self.document
    }

    /// A table for a terminal of `width` columns, or unwrapped.
    pub fn terminal(&self, width: Option<usize>) -> String {
        terminal::reproduction(&self.document, width)
    }

    /// The page REPRODUCTION.md.
    pub fn markdown(&self) -> String {
        markdown::reproduction(&self.document, &self.machines)
    }
}

fn document(
    path: &str,
    claim: &Claim,
    run: Option<i64>,
    measured: &mut Measured<'_>,
) -> Result<ClaimDocument> {
    let found = measured.metric(path, &claim.metric)?;
    let (least, most) = claim.relation.map_or((f64::NEG_INFINITY, f64::INFINITY), |r| r.range());
    let span = found.as_ref().ok().map(|i| Span { estimate: i.estimate, lo: i.lo, hi: i.hi });
    let verdict = span.map_or(ClaimVerdict::NotTestable, |span| verdict(span, least, most));
    Ok(ClaimDocument {
        id: format!("{path}.{}", claim.id),
        says: claim.says.clone(),
        source: claim.source.clone(),
        provenance: claim.provenance.title().into(),
        published: claim.published.clone(),
        expected: claim.expected.clone(),
        preset: claim.preset.clone(),
        run,
        metric: words::metric(&claim.metric),
        unit: measured.unit(path, &claim.metric),
        at_least: least.is_finite().then_some(least),
        at_most: most.is_finite().then_some(most),
        predicted: measured.predicted(path, &claim.metric)?,
        measured: span,
        last_step: words::last_step(&claim.metric),
        verdict,
        why: found.err().unwrap_or_else(|| words::why(verdict, span, least, most)),
    })
}

/// Whether the whole interval, no part of it or some of it lies in the range.
fn verdict(measured: Span, least: f64, most: f64) -> ClaimVerdict {
    if measured.lo >= least && measured.hi <= most {
        ClaimVerdict::Reproduced
    } else if measured.hi < least || measured.lo > most {
        ClaimVerdict::Expired
    } else {
        ClaimVerdict::NotSeparable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let of = |lo, hi| verdict(Span { estimate: 0.5 * (lo + hi), lo, hi }, 3.1, 5.0);
        assert_eq!(of(3.1, 5.0), ClaimVerdict::Reproduced);
        assert_eq!(of(5.1, 7.0), ClaimVerdict::Expired);
        assert_eq!(of(1.0, 3.0), ClaimVerdict::Expired);
        assert_eq!(of(4.0, 5.1), ClaimVerdict::NotSeparable);
        assert_eq!(of(2.0, 6.0), ClaimVerdict::NotSeparable);
        let at_least = |lo, hi| verdict(Span { estimate: lo, lo, hi }, 0.9, f64::INFINITY);
        assert_eq!(at_least(1.0, 1.0), ClaimVerdict::Reproduced);
    }
}
