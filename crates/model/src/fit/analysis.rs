//! The whole of a fit: all estimates, all tests with false discoveries controlled over them, and the verdicts.

use serde::Serialize;
use tollway_stats::{Location, batch_means, benjamini_hochberg, counts, summary};

use super::coalescing::{self, Coalescing};
use super::estimate::{CONFIDENCE, Estimate, ratio};
use super::goodness::Fitted;
use super::queue::{self, CANDIDATES, Candidate, Judged, Observed, Takes, Traffic};
use super::series::{Examined, examine};
use super::text::{self, argument, change, p_value, rate_argument, time};
use super::{Family, Trace};
use crate::{ModelError, Result, Unit};

/// Of all that is rejected, at most this share may be so wrongly.
const FALSE_DISCOVERIES: f64 = 0.05;

/// Batches that the mean of responses, which depend on each other, is taken over.
const BATCHES: usize = 20;

/// What is asked of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Servers side by side; `None`: as many as were seen at work at one time, else one.
    pub servers: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 1, servers: None }
    }
}

/// One test on the trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Test {
    /// What it is against: `gap.independence`, `service.exponential`, `mm1.response`.
    pub name: String,
    /// Its p-value.
    pub p: f64,
    /// The same, adjusted for all tests on this trace (Benjamini and Hochberg).
    pub q: f64,
    /// Whether it is rejected.
    pub rejected: bool,
}

/// A family and what the trace says of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyVerdict {
    /// `gap` or `service`.
    pub of: &'static str,
    /// The family.
    pub family: Family,
    /// How it fits; `None` where it cannot be.
    pub fitted: Option<Fitted>,
    /// Why it cannot be.
    pub why_not: Option<String>,
    /// Whether it is rejected, or cannot be.
    pub rejected: bool,
    /// cv² of the member less that of the trace.
    pub scv_off: Option<f64>,
    /// What that does to a predicted mean wait (Kingman's approximation), as a share of it.
    pub wait_off: Option<f64>,
}

/// All that a trace says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Customers in the trace.
    pub customers: usize,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Servers that were reckoned with.
    pub servers: u32,
    /// Figures with intervals.
    pub estimates: Vec<Estimate>,
    /// Every test that was made.
    pub tests: Vec<Test>,
    /// Families of gaps and services: what is left first, by BIC; then the rejected ones by distance.
    pub families: Vec<FamilyVerdict>,
    /// How completions are told, where the trace has that.
    pub coalescing: Option<Coalescing>,
    /// Models of a queue: what is left first, the simplest first; then the rejected ones, the best prediction first.
    pub models: Vec<Judged>,
    /// The command that asks the first model, if any is left, or the first of all.
    pub command: Option<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Fit {
    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|e| e.name == name)
    }

    /// The test of that name.
    pub fn test(&self, name: &str) -> Option<&Test> {
        self.tests.iter().find(|t| t.name == name)
    }
}

/// Fits everything to a trace.
///
/// # Errors
/// When the trace has nothing that can be fitted, and when servers are none.
pub fn fit(trace: &Trace, options: Options) -> Result<Fit> {
    if options.servers == Some(0) {
        return Err(ModelError::parameter("servers", "there is none", "give one or more"));
    }
    let seed = options.seed;
    let look = |series: &Option<super::Series>, seed| series.as_ref().and_then(|s| examine(s, seed));
    // Both at once: each takes a second of processor time.
    let (gaps, services) = std::thread::scope(|scope| {
        let services = scope.spawn(|| look(&trace.services, seed.wrapping_add(100)));
        let gaps = look(&trace.gaps, seed);
        (gaps, services.join().unwrap_or_default())
    });
    let mut fitting = Fitting {
        trace,
        seed,
        servers: options.servers.or(trace.servers_seen).unwrap_or(1),
        gaps,
        services,
        estimates: Vec::new(),
        notes: trace.notes.clone(),
    };
    fitting.estimate();
    let coalescing = trace.deliveries.as_ref().and_then(coalescing::detect);
    if fitting.estimates.is_empty() && coalescing.is_none() {
        return Err(ModelError::parameter(
            "trace",
            "no time in it is above zero",
            "check the columns and their units",
        ));
    }
    Ok(fitting.judge(coalescing))
}

