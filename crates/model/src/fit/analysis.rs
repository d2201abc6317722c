//! The whole of a fit: all estimates, all tests with false discoveries controlled, and the verdicts.

use serde::Serialize;
use tollway_stats::benjamini_hochberg;

use super::coalescing::{self, Coalescing};
use super::coupling::Coupling;
use super::delivery;
use super::estimate::{Estimate, Moments, moments};
use super::figures::{figures, observed};
use super::goodness::{FEWEST, Fitted};
use super::queue::{CANDIDATES, Judged, Traffic, asked, predict};
use super::requirement::{Requirement, requirements, uncoupled};
use super::series::{Examined, SHARED, examine};
use super::text::{argument, number, rate_argument, time};
use super::trace::{Clocks, Stamps};
use super::{Family, Series, Trace};
use crate::{ModelError, Result};

/// Of all that is rejected, at most this share may be so wrongly; and of the models that are true, this share is.
pub(super) const LEVEL: f64 = 0.05;

/// Fewer who found the server idle say nothing of what waking it takes.
const FEWEST_SETUPS: usize = 100;

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

/// A test of what is true of gaps or services whatever the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Test {
    /// What it is against: `gap.independence`, `service.stationarity`.
    pub name: String,
    /// Its p-value.
    pub p: f64,
    /// The same, adjusted for all of these tests (Benjamini and Hochberg).
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
    /// The Anderson–Darling p-value, adjusted for all families of the series.
    pub q: Option<f64>,
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
    /// Tests of independence, of gaps and services from each other too, and of stationarity.
    pub tests: Vec<Test>,
    /// Families of gaps, then of services: what is left first, by BIC; then the rejected ones by distance.
    pub families: Vec<FamilyVerdict>,
    /// How completions are told, where the trace has that.
    pub coalescing: Option<Coalescing>,
    /// The model of how they are told, held against the delays of the trace.
    pub delivery: Option<Judged>,
    /// Models of a queue: what is left first, the simplest first; then the rejected ones, the best prediction first.
    pub models: Vec<Judged>,
    /// The command that asks the first model that has an answer.
    pub command: Option<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Fit {
    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|e| e.name == name)
    }

    /// The verdict on that model.
    pub fn model(&self, name: &str) -> Option<&Judged> {
        self.models.iter().find(|judged| judged.model == name)
    }

    /// The verdict on that family of gaps (`gap`) or services (`service`).
    pub fn family(&self, of: &str, family: Family) -> Option<&FamilyVerdict> {
        self.families.iter().find(|verdict| verdict.of == of && verdict.family == family)
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
    let look = |series: Option<&Series>, seed| series.and_then(|s| examine(s, seed));
    let hidden = hidden_services(trace);
    let services = trace.services.as_ref().filter(|_| hidden.is_none());
    // Both at once: each takes a second of processor time.
    let (gaps, services) = std::thread::scope(|scope| {
        let services = scope.spawn(|| look(services, seed.wrapping_add(100)));
        let gaps = look(trace.gaps.as_ref(), seed);
        (gaps, services.join().unwrap_or_default())
    });
    let servers = options.servers.or(trace.servers_seen).unwrap_or(1);
    let estimates = figures(trace, gaps.as_ref(), services.as_ref(), servers, seed);
    let coalescing = trace.deliveries.as_ref().and_then(coalescing::detect);
    if estimates.is_empty() && coalescing.is_none() {
        if let Some((reason, remedy)) = hidden {
            return Err(ModelError::parameter("trace", reason, remedy));
        }
        return Err(ModelError::parameter(
            "trace",
            "no time in it is above zero",
            "check the columns and their units; of packets captured without a time it reads 0",
        ));
    }
    let mut notes = trace.notes.clone();
    for (name, series) in both(&gaps, &services) {
        notes.extend(remarks(name, series));
    }
    notes.extend(hidden_means(trace));
    let coupling = match (&trace.gaps, &trace.services) {
        _ if !is_coupling_known(trace, gaps.as_ref(), services.as_ref()) => Coupling::default(),
        (Some(gaps), Some(services)) => Coupling::of(gaps, services, &trace.stretches),
        _ => Coupling::default(),
    };
    let models = match (&gaps, &services) {
        (Some(gaps), Some(services)) => models(trace, gaps, services, &coupling, servers, &estimates, seed),
        _ => {
            notes.push(match &hidden {
                Some((reason, remedy)) => {
                    format!("no service rate, utilization or model of a queue: {reason}; {remedy}")
                }
                None => format!("no verdict on queues: {}", lacking(trace, gaps.is_none())),
            });
            Vec::new()
        }
    };
    let load = estimates.iter().find(|e| e.name == "utilization").map(|e| e.value);
    if let Some(load) =
        load.filter(|load| *load >= 1.0 && models.iter().all(|judged| judged.command.is_none()))
    {
        notes.push(format!(
            "utilization {}: more comes than can be served, so the queue grows for as long as the trace lasts, and no model of a steady state has an answer",
            number(load)
        ));
    }
    let mut series = gaps.iter().chain(&services).peekable();
    if series.peek().is_some() && series.all(|series| series.values < FEWEST) {
        notes.push(format!("fewer than {FEWEST} values rule nothing out"));
    }
    let delivery = coalescing.as_ref().zip(trace.deliveries.as_ref()).and_then(|(found, deliveries)| {
        let rate = gaps.as_ref().map(|gaps| 1.0 / gaps.moments.mean);
        delivery::judge(found, deliveries, rate, seed.wrapping_add(200))
    });
    let command = models.iter().chain(&delivery).find_map(|judged| judged.command.clone());
    let command = command.or_else(|| growing(&models, gaps.as_ref()?, services.as_ref()?));
    Ok(Fit {
        customers: trace.customers,
        seed,
        servers,
        tests: tests(&gaps, &services, &coupling),
        families: families(&gaps, &services),
        estimates,
        coalescing,
        delivery,
        models,
        command,
        notes,
    })
}

