//! Comparisons: two runs of the store, or two sides of one run, and what may be said of every figure they share.

pub(crate) mod differences;
mod match_points;
mod proof;
pub(crate) mod sides;
pub(crate) mod words;

use tollway_stats::{Criteria, Direction, Ratio, Verdict, judge_all};
use tollway_store::{PointRecord, Run, RunId, Store};

pub use proof::Proof;
pub use words::terminal;

use crate::document::{
    ComparedDocument, ComparedRates, ComparisonDocument, Estimate, OnlyIn, Range, RatioDocument,
    SCHEMA_VERSION, SideDocument, Span, VerdictDocument, rate,
};
use crate::price_list::QUIET_ENOUGH;
use crate::{ReportError, Result};
use match_points::Matched;

/// Share of intervals that hold the true value.
const CONFIDENCE: f64 = 0.95;

/// A comparison of A with B: how much dearer is B?
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    document: ComparisonDocument,
}

impl Comparison {
    /// Compares run `b` with run `a`, unpaired: what drifted between the runs is part of every ratio.
    ///
    /// # Errors
    /// Where the store has no such run, and on criteria that are not usable.
    pub fn of_runs(store: &Store, a: RunId, b: RunId, criteria: Criteria) -> Result<Comparison> {
        let (a, b) = (store.record(a)?, store.record(b)?);
        let side = |run: &Run| SideDocument { label: format!("run {}", run.id), ..side_of(run) };
        let (side_a, side_b) = (side(&a.run), side(&b.run));
        let matched = match_points::by_identity(&a.points, &b.points);
        let mut notes = vec![unpaired_note(&a.run, &b.run)];
        let other_host = !crate::history::same_machine(&a.run.spec.fingerprint, &b.run.spec.fingerprint);
        if a.run.spec.machine != b.run.spec.machine || other_host {
            notes.push(
                "The runs are of different machines: a ratio compares the machines as much as the programs."
                    .into(),
            );
        }
        let hz = [a.run.spec.hz, b.run.spec.hz];
        let ratios = matched.both.iter().map(|(a, b)| sides::unpaired(a, b, hz)).collect();
        let mut comparison =
            Comparison::put_together(side_a, side_b, "unpaired", &matched, hz, ratios, criteria)?;
        let differences = differences::between(&a.run.spec.fingerprint, &b.run.spec.fingerprint);
        comparison.document.machine_differences = differences;
        comparison.document.notes.splice(0..0, notes);
        Ok(comparison)
    }

    /// Compares side `sides[1]` of a run with side `sides[0]`, paired over blocks: what drifts for both cancels.
    ///
    /// # Errors
    /// Where the store has no such run or the run no such side, and on criteria that are not usable.
    pub fn of_sides(store: &Store, run: RunId, sides: [&str; 2], criteria: Criteria) -> Result<Comparison> {
        let record = store.record(run)?;
        let labels = &record.run.spec.sides;
        for side in sides {
            if !labels.iter().any(|label| label == side) {
                let remedy = match labels.as_slice() {
                    [] => "it compares nothing; give two runs".into(),
                    labels => format!("it has {}", labels.join(", ")),
                };
                return Err(ReportError::NoSide { run, side: side.into(), remedy });
            }
        }
        let [a, b] = sides.map(|side| {
            let of_side = |p: &&PointRecord| p.point.spec.side.as_deref() == Some(side);
            record.points.iter().filter(of_side).cloned().collect::<Vec<_>>()
        });
        let [side_a, side_b] = sides.map(|side| SideDocument { label: side.into(), ..side_of(&record.run) });
        let matched = match_points::by_turns(&a, &b);
        let ratios = matched.both.iter().map(|(a, b)| sides::paired(a, b)).collect();
        let hz = [record.run.spec.hz; 2];
        Comparison::put_together(side_a, side_b, "paired", &matched, hz, ratios, criteria)
    }

    fn put_together(
        a: SideDocument,
        b: SideDocument,
        pairing: &str,
        matched: &Matched<'_>,
        hz: [f64; 2],
        ratios: Vec<sides::Outcome>,
        criteria: Criteria,
    ) -> Result<Comparison> {
        let direction = |(a, b): &(&PointRecord, &PointRecord)| match sides::by_rate(a, b) {
            true => Direction::HigherIsBetter,
            false => Direction::LowerIsBetter,
        };
        let all: Vec<_> = matched
            .both
            .iter()
            .zip(&ratios)
            .filter_map(|(both, outcome)| Some((both, *outcome.ratio.as_ref().ok()?)))
            .map(|(both, ratio)| tollway_stats::Comparison { ratio, direction: direction(both) })
            .collect();
        let mut judgements = judge_all(&all, criteria)?.into_iter();
        let mut figures = Vec::new();
        for ((a, b), outcome) in matched.both.iter().zip(ratios) {
            let (ratio, why) = match outcome.ratio {
                Ok(ratio) => {
                    let judgement = judgements.next().expect("every ratio was judged");
                    (Some(ratio_document(&ratio, &judgement)?), None)
                }
                Err(why) => (None, Some(why)),
            };
            figures.push(compared([a, b], hz, (ratio, why), outcome.trials, outcome.pairs));
        }
        let only = |points: &[&PointRecord], side: &SideDocument| -> Vec<OnlyIn> {
            points
                .iter()
                .map(|p| &p.point.spec)
                .map(|p| OnlyIn {
                    side: side.label.clone(),
                    path: p.path.clone(),
                    variant: p.variant.clone(),
                    title: p.title.clone(),
                })
                .collect()
        };
        let document = ComparisonDocument {
            schema_version: SCHEMA_VERSION,
            pairing: pairing.into(),
            margin: criteria.margin,
            false_discovery_rate: criteria.false_discovery_rate,
            notes: words::notes(&figures),
            machine_differences: Vec::new(),
            only: [only(&matched.only_a, &a), only(&matched.only_b, &b)].concat(),
            figures,
            a,
            b,
        };
        Ok(Comparison { document })
    }

