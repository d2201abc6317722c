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
};

/// What has become of claims, by the trials of one run.
pub struct Reproduction {
    document: ReproductionDocument,
    /// The machine in short parts.
    machine: Vec<String>,
}

impl Reproduction {
    /// Holds claims against a run: by path, each list [complete](Claim::complete).
    ///
    /// # Errors
    /// Where the store cannot be read or has no such run.
    pub fn from_store(store: &Store, run: RunId, claims: &[(String, Claims)]) -> Result<Reproduction> {
        let record = RunDocument::of(&store.record(run)?);
        let points = measured::points(store, run)?;
        let mut measured = Measured::of(store, &points);
        let mut paths = Vec::new();
        for (path, of_path) in claims {
            let claims =
                of_path.claim.iter().map(|c| document(path, c, &mut measured)).collect::<Result<_>>()?;
            paths.push(PathClaimsDocument {
                path: path.clone(),
                conditions: of_path.conditions.clone(),
                claims,
            });
        }
        let machine = crate::machine::summary(&record);
        let RunDocument { run, machine: of_run, quality, .. } = record;
        let document =
            ReproductionDocument { schema_version: SCHEMA_VERSION, run, machine: of_run, quality, paths };
        Ok(Reproduction { document, machine })
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
        markdown::reproduction(&self.document, &self.machine)
    }
}

fn document(path: &str, claim: &Claim, measured: &mut Measured<'_>) -> Result<ClaimDocument> {
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
        metric: words::metric(&claim.metric),
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