/// Why services are not known, and the remedy, where they are differences of stamps of a clock too coarse for them.
fn hidden_services(trace: &Trace) -> Option<(String, &'static str)> {
    let (stamps, services) = (trace.service_stamps?, trace.services.as_ref()?);
    let mean = mean(services)?;
    if !stamps.hide(mean) {
        return None;
    }
    let unit = time(stamps.unit);
    // What services read says little of them. No service is longer than its response.
    let longest = trace.responses.as_ref().and_then(self::mean).filter(|mean| *mean <= 2.0 * stamps.unit);
    let beside =
        longest.map_or_else(String::new, |mean| format!(" (responses take {} on average)", time(mean)));
    let reason =
        format!("services are differences of stamps of a clock of {unit}, too coarse for them{beside}");
    Some((reason, "write stamps of a finer unit, or services in a column `service`"))
}

/// What to say of waits and responses whose means are not known.
fn hidden_means(trace: &Trace) -> Vec<String> {
    let series =
        [("waits", &trace.waits, trace.wait_stamps), ("responses", &trace.responses, trace.response_stamps)];
    let note = |(name, series, stamps): (&str, &Option<Series>, Option<Stamps>)| {
        let stamps = stamps.filter(|stamps| stamps.clocks != Clocks::One)?;
        let is_hidden = stamps.hide(mean(series.as_ref()?)?);
        let unit = time(stamps.unit);
        is_hidden.then(|| {
            format!("no {name}: they are differences of stamps of unlike clocks, one of them of {unit}, too coarse for them; write both by the finer clock")
        })
    };
    series.into_iter().filter_map(note).collect()
}

fn mean(series: &Series) -> Option<f64> {
    let values = series.values.len();
    (values > 0).then(|| series.values.iter().sum::<f64>() / values as f64)
}

/// Whether services can be tested against the gaps beside them: where both hang on the same readings, the rounding of those
/// makes them depend on each other. Rounding moves a reading by a uniform error, whose variance is unit²/12.
fn is_coupling_known(trace: &Trace, gaps: Option<&Examined>, services: Option<&Examined>) -> bool {
    let (Some(gaps), Some(services)) = (gaps, services) else { return false };
    if !trace.is_rounding_shared {
        return true;
    }
    let unit = trace.service_stamps.map_or(0.0, |stamps| stamps.unit).max(gaps.unit).max(services.unit);
    let deviation = |series: &Examined| series.moments.mean * series.moments.scv.sqrt();
    let correlation = unit.powi(2) / 12.0 / (deviation(gaps) * deviation(services)).max(f64::MIN_POSITIVE);
    correlation * (services.values as f64).sqrt() <= SHARED
}

fn both<'a>(
    gaps: &'a Option<Examined>,
    services: &'a Option<Examined>,
) -> impl Iterator<Item = (&'static str, &'a Examined)> {
    let gaps = gaps.iter().map(|series| ("gap", series));
    gaps.chain(services.iter().map(|series| ("service", series)))
}

