//! What `tollway fit` answers, as a document: the text is made from it. Base units; null where nothing is known.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tollway_model::fit::{Coalescing, Counted, Counters, Estimate, FamilyVerdict, Fit, Judged};

use super::against::CheckDocument;
use crate::figure;

/// All that a trace, or counters, say.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FitDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// The file; null where counters were given.
    pub trace: Option<String>,
    /// Customers seen.
    pub customers: u64,
    /// Servers reckoned with.
    pub servers: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Figures by their flat name.
    pub estimates: BTreeMap<String, EstimateDocument>,
    /// Tests by what they are against: `gap.independence`, `service.stationarity`.
    pub tests: BTreeMap<String, TestDocument>,
    /// Families of gaps, then of services: what is left first, the likeliest first.
    pub families: Vec<FamilyDocument>,
    /// How completions are told.
    pub coalescing: Option<CoalescingDocument>,
    /// The model of how they are told: its mean and 99th percentile are those of the delay.
    pub delivery: Option<ModelVerdictDocument>,
    /// Models of the queue: what is left first, the simplest first.
    pub models: Vec<ModelVerdictDocument>,
    /// The command that asks the first model that has an answer; null where none has.
    pub command: Option<String>,
    /// How a prediction made before did; null where none was given.
    pub check: Option<CheckDocument>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Names of figures, in the order in which a person reads them.
    #[serde(skip)]
    pub(super) order: Vec<(String, tollway_model::Unit)>,
}

/// A figure and its 95 % interval.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EstimateDocument {
    /// The figure.
    pub value: f64,
    /// Lower end of its interval; null where too little was seen.
    pub lo: Option<f64>,
    /// Upper end of its interval; null where too little was seen.
    pub hi: Option<f64>,
    /// The unit of all three: `seconds`, `per-second`, `share`, `ratio`.
    pub unit: String,
}

/// A test.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TestDocument {
    /// Its p-value.
    pub p: f64,
    /// The same, adjusted for all of these tests.
    pub q: f64,
    /// Whether it is rejected: q is 0.05 or less.
    pub rejected: bool,
}

/// A family of distributions.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FamilyDocument {
    /// `gap` or `service`.
    pub of: String,
    /// Its name.
    pub family: String,
    /// Whether it is rejected, or cannot be.
    pub rejected: bool,
    /// Why it cannot be; null where it was fitted.
    pub why_not: Option<String>,
    /// Its likeliest member, as models read it.
    pub distribution: Option<String>,
    /// Logarithm of the likelihood; null for a constant.
    pub log_likelihood: Option<f64>,
    /// Akaike's criterion.
    pub aic: Option<f64>,
    /// Schwarz's criterion.
    pub bic: Option<f64>,
    /// Kolmogorov–Smirnov distance, 0 to 1.
    pub ks: Option<f64>,
    /// Its p-value.
    pub ks_p: Option<f64>,
    /// Anderson–Darling statistic; null where it is infinite.
    pub ad: Option<f64>,
    /// Its p-value.
    pub ad_p: Option<f64>,
    /// The same, adjusted for all families of the series; 0.05 or less rejects.
    pub q: Option<f64>,
    /// cv² of the member less that of the trace.
    pub scv_off: Option<f64>,
    /// What that does to a predicted mean wait, as a share of it.
    pub wait_off: Option<f64>,
}

/// How completions are told.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CoalescingDocument {
    /// Interrupts.
    pub interrupts: u64,
    /// Interrupts per second.
    pub rate: f64,
    /// Lower end of its 95 % interval; null where too little was seen.
    pub rate_lo: Option<f64>,
    /// Upper end of its 95 % interval; null where too little was seen.
    pub rate_hi: Option<f64>,
    /// Completions told by one, on average.
    pub batch_mean: f64,
    /// Lower end of its 95 % interval; null where too little was seen.
    pub batch_mean_lo: Option<f64>,
    /// Upper end of its 95 % interval; null where too little was seen.
    pub batch_mean_hi: Option<f64>,
    /// Interrupts by how many completions they told: entry i told i + 1.
    pub sizes: Vec<u64>,
    /// Completions after which an interrupt comes at once; null where none was seen.
    pub count: Option<u32>,
    /// The longest that the first completion is held, seconds; null where none was seen.
    pub timer: Option<f64>,
    /// Lower end of its 95 % interval.
    pub timer_lo: Option<f64>,
    /// Upper end of its 95 % interval.
    pub timer_hi: Option<f64>,
    /// Interrupts per second that are never exceeded; null where none was seen.
    pub cap: Option<f64>,
    /// Interrupts come at multiples of this only, seconds; null where none was seen.
    pub period: Option<f64>,
    /// Share of interrupts that these explain.
    pub explained: f64,
}

