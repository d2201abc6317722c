//! What a specification must satisfy before anybody solves it: every part usable, every name known, every combination
//! one that means something, and a steady state to be found.

mod coalescer;
mod load;
mod source;
mod station;
mod wiring;

use std::collections::HashSet;

use crate::spec::{Routes, Spec, Stop};
use crate::{ModelError, Result, check};
pub(in crate::spec) use load::flows;
pub(in crate::spec) use wiring::Wiring;

/// The most parts that a system may have, and the most customers, servers or places of one part.
pub const LARGEST_SIZE: u64 = 100_000;

/// The most classes.
const CLASSES: u64 = 1000;

/// The longest name, in characters.
const LONGEST_NAME: usize = 64;

/// The name of the way out.
pub(in crate::spec) const EXIT: &str = "exit";

impl Spec {
    /// The specification, if its parts are usable and fit each other; with what may be left out where it is plain
    /// (the first part of a source in a system of one part).
    ///
    /// # Errors
    /// An error that names the part, the parameter and the remedy; [`ModelError::Unstable`] where more work comes than
    /// can be done.
    pub fn checked(mut self) -> Result<Self> {
        let parts = self.sources.len() + self.stations.len() + self.coalescers.len();
        check::count("parts", parts as u64, 0, LARGEST_SIZE)?;
        check::count("classes", self.classes.len() as u64, 0, CLASSES)?;
        if self.sources.is_empty() {
            return Err(ModelError::parameter(
                "source",
                "there is none",
                "say where customers come from: [[source]]",
            ));
        }
        if self.stations.is_empty() && self.coalescers.is_empty() {
            return Err(ModelError::parameter(
                "station",
                "there is none",
                "say where customers are served: [[station]]",
            ));
        }
        self.check_names()?;
        self.check_classes()?;
        self.complete_sources();
        for source in &self.sources {
            source::check(source, &self.classes)?;
        }
        for station in &self.stations {
            station::check(station, &self.classes)?;
        }
        for coalescer in &self.coalescers {
            coalescer::check(coalescer)?;
        }
        check_stop(&self.stop)?;
        let wiring = Wiring::of(&self)?;
        wiring.check(&self)?;
        load::check(&self, &wiring)?;
        Ok(self)
    }

    /// Names are short, plain and given once.
    fn check_names(&self) -> Result<()> {
        let parts = (self.sources.iter().map(|s| ("source", &s.name)))
            .chain(self.stations.iter().map(|s| ("station", &s.name)))
            .chain(self.coalescers.iter().map(|c| ("coalescer", &c.name)));
        each_once(parts)?;
        each_once(self.classes.iter().map(|c| ("class", &c.name)))
    }

    /// Every class has customers, every source has a class where there are classes.
    fn check_classes(&self) -> Result<()> {
        let used: HashSet<&str> = self.sources.iter().filter_map(|s| s.class.as_deref()).collect();
        match self.classes.iter().find(|class| !used.contains(class.name.as_str())) {
            Some(class) => Err(ModelError::parameter(
                format!("class {}", class.name),
                "no source has customers of it",
                "give a source this class, or remove the class",
            )),
            None => Ok(()),
        }
    }

    /// Where there is one part only, sources lead there.
    fn complete_sources(&mut self) {
        let names = || self.stations.iter().map(|s| &s.name).chain(self.coalescers.iter().map(|c| &c.name));
        let Some(only) = names().next().filter(|_| names().count() == 1).cloned() else { return };
        for source in self.sources.iter_mut().filter(|source| source.to.is_none()) {
            source.to = Some(Routes::Always(only.clone()));
        }
    }
}

fn each_once<'a>(names: impl Iterator<Item = (&'static str, &'a String)>) -> Result<()> {
    let mut seen = HashSet::new();
    for (kind, name) in names {
        let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let length = name.chars().count();
        if !(1..=LONGEST_NAME).contains(&length) || !name.chars().all(plain) {
            let shown: String = name.chars().take(LONGEST_NAME).flat_map(char::escape_debug).collect();
            return Err(ModelError::parameter(
                format!("{kind} `{shown}`: name"),
                "it is not usable",
                format!("use letters, digits, - and _, at most {LONGEST_NAME} of them"),
            ));
        }
        if name == EXIT {
            return Err(ModelError::parameter(
                format!("{kind} {name}: name"),
                "it stands for the way out",
                "choose another name",
            ));
        }
        if !seen.insert(name) {
            return Err(ModelError::parameter(
                format!("{kind} {name}: name"),
                "another part has it",
                "give every part a name of its own",
            ));
        }
    }
    Ok(())
}

fn check_stop(stop: &Stop) -> Result<()> {
    check::count("stop: customers", stop.customers, 1, 1_000_000_000_000)?;
    check::count("stop: replications", u64::from(stop.replications), 1, 10_000)?;
    if let Some(precision) = stop.precision
        && !(1e-6..=1.0).contains(&precision)
    {
        return Err(ModelError::parameter(
            "stop: precision",
            format!("{precision} is out of range"),
            "give a share of the mean from 0.000001 to 1, for example 0.01",
        ));
    }
    Ok(())
}

/// Probabilities that belong together: shares that add up to 1.
fn add_up(name: &str, shares: impl Iterator<Item = f64>) -> Result<()> {
    let mut sum = 0.0;
    for value in shares {
        sum += check::share(name, value)?;
    }
    if (sum - 1.0).abs() > 1e-9 {
        return Err(ModelError::parameter(name, format!("they add up to {sum}"), "let them add up to 1"));
    }
    Ok(())
}

/// Two parameters of which one at most may be given.
fn not_both(part: &str, one: (&str, bool), other: (&str, bool)) -> Result<()> {
    if one.1 && other.1 {
        return Err(ModelError::parameter(
            format!("{part}: {}", one.0),
            format!("it does not go with {}", other.0),
            "leave one of them out",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