/// What a verdict on queues lacks.
fn lacking(trace: &Trace, gaps: bool) -> String {
    let (name, series) = if gaps { ("gap", &trace.gaps) } else { ("service", &trace.services) };
    match series {
        Some(series) if !series.values.is_empty() => {
            let count = series.values.len();
            format!(
                "all {count} {name}s read 0: their clock, or the unit that they are written in, is too coarse"
            )
        }
        _ => format!("the trace has no {}", if gaps { "arrivals" } else { "service times" }),
    }
}

/// What a coarse clock, many values and dependence leave to be said.
fn remarks(name: &str, series: &Examined) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(unit) = series.coarse.filter(|_| series.values >= FEWEST) {
        let (unit, mean) = (time(unit), time(series.moments.mean));
        remarks.push(format!(
            "{name}s of {mean} on average were read by a clock of {unit}: that is too coarse for a verdict on how they vary"
        ));
    } else if let Some(clock) = series.clock.filter(|clock| clock.unit > 1e-3 * series.moments.mean) {
        let unit = time(clock.unit);
        let are = if clock.ticks { "multiples of" } else { "known only to" };
        remarks.push(format!("{name}s are {are} {unit}: spread within that before families were fitted"));
    }
    let longest = (series.range.1 / series.moments.mean - 1.0).powi(2) / series.values as f64;
    if longest > 0.5 * series.moments.scv && series.moments.scv > 0.0 && series.values >= FEWEST {
        let share = 100.0 * longest / series.moments.scv;
        let most = time(series.range.1);
        remarks.push(format!("{share:.0} % of the cv² of {name}s is the one of {most}: was that a {name}?"));
    }
    if series.tested < series.values {
        let (tested, values) = (series.tested, series.values);
        remarks.push(format!("families were fitted to {tested} of {values} {name}s, evenly spread"));
    }
    remarks
}

fn tests(gaps: &Option<Examined>, services: &Option<Examined>, coupling: &Coupling) -> Vec<Test> {
    let mut found: Vec<(String, f64)> =
        coupling.tests().map(|(name, found)| (name.into(), found.p)).collect();
    for (name, series) in both(gaps, services) {
        found.extend(series.independence.map(|i| (format!("{name}.independence"), i.p)));
        found.extend(series.stationarity.map(|s| (format!("{name}.stationarity"), s.p)));
    }
    let p_values: Vec<f64> = found.iter().map(|(_, p)| *p).collect();
    let adjusted = benjamini_hochberg(&p_values).unwrap_or_default();
    let test = |((name, p), q)| Test { name, p, q, rejected: q <= LEVEL };
    found.into_iter().zip(adjusted).map(test).collect()
}

fn families(gaps: &Option<Examined>, services: &Option<Examined>) -> Vec<FamilyVerdict> {
    let variations: Vec<f64> = both(gaps, services).map(|(_, series)| series.moments.scv).collect();
    let all: f64 = variations.iter().sum();
    // Kingman's wait goes with the sum of both cv².
    let sum = Some(all).filter(|sum| variations.len() == 2 && *sum > 0.0);
    both(gaps, services).flat_map(|(of, series)| of_series(of, series, sum)).collect()
}

/// The families of one series, in order.
fn of_series(of: &'static str, series: &Examined, sum: Option<f64>) -> Vec<FamilyVerdict> {
    let fitted = series.families.iter().filter_map(|(_, result)| result.as_ref().ok());
    let p_values: Vec<f64> = fitted.map(|f| f.ad_p).collect();
    let mut adjusted = benjamini_hochberg(&p_values).unwrap_or_default().into_iter();
    let verdict = |(family, result): &(Family, Result<Fitted, String>)| {
        let fitted = result.as_ref().ok().cloned();
        let q = fitted.as_ref().and_then(|_| adjusted.next());
        let scv_off = fitted.as_ref().map(|f| f.distribution.scv() - series.moments.scv);
        FamilyVerdict {
            of,
            family: *family,
            why_not: result.as_ref().err().cloned(),
            q,
            rejected: q.is_none_or(|q| q <= LEVEL),
            scv_off,
            wait_off: scv_off.zip(sum).map(|(off, sum)| off / sum),
            fitted,
        }
    };
    let mut verdicts: Vec<FamilyVerdict> = series.families.iter().map(verdict).collect();
    let rank = |v: &FamilyVerdict| {
        v.fitted.as_ref().map_or(f64::INFINITY, |f| {
            // A constant that holds has no density, and nothing is likelier.
            if !v.rejected {
                return f.bic.unwrap_or(f64::NEG_INFINITY);
            }
            // As near to a thousandth, the simpler one.
            (1e3 * f.ks).round() + 0.1 * f64::from(f.family.parameters())
        })
    };
    verdicts.sort_by(|a, b| {
        let order = |v: &FamilyVerdict| (v.fitted.is_none(), v.rejected);
        order(a).cmp(&order(b)).then(rank(a).total_cmp(&rank(b)))
    });
    verdicts
}