    /// Everything that the comparison says.
    pub fn document(&self) -> &ComparisonDocument {
        &self.document
    }

    /// The figures that are worse by more than `threshold` (a share: 0.05 is 5 %): shown to be worse among all figures
    /// judged together, and estimated beyond the threshold. A gate that lets a change through asks for none of these.
    pub fn beyond(&self, threshold: f64) -> Vec<&ComparedDocument> {
        let rate = self.document.false_discovery_rate;
        let is_beyond = |figure: &&ComparedDocument| {
            figure
                .dearer()
                .is_some_and(|(ratio, q)| q <= rate && ratio.lo > 1.0 && ratio.estimate > 1.0 + threshold)
        };
        self.document.figures.iter().filter(is_beyond).collect()
    }

    /// The comparison for a terminal of `width` columns; `None` where the output is no terminal.
    pub fn terminal(&self, width: Option<usize>) -> String {
        words::terminal(&self.document, width)
    }

    /// The document as JSON, with a newline at the end.
    ///
    /// # Errors
    /// None that stored runs can bring about.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(&self.document)? + "\n")
    }

    /// The comparison as Markdown.
    pub fn markdown(&self) -> String {
        crate::markdown::comparison(&self.document)
    }
}

fn side_of(run: &Run) -> SideDocument {
    SideDocument {
        label: String::new(),
        run: run.id.0,
        title: run.spec.title.clone(),
        started: run.spec.started,
        version: run.spec.version.clone(),
        machine: run.spec.machine.clone(),
    }
}

fn unpaired_note(a: &Run, b: &Run) -> String {
    let day = |run: &Run| run.spec.started.strftime("%Y-%m-%d").to_string();
    let of = if day(a) == day(b) { "two runs" } else { "runs of different days" };
    format!(
        "These are {of}, compared unpaired: what drifted between them (neighbours, kernel, temperature) is part of every \
         ratio. To separate small changes, measure both sides in one run."
    )
}

/// A ratio and its judgement as a document has them.
pub(crate) fn ratio_document(ratio: &Ratio, judgement: &tollway_stats::Judgement) -> Result<RatioDocument> {
    let interval = ratio.interval(CONFIDENCE)?;
    Ok(RatioDocument {
        b_over_a: Span { estimate: interval.estimate, lo: interval.lo, hi: interval.hi },
        confidence: interval.confidence,
        verdict: match judgement.verdict {
            Verdict::Same => VerdictDocument::Same,
            Verdict::Better => VerdictDocument::Better,
            Verdict::Worse => VerdictDocument::Worse,
            Verdict::NotSeparable => VerdictDocument::NotSeparable,
        },
        p_different: judgement.p_different,
        q_different: judgement.q_different,
        p_same: judgement.p_same,
        q_same: judgement.q_same,
        blocks: u32::try_from(ratio.log.units).unwrap_or(u32::MAX),
    })
}

/// The headline rates of both.
fn rates(a: &PointRecord, b: &PointRecord) -> Option<ComparedRates> {
    let [a, b] = [a, b].map(|p| rate::of(p).into_iter().next().filter(|_| sides::usable(p).is_ok()));
    let unit = a.as_ref().or(b.as_ref())?.unit.clone();
    Some(ComparedRates { unit, a: a.map(|r| r.per_second), b: b.map(|r| r.per_second) })
}

fn compared(
    [a, b]: [&PointRecord; 2],
    hz: [f64; 2],
    (ratio, why): (Option<RatioDocument>, Option<String>),
    trials: [u32; 2],
    pairs: Option<Range>,
) -> ComparedDocument {
    let spec = &a.point.spec;
    let median = |p: &PointRecord, hz| {
        let figure = p.figure.as_ref().filter(|_| sides::usable(p).is_ok());
        figure.and_then(|f| f.median).map(|i| Estimate::of_ticks(&i, hz))
    };
    let measured = || a.measured.iter().chain(&b.measured);
    let all = measured().count();
    let quiet_share = (all > 0).then(|| measured().filter(|t| t.quiet).count() as f64 / all as f64);
    ComparedDocument {
        path: spec.path.clone(),
        variant: spec.variant.clone(),
        params: spec.params.iter().map(|(axis, value)| (axis.into(), value.clone())).collect(),
        toll: spec.toll.clone(),
        boundary: spec.boundary,
        title: spec.title.clone(),
        a: median(a, hz[0]),
        b: median(b, hz[1]),
        rates: sides::by_rate(a, b).then(|| rates(a, b)).flatten(),
        ratio,
        why,
        pairs,
        trials,
        quiet_share,
        noise: match quiet_share {
            Some(share) if share < QUIET_ENOUGH => measured().find_map(|t| t.noise.clone()),
            _ => None,
        },
    }
}
