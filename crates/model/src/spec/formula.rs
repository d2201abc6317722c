//! Which specifications a formula of the catalogue solves, and what it answers, under the names that the simulator uses.
//!
//! A formula is taken only where every assumption of its model is one of the specification's: what is nearly an M/M/1 is
//! left to the numerical chain and to simulation.

mod alone;
mod network;

use std::borrow::Cow;

use crate::catalogue::{self, Model};
use crate::spec::checked::EXIT;
use crate::spec::{Arrivals, Exit, Routes, Source, Spec};
use crate::{Distribution, Result, Solution};

/// A model of the catalogue that is this specification.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The model.
    pub model: &'static Model,
    /// What it is asked with.
    pub parameters: Vec<(&'static str, String)>,
    /// Its figures, parts under their names in the specification; or why there are none.
    pub solution: Result<Solution>,
}

impl Formula {
    /// The command that asks the model the same.
    pub fn command(&self) -> String {
        let pairs = self.parameters.iter().map(|(name, text)| format!("{name}='{text}'"));
        [format!("tollway model {}", self.model.name)].into_iter().chain(pairs).collect::<Vec<_>>().join(" ")
    }
}

/// A model's name with its parameters, and the parts that it numbers: `class.1.…`, `station.1.…`.
struct Recognised<'a> {
    model: &'static str,
    parameters: Vec<(&'static str, String)>,
    /// What the numbered parts are: `class` or `station`; none where it numbers nothing.
    kind: &'static str,
    /// Their names, the first being number 1.
    names: Vec<&'a str>,
}

impl Recognised<'_> {
    /// A model that numbers no parts.
    fn plain(model: &'static str, parameters: Vec<(&'static str, String)>) -> Option<Self> {
        Some(Recognised { model, parameters, kind: "", names: Vec::new() })
    }
}

impl Spec {
    /// The formula that solves this specification exactly; `None` where the catalogue has none.
    pub fn formula(&self) -> Option<Formula> {
        let found = alone::recognise(self).or_else(|| network::recognise(self))?;
        let model = catalogue::find(found.model).ok()?;
        let pairs = found.parameters.iter().map(|(name, text)| (*name, text.as_str()));
        let solution = model.given(pairs).and_then(|given| model.solve(&given)).map(|s| found.renamed(&s));
        Some(Formula { model, parameters: found.parameters, solution })
    }

    /// The rate of all sources together, where they are Poisson streams of single customers (of the class, where one
    /// is named).
    fn poisson(&self, class: Option<&str>) -> Option<f64> {
        let sources =
            self.sources.iter().filter(|source| class.is_none() || source.class.as_deref() == class);
        let rates: Option<Vec<f64>> = sources.map(single_poisson).collect();
        rates.filter(|rates| !rates.is_empty()).map(|rates| rates.iter().sum())
    }
}

fn single_poisson(source: &Source) -> Option<f64> {
    match &source.arrivals {
        Arrivals::Interarrival(gaps) if source.batch.is_empty() => exponential(gaps).map(per_second),
        _ => None,
    }
}

/// The mean of an exponential distribution.
fn exponential(distribution: &Distribution) -> Option<f64> {
    match distribution.simplest() {
        Distribution::Exponential { mean } => Some(mean),
        _ => None,
    }
}

/// How often per second what takes so long on average: of all numbers with that reciprocal the shortest one, since a
/// person reads it: for 80 µs 12500/s, not 12499.999999999998/s.
fn per_second(mean: f64) -> f64 {
    let exactly = 1.0 / mean;
    let rounded = |digits: usize| format!("{exactly:.digits$e}").parse().unwrap_or(exactly);
    (0..16).map(rounded).find(|rate: &f64| 1.0 / rate == mean).unwrap_or(exactly)
}

/// Whether customers leave the system there.
fn leaves(to: &Exit) -> bool {
    match &to.0 {
        None => true,
        Some(Routes::Always(name)) => name == EXIT,
        Some(Routes::Shares(shares)) => shares.iter().all(|(name, share)| name == EXIT || *share == 0.0),
    }
}

/// Values as a list parameter.
fn list<T: ToString>(values: impl IntoIterator<Item = T>, separator: &str) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(separator)
}

impl Recognised<'_> {
    /// The figures with numbered parts under their names.
    fn renamed(&self, solution: &Solution) -> Solution {
        solution.metrics().iter().fold(Solution::new(), |renamed, metric| {
            renamed.with(self.rename(&metric.name), metric.value, metric.unit)
        })
    }

    fn rename(&self, name: &str) -> Cow<'static, str> {
        let part = || {
            let (number, figure) = name.strip_prefix(self.kind)?.strip_prefix('.')?.split_once('.')?;
            let part = self.names.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
            Some(format!("{}.{part}.{figure}", self.kind))
        };
        part().unwrap_or_else(|| name.to_owned()).into()
    }
}

/// The model's name alone, whether or not the catalogue has it.
#[cfg(test)]
fn recognised_name(spec: &Spec) -> Option<&'static str> {
    alone::recognise(spec).or_else(|| network::recognise(spec)).map(|found| found.model)
}

#[cfg(test)]
mod tests;