struct Fitting<'a> {
    trace: &'a Trace,
    seed: u64,
    servers: u32,
    gaps: Option<Examined>,
    services: Option<Examined>,
    estimates: Vec<Estimate>,
    notes: Vec<String>,
}

impl Fitting<'_> {
    fn both(&self) -> impl Iterator<Item = (&'static str, &Examined)> {
        let gaps = self.gaps.as_ref().map(|e| ("gap", e));
        gaps.into_iter().chain(self.services.as_ref().map(|e| ("service", e)))
    }

    fn estimate(&mut self) {
        let mut found = Vec::new();
        for (name, series) in self.both() {
            let moments = &series.moments;
            let rate = if name == "gap" { "lambda" } else { "mu" };
            let inverse = moments.mean_interval.filter(|i| i.lo > 0.0).and_then(|i| {
                tollway_stats::Interval::new(1.0 / i.estimate, 1.0 / i.hi, 1.0 / i.lo, CONFIDENCE).ok()
            });
            found.push(Estimate::of_either(rate, inverse, 1.0 / moments.mean, Unit::PerSecond));
            found.push(Estimate::of_either(
                format!("{name}.mean"),
                moments.mean_interval,
                moments.mean,
                Unit::Seconds,
            ));
            found.push(Estimate::of_either(
                format!("{name}.scv"),
                moments.scv_interval,
                moments.scv,
                Unit::Ratio,
            ));
        }
        if let (Some(gaps), Some(services)) = (&self.gaps, &self.services) {
            let dependent = self.both().any(|(_, e)| e.independence.is_some_and(|i| i.p < 0.05));
            let values = |series: &Option<super::Series>| series.as_ref().map(|s| s.values.clone());
            let (above, below) = (values(&self.trace.services), values(&self.trace.gaps));
            let load = services.moments.mean / gaps.moments.mean / f64::from(self.servers);
            let interval = above.zip(below).and_then(|(above, below)| {
                ratio(&above, &below, dependent, self.seed).and_then(|i| {
                    let by = f64::from(self.servers);
                    tollway_stats::Interval::new(load, i.lo / by, i.hi / by, CONFIDENCE).ok()
                })
            });
            found.push(Estimate::of_either("utilization", interval, load, Unit::Share));
        }
        for (name, series) in [("wait", &self.trace.waits), ("response", &self.trace.responses)] {
            let Some(series) = series else { continue };
            found.extend(of_dependent(name, &series.values));
        }
        if let Some((told, completed)) =
            self.trace.deliveries.as_ref().and_then(|d| d.completed.as_ref().map(|c| (&d.told, c)))
        {
            let delays: Vec<f64> = told.iter().zip(completed).map(|(t, c)| t - c).collect();
            found.extend(of_dependent("delay", &delays));
        }
        let counted: Vec<u64> = self.trace.classes.iter().map(|(_, count)| *count).collect();
        if let Ok(shares) = counts::shares(&counted, CONFIDENCE) {
            for ((name, _), share) in self.trace.classes.iter().zip(shares) {
                found.push(Estimate::of(format!("class.{name}.share"), share, Unit::Share));
            }
        }
        self.estimates = found;
    }

    /// What families, clocks and thinning leave to be said.
    fn remark(&mut self) {
        let mut remarks = Vec::new();
        for (name, series) in self.both() {
            if let Some(clock) = series.clock {
                remarks.push(format!(
                    "{name}s are multiples of {}: spread within that before families were fitted",
                    time(clock)
                ));
            }
            if series.tested < series.values {
                remarks.push(format!(
                    "families were fitted to {} of {} {name}s, evenly spread",
                    series.tested, series.values
                ));
            }
        }
        self.notes.extend(remarks);
    }

    fn judge(mut self, coalescing: Option<Coalescing>) -> Fit {
        self.remark();
        let observed = self.trace.responses.as_ref().and_then(|series| observed(&series.values));
        let traffic = self.traffic();
        let mut models: Vec<(&Candidate, Judged)> = Vec::new();
        if let Some(traffic) = &traffic {
            for candidate in CANDIDATES.iter().filter(|c| c.several == (self.servers > 1)) {
                models.extend(queue::predict(candidate, traffic, observed.as_ref()).map(|j| (candidate, j)));
            }
        } else {
            let lacks = if self.gaps.is_none() { "arrivals" } else { "service times" };
            self.notes.push(format!("no verdict on queues: the trace has no {lacks}"));
        }
        let tests = self.tests(&models);
        let families = self.families(&tests);
        for (candidate, judged) in &mut models {
            judged.reasons = self.reasons(candidate, judged, &families, &tests, traffic.as_ref());
            judged.rejected = !judged.reasons.is_empty();
        }
        let mut models: Vec<Judged> = models.into_iter().map(|(_, judged)| judged).collect();
        models.sort_by(|a, b| {
            let off = |j: &Judged| if j.rejected { j.mean_off.map_or(f64::INFINITY, f64::abs) } else { 0.0 };
            a.rejected.cmp(&b.rejected).then(off(a).total_cmp(&off(b)))
        });
        let command =
            models.first().map(|judged| judged.command.clone()).or_else(|| self.coalesce(&coalescing));
        Fit {
            customers: self.trace.customers,
            seed: self.seed,
            servers: self.servers,
            estimates: self.estimates,
            tests,
            families,
            coalescing,
            models,
            command,
            notes: self.notes,
        }
    }

    /// Where only deliveries are known.
    fn coalesce(&self, coalescing: &Option<Coalescing>) -> Option<String> {
        let (found, gaps) = (coalescing.as_ref()?, self.gaps.as_ref()?);
        (found.count.is_some() || found.timer.is_some()).then(|| {
            format!(
                "tollway model coalesce lambda={} count={} timer={}",
                rate_argument(1.0 / gaps.moments.mean),
                found.count.unwrap_or(0),
                found.timer.map_or("0".into(), |t| argument(t.seconds)),
            )
        })
    }

    fn traffic(&self) -> Option<Traffic> {
        let (gaps, services) = (self.gaps.as_ref()?, self.services.as_ref()?);
        let with_error = |e: &Examined| (e.moments.scv, e.moments.scv_error.unwrap_or(0.0));
        Some(Traffic {
            lambda: (1.0 / gaps.moments.mean, gaps.moments.mean_error),
            service: (services.moments.mean, services.moments.mean_error),
            ca2: with_error(gaps),
            cs2: with_error(services),
            gap: nearest(gaps).map(|f| f.distribution.clone()),
            service_distribution: nearest(services).map(|f| f.distribution.clone()),
            servers: self.servers,
        })
    }

    /// All tests, with false discoveries controlled over them.
    fn tests(&self, models: &[(&Candidate, Judged)]) -> Vec<Test> {
        let mut found: Vec<(String, f64)> = Vec::new();
        for (name, series) in self.both() {
            found.extend(series.independence.map(|i| (format!("{name}.independence"), i.p)));
            found.extend(series.stationarity.map(|s| (format!("{name}.stationarity"), s.p)));
            for (family, fitted) in &series.families {
                if let Ok(fitted) = fitted {
                    found.push((format!("{name}.{}", family.name()), fitted.ad_p));
                }
            }
        }
        for (_, judged) in models {
            found.extend(judged.mean_p.map(|p| (format!("{}.response", judged.model), p)));
        }
        let p_values: Vec<f64> = found.iter().map(|(_, p)| *p).collect();
        let adjusted = benjamini_hochberg(&p_values).unwrap_or_default();
        let test =
            |((name, p), q): ((String, f64), f64)| Test { name, p, q, rejected: q <= FALSE_DISCOVERIES };
        found.into_iter().zip(adjusted).map(test).collect()
    }

    fn families(&self, tests: &[Test]) -> Vec<FamilyVerdict> {
        let variations: Vec<f64> = self.both().map(|(_, e)| e.moments.scv).collect();
        let total: f64 = variations.iter().sum();
        let mut all = Vec::new();
        for (of, series) in self.both() {
            let verdict = |(family, result): &(Family, Result<Fitted, String>)| {
                let fitted = result.as_ref().ok().cloned();
                let scv_off = fitted.as_ref().map(|f| f.distribution.scv() - series.moments.scv);
                let name = format!("{of}.{}", family.name());
                FamilyVerdict {
                    of,
                    family: *family,
                    why_not: result.as_ref().err().cloned(),
                    rejected: tests.iter().find(|t| t.name == name).is_none_or(|t| t.rejected),
                    scv_off,
                    wait_off: scv_off.filter(|_| variations.len() == 2 && total > 0.0).map(|off| off / total),
                    fitted,
                }
            };
            let mut verdicts: Vec<FamilyVerdict> = series.families.iter().map(verdict).collect();
            verdicts.sort_by(|a, b| {
                let key = |v: &FamilyVerdict| {
                    v.fitted.as_ref().map_or(f64::INFINITY, |f| {
                        // A constant that holds has no density, and nothing is likelier.
                        if v.rejected { f.ks } else { f.bic.unwrap_or(f64::NEG_INFINITY) }
                    })
                };
                let order = |v: &FamilyVerdict| (v.fitted.is_none(), v.rejected);
                order(a).cmp(&order(b)).then(key(a).total_cmp(&key(b)))
            });
            all.extend(verdicts);
        }
        all
    }

    /// Why a model is rejected; empty where it is not.
    fn reasons(
        &self,
        candidate: &Candidate,
        judged: &Judged,
        families: &[FamilyVerdict],
        tests: &[Test],
        traffic: Option<&Traffic>,
    ) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some(load) = traffic.map(Traffic::utilization).filter(|load| *load >= 1.0) {
            reasons.push(format!("utilization {}: no steady state", text::number(load)));
        }
        for ((of, series), takes) in self.both().zip([candidate.gaps, candidate.services]) {
            let family = match takes {
                Takes::Memoryless => Family::Exponential,
                Takes::Constant => Family::Constant,
                Takes::Any => continue,
            };
            let verdict = families.iter().find(|v| v.of == of && v.family == family);
            if let Some(verdict) = verdict.filter(|v| v.rejected) {
                reasons.push(self.against(of, series, family, verdict));
            }
        }
        for (of, series) in self.both() {
            let rejected = |what: &str| tests.iter().find(|t| t.name == format!("{of}.{what}") && t.rejected);
            if let (Some(test), Some(found)) = (rejected("independence"), series.independence) {
                let lag1 = text::number(found.lag1);
                reasons.push(format!(
                    "{of}s depend on each other: rank correlation of neighbours {lag1} ({})",
                    p_value(test.p)
                ));
            }
            if let Some(test) = rejected("stationarity") {
                let (first, second) = series.halves;
                reasons.push(format!(
                    "{of}s change over the trace: mean {} in the first half, {} in the second ({})",
                    time(first),
                    time(second),
                    p_value(test.p)
                ));
            }
        }
        let response = format!("{}.response", judged.model);
        if let (Some(test), Some(off)) =
            (tests.iter().find(|t| t.name == response && t.rejected), judged.mean_off)
        {
            let observed = self.estimates.iter().find(|e| e.name == "response.mean").map(text::estimate);
            reasons.push(format!(
                "mean response {} predicted, {} seen: {} ({})",
                judged.predicted_mean.map(time).unwrap_or_default(),
                observed.unwrap_or_default(),
                change(off),
                p_value(test.p)
            ));
        }
        reasons
    }

    /// What contradicts a family, by its most telling figure.
    fn against(&self, of: &str, series: &Examined, family: Family, verdict: &FamilyVerdict) -> String {
        let expected = if family == Family::Constant { 0.0 } else { 1.0 };
        let Some(fitted) = &verdict.fitted else {
            return format!("{of}s: {}", verdict.why_not.as_deref().unwrap_or("not fitted"));
        };
        let scv = self.estimates.iter().find(|e| e.name == format!("{of}.scv"));
        let excludes = scv.filter(|e| e.lo.zip(e.hi).is_some_and(|(lo, hi)| expected < lo || hi < expected));
        match (excludes, family) {
            (Some(scv), Family::Constant) => {
                let (least, most) = series.range;
                format!("{of} cv² {}, not 0: {} to {}", text::estimate(scv), time(least), time(most))
            }
            (Some(scv), _) => {
                let error = series.moments.scv_error.unwrap_or(0.0);
                let of_variation = Location {
                    estimate: series.moments.scv.ln(),
                    standard_error: error,
                    degrees_of_freedom: 1e9,
                    units: series.values,
                };
                let p = p_value(of_variation.p_different(0.0).min(fitted.ad_p));
                format!("{of} cv² {}, not 1 ({p})", text::estimate(scv))
            }
            (None, _) => format!(
                "{of}s are not {}: {} of them are elsewhere (Anderson–Darling {})",
                family.name(),
                percent(fitted.ks),
                p_value(fitted.ad_p)
            ),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{} %", text::number((1e4 * share).round() / 1e2))
}

/// The family that is likeliest of those that are not far off, else the nearest: what predictions are made with.
fn nearest(series: &Examined) -> Option<&Fitted> {
    let fitted = || series.families.iter().filter_map(|(_, f)| f.as_ref().ok());
    let constant = fitted().find(|f| f.family == Family::Constant && f.ad_p > 0.05);
    let key = |f: &&Fitted| f.bic.unwrap_or(f64::INFINITY);
    let left = fitted().filter(|f| f.ad_p > 0.05 && f.bic.is_some());
    constant
        .or_else(|| left.min_by(|a, b| key(a).total_cmp(&key(b))))
        .or_else(|| fitted().min_by(|a, b| a.ks.total_cmp(&b.ks)))
}

/// Mean, median and 99th percentile of a series whose neighbours depend on each other.
fn of_dependent(name: &str, values: &[f64]) -> Vec<Estimate> {
    let Ok(mean) = summary::mean(values) else { return Vec::new() };
    let interval = batch_means(values, BATCHES, CONFIDENCE).ok().and_then(|b| {
        let shift = mean - b.interval.estimate;
        tollway_stats::Interval::new(
            mean,
            (b.interval.lo + shift).max(0.0),
            b.interval.hi + shift,
            CONFIDENCE,
        )
        .ok()
    });
    let mut found = vec![Estimate::of_either(format!("{name}.mean"), interval, mean, Unit::Seconds)];
    for (short, probability) in [("p50", 0.5), ("p99", 0.99)] {
        let Ok(value) = summary::quantile(values, probability) else { continue };
        // Quantiles of batches that have at least ten values beyond them are nearly unbiased.
        let length = values.len() / BATCHES;
        let enough = length as f64 * (1.0 - probability) >= 10.0;
        let of_batches: Vec<f64> = if enough {
            values
                .chunks_exact(length)
                .take(BATCHES)
                .filter_map(|b| summary::quantile(b, probability).ok())
                .collect()
        } else {
            Vec::new()
        };
        let interval = tollway_stats::t_interval(&of_batches, CONFIDENCE).ok().and_then(|i| {
            let reach = i.half_width();
            tollway_stats::Interval::new(value, (value - reach).max(0.0), value + reach, CONFIDENCE).ok()
        });
        found.push(Estimate::of_either(format!("{name}.{short}"), interval, value, Unit::Seconds));
    }
    found
}

/// Responses as models must predict them; `None` where there are too few.
fn observed(values: &[f64]) -> Option<Observed> {
    let length = values.len() / BATCHES;
    if length < 10 {
        return None;
    }
    let means: Vec<f64> =
        values.chunks_exact(length).take(BATCHES).filter_map(|b| summary::mean(b).ok()).collect();
    let mean = Location { estimate: summary::mean(values).ok()?, ..Location::student(&means).ok()? };
    Some(Observed { mean, p99: summary::quantile(values, 0.99).ok()? })
}