/// What waking the server takes, from enough who found it idle, where it takes anything that matters: a hundredth of the
/// mean response.
fn setups(trace: &Trace, seed: u64) -> Option<Moments> {
    let (setups, responses) = (trace.setups.as_ref()?, trace.responses.as_ref()?);
    let moments = moments(&setups.values, true, seed).filter(|_| setups.values.len() >= FEWEST_SETUPS)?;
    let mean_response = responses.values.iter().sum::<f64>() / responses.values.len() as f64;
    (moments.mean > 0.01 * mean_response).then_some(moments)
}

/// Every model that suits so many servers, judged.
fn models(
    trace: &Trace,
    gaps: &Examined,
    services: &Examined,
    coupling: &Coupling,
    servers: u32,
    estimates: &[Estimate],
    seed: u64,
) -> Vec<Judged> {
    let setups = setups(trace, seed);
    let traffic = Traffic::of(gaps, services, setups.as_ref(), servers);
    let responses = trace.responses.as_ref().filter(|_| estimates.iter().any(|e| e.name == "response.mean"));
    let observed = responses.and_then(|responses| observed(&responses.values));
    let misleads = |stamps: Option<Stamps>| {
        stamps.is_some_and(|stamps| stamps.mislead(services.moments.mean, services.values))
    };
    let is_mean_known = !misleads(trace.service_stamps) && !misleads(trace.response_stamps);
    let mut judged: Vec<(Judged, Vec<Requirement>)> = CANDIDATES
        .iter()
        .filter(|candidate| candidate.several == (servers > 1))
        .filter(|candidate| !candidate.setup || setups.is_some())
        .filter_map(|candidate| {
            let mut judged = predict(candidate, &traffic, observed.as_ref())?;
            judged.mean_p = judged.mean_p.filter(|_| is_mean_known);
            let mut wants = requirements(candidate, &judged, &traffic, gaps, services, estimates);
            wants.extend(uncoupled(coupling));
            Some((judged, wants))
        })
        .collect();
    for (judged, wants) in &mut judged {
        let least = wants.iter().map(|w| w.p).fold(1.0, f64::min);
        // Where the trace can tell of nothing, nothing is against the model.
        judged.p = (least * wants.len().max(1) as f64).min(1.0);
    }
    let p_values: Vec<f64> = judged.iter().map(|(judged, _)| judged.p).collect();
    let adjusted = benjamini_hochberg(&p_values).unwrap_or_default();
    let mut models: Vec<Judged> = Vec::new();
    for ((mut judged, wants), q) in judged.into_iter().zip(adjusted) {
        judged.q = q;
        judged.rejected = q <= LEVEL;
        if judged.rejected {
            let each = LEVEL / wants.len() as f64;
            judged.reasons = wants.into_iter().filter(|w| w.p <= each).map(|w| w.against).collect();
        }
        models.push(judged);
    }
    models.sort_by(|a, b| {
        let off = |j: &Judged| if j.rejected { j.mean_off.map_or(f64::INFINITY, f64::abs) } else { 0.0 };
        a.rejected.cmp(&b.rejected).then(off(a).total_cmp(&off(b)))
    });
    models
}

/// What to ask where more comes than one server takes and nothing else is against M/M/1: how many are there when the trace
/// ends.
fn growing(models: &[Judged], gaps: &Examined, services: &Examined) -> Option<String> {
    models.iter().find(|judged| judged.model == "mm1" && judged.reasons.len() == 1)?;
    let (lambda, mu) = (1.0 / gaps.moments.mean, 1.0 / services.moments.mean);
    let seconds = gaps.values as f64 * gaps.moments.mean;
    // Room for twice as many as are left over, and for their spread.
    let capacity = 2.0 * (lambda - mu) * seconds + 10.0 * (lambda * seconds).sqrt() + 100.0;
    let arguments = [
        ("lambda", rate_argument(lambda)),
        ("mu", rate_argument(mu)),
        ("capacity", format!("{capacity:.0}")),
        ("time", argument(seconds)),
    ];
    asked("mm1-transient", &arguments)?.0.command
}