/// A model and what the trace says of it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelVerdictDocument {
    /// Its name in the catalogue.
    pub model: String,
    /// Its name in the field.
    pub title: String,
    /// Whether the trace contradicts it.
    pub rejected: bool,
    /// By what.
    pub reasons: Vec<String>,
    /// p-value against all that it takes for granted.
    pub p: f64,
    /// The same, adjusted for all models; 0.05 or less rejects.
    pub q: f64,
    /// Mean response that it predicts, seconds.
    pub predicted_mean: Option<f64>,
    /// Prediction over what was seen, less 1.
    pub mean_off: Option<f64>,
    /// 99th percentile of the response that it predicts, seconds.
    pub predicted_p99: Option<f64>,
    /// Prediction over what was seen, less 1.
    pub p99_off: Option<f64>,
    /// The command that asks it; null where it has no answer, as where no steady state is.
    pub command: Option<String>,
}

impl FitDocument {
    pub(super) fn of_trace(file: &Path, fit: &Fit) -> Self {
        let test = |t: &tollway_model::fit::Test| {
            (t.name.clone(), TestDocument { p: t.p, q: t.q, rejected: t.rejected })
        };
        FitDocument {
            trace: Some(file.display().to_string()),
            customers: fit.customers as u64,
            servers: fit.servers,
            seed: fit.seed,
            tests: fit.tests.iter().map(test).collect(),
            families: fit.families.iter().map(FamilyDocument::of).collect(),
            coalescing: fit.coalescing.as_ref().map(CoalescingDocument::of),
            delivery: fit.delivery.as_ref().map(ModelVerdictDocument::of),
            models: fit.models.iter().map(ModelVerdictDocument::of).collect(),
            command: fit.command.clone(),
            notes: fit.notes.clone(),
            ..Self::of_estimates(&fit.estimates)
        }
    }

    pub(super) fn of_counters(counters: &Counters, counted: &Counted, seed: u64) -> Self {
        FitDocument {
            customers: counters.arrivals,
            servers: counters.servers,
            seed,
            command: counted.command.clone(),
            notes: counted.notes.clone(),
            ..Self::of_estimates(&counted.estimates)
        }
    }

    fn of_estimates(estimates: &[Estimate]) -> Self {
        let document = |e: &Estimate| {
            let Estimate { value, lo, hi, unit, .. } = e;
            let unit = figure::unit(*unit).into();
            (e.name.clone(), EstimateDocument { value: *value, lo: *lo, hi: *hi, unit })
        };
        FitDocument {
            schema_version: 1,
            trace: None,
            customers: 0,
            servers: 1,
            seed: 0,
            estimates: estimates.iter().map(document).collect(),
            tests: BTreeMap::new(),
            families: Vec::new(),
            coalescing: None,
            delivery: None,
            models: Vec::new(),
            command: None,
            check: None,
            notes: Vec::new(),
            order: estimates.iter().map(|e| (e.name.clone(), e.unit)).collect(),
        }
    }
}

impl FamilyDocument {
    fn of(verdict: &FamilyVerdict) -> Self {
        let fitted = verdict.fitted.as_ref();
        FamilyDocument {
            of: verdict.of.into(),
            family: verdict.family.name().into(),
            rejected: verdict.rejected,
            why_not: verdict.why_not.clone(),
            distribution: fitted.map(|f| f.distribution.short()),
            log_likelihood: fitted.and_then(|f| f.log_likelihood),
            aic: fitted.and_then(|f| f.aic),
            bic: fitted.and_then(|f| f.bic),
            ks: fitted.map(|f| f.ks),
            ks_p: fitted.map(|f| f.ks_p),
            ad: fitted.and_then(|f| f.ad),
            ad_p: fitted.map(|f| f.ad_p),
            q: verdict.q,
            scv_off: verdict.scv_off,
            wait_off: verdict.wait_off,
        }
    }
}

impl CoalescingDocument {
    fn of(found: &Coalescing) -> Self {
        CoalescingDocument {
            interrupts: found.interrupts,
            rate: found.rate,
            rate_lo: found.rate_interval.map(|i| i.0),
            rate_hi: found.rate_interval.map(|i| i.1),
            batch_mean: found.batch_mean,
            batch_mean_lo: found.batch_interval.map(|i| i.0),
            batch_mean_hi: found.batch_interval.map(|i| i.1),
            sizes: found.sizes.clone(),
            count: found.count,
            timer: found.timer.map(|t| t.seconds),
            timer_lo: found.timer.map(|t| t.lo),
            timer_hi: found.timer.map(|t| t.hi),
            cap: found.cap,
            period: found.period,
            explained: found.explained,
        }
    }
}

impl ModelVerdictDocument {
    fn of(judged: &Judged) -> Self {
        ModelVerdictDocument {
            model: judged.model.into(),
            title: judged.title.into(),
            rejected: judged.rejected,
            reasons: judged.reasons.clone(),
            p: judged.p,
            q: judged.q,
            predicted_mean: judged.predicted_mean,
            mean_off: judged.mean_off,
            predicted_p99: judged.predicted_p99,
            p99_off: judged.p99_off,
            command: judged.command.clone(),
        }
    }
}
