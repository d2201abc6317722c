//! The calculator's side of one model: a name, its parameters, where it holds, and one function from the ones to the
//! figures.

use std::collections::BTreeMap;

use crate::{Distribution, ModelError, Result, Solution, check, quantity};

/// One model as the catalogue knows it.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// The name on the command line: `mm1`.
    pub name: &'static str,
    /// The name in the field: `M/M/1`.
    pub title: &'static str,
    /// The shelf it stands on.
    pub family: Family,
    /// What it answers, in a sentence.
    pub summary: &'static str,
    /// The formula, as text that is read in Markdown.
    pub formula: &'static str,
    /// What it takes for granted.
    pub assumptions: &'static str,
    /// Where the formula is from: document and section.
    pub source: &'static str,
    /// Where it holds, and how well (exact, bound, approximation).
    pub holds: &'static str,
    /// What it is asked with.
    pub parameters: &'static [Parameter],
    /// The answer.
    pub solve: fn(&Given) -> Result<Solution>,
}

/// A shelf of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Exponential arrivals and services.
    Markovian,
    /// General arrivals or services.
    General,
    /// Classes and priorities.
    Priorities,
    /// Batches, moderation of interrupts, polling.
    Interrupts,
    /// Several stations.
    Networks,
    /// Saturation, crossover, amortisation, bills.
    Scaling,
}

impl Family {
    /// What stands on the shelf.
    pub fn title(self) -> &'static str {
        match self {
            Family::Markovian => "exponential arrivals and services",
            Family::General => "general arrivals or services",
            Family::Priorities => "classes and priorities",
            Family::Interrupts => "interrupts: batches, moderation, polling",
            Family::Networks => "networks of stations",
            Family::Scaling => "saturation, crossover, amortisation, bills",
        }
    }
}

/// One parameter of a model.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name: `lambda`.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it stands for, in a few words.
    pub means: &'static str,
    /// Taken where none is given; `None`: it must be given.
    pub default: Option<&'static str>,
    /// A value that makes a good example together with the other examples.
    pub example: &'static str,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Per second: `1000/s`.
    Rate,
    /// Seconds: `3us`.
    Time,
    /// A whole number.
    Count,
    /// A pure number.
    Number,
    /// A distribution of times.
    Distribution,
    /// Several rates with `,` between them.
    Rates,
    /// Several times with `,` between them.
    Times,
    /// Several numbers with `,` between them; rows with `;`.
    Numbers,
    /// Several distributions with `;` between them.
    Distributions,
    /// One of a few words.
    Word(&'static [&'static str]),
}

impl Kind {
    /// What is written there, in a few words.
    pub fn says(self) -> String {
        match self {
            Kind::Rate => "a rate".into(),
            Kind::Time => "a time".into(),
            Kind::Count => "a whole number".into(),
            Kind::Number => "a number".into(),
            Kind::Distribution => "a distribution".into(),
            Kind::Rates => "rates with , between them".into(),
            Kind::Times => "times with , between them".into(),
            Kind::Numbers => "numbers with , between them, rows with ;".into(),
            Kind::Distributions => "distributions with ; between them".into(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }
}

/// The parameters that a model is asked with: every name is one of the model's, every required one is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    texts: BTreeMap<&'static str, String>,
}

impl Model {
    /// Takes parameters as a person wrote them.
    ///
    /// # Errors
    /// On a name that the model does not have, one that is given twice, or one that is missing.
    pub fn given<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Given> {
        let mut texts: BTreeMap<&'static str, String> = BTreeMap::new();
        for (name, text) in pairs {
            let parameter = self.parameters.iter().find(|p| p.name == name).ok_or_else(|| {
                let names: Vec<&str> = self.parameters.iter().map(|p| p.name).collect();
                let remedy = format!("its parameters are {}", names.join(", "));
                ModelError::parameter(name, format!("{} has no such parameter", self.name), remedy)
            })?;
            if texts.insert(parameter.name, text.to_owned()).is_some() {
                return Err(ModelError::parameter(name, "it is given twice", "give it once"));
            }
        }
        for parameter in self.parameters {
            if let (false, Some(default)) = (texts.contains_key(parameter.name), parameter.default) {
                texts.insert(parameter.name, default.to_owned());
            }
            if !texts.contains_key(parameter.name) {
                let remedy =
                    format!("give {}, for example {}={}", parameter.means, parameter.name, parameter.example);
                return Err(ModelError::parameter(parameter.name, "it is missing", remedy));
            }
        }
        Ok(Given { texts })
    }

    /// The figures at these parameters.
    ///
    /// # Errors
    /// When a parameter is out of range, the system has no steady state, or the numbers leave floating point.
    pub fn solve(&self, given: &Given) -> Result<Solution> {
        (self.solve)(given)?.finite()
    }
}

impl Given {
    /// Every parameter with its text, defaults included, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.texts.iter().map(|(name, text)| (*name, text.as_str()))
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.texts
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| ModelError::parameter(name, "it is missing", "give it"))
    }

    /// A rate above zero, per second.
    ///
    /// # Errors
    /// When it is none.
    pub fn rate(&self, name: &str) -> Result<f64> {
        check::positive(name, quantity::rate(name, self.text(name)?)?)
    }

    /// A time of zero or above, in seconds.
    ///
    /// # Errors
    /// When it is none.
    pub fn time(&self, name: &str) -> Result<f64> {
        check::non_negative(name, quantity::time(name, self.text(name)?)?)
    }

    /// A finite number of any sign.
    ///
    /// # Errors
    /// When it is none.
    pub fn number(&self, name: &str) -> Result<f64> {
        quantity::number(name, self.text(name)?)
    }

    /// A whole number within bounds.
    ///
    /// # Errors
    /// When it is none, or beyond them.
    pub fn count(&self, name: &str, least: u64, most: u64) -> Result<u64> {
        whole(name, self.text(name)?, least, most)
    }

    /// A distribution of times.
    ///
    /// # Errors
    /// When it is none.
    pub fn distribution(&self, name: &str) -> Result<Distribution> {
        self.text(name)?.parse().map_err(|error: ModelError| error.within(name))
    }

    /// Rates of zero or above, per second.
    ///
    /// # Errors
    /// When one is none.
    pub fn rates(&self, name: &str) -> Result<Vec<f64>> {
        self.list(name, ',', |text| check::non_negative(name, quantity::rate(name, text)?))
    }

    /// Whole numbers within bounds.
    ///
    /// # Errors
    /// When one is none, or beyond them.
    pub fn counts(&self, name: &str, least: u64, most: u64) -> Result<Vec<u64>> {
        self.list(name, ',', |text| whole(name, text, least, most))
    }

    /// Rows of times of zero or above, in seconds; a single row where there is no `;`.
    ///
    /// # Errors
    /// When one is none.
    pub fn time_rows(&self, name: &str) -> Result<Vec<Vec<f64>>> {
        let read = |text: &str| check::non_negative(name, quantity::time(name, text)?);
        self.list(name, ';', |row| row.split(',').map(read).collect())
    }

    /// Times of zero or above, in seconds.
    ///
    /// # Errors
    /// When one is none.
    pub fn times(&self, name: &str) -> Result<Vec<f64>> {
        self.list(name, ',', |text| check::non_negative(name, quantity::time(name, text)?))
    }

    /// Finite numbers of any sign.
    ///
    /// # Errors
    /// When one is none.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        self.list(name, ',', |text| quantity::number(name, text))
    }

    /// Rows of finite numbers; a single row where there is no `;`.
    ///
    /// # Errors
    /// When one is none.
    pub fn rows(&self, name: &str) -> Result<Vec<Vec<f64>>> {
        self.list(name, ';', |row| row.split(',').map(|text| quantity::number(name, text)).collect())
    }

    /// Distributions of times.
    ///
    /// # Errors
    /// When one is none.
    pub fn distributions(&self, name: &str) -> Result<Vec<Distribution>> {
        self.list(name, ';', |text| text.parse().map_err(|error: ModelError| error.within(name)))
    }

    /// One of a few words.
    ///
    /// # Errors
    /// When it is another one.
    pub fn word(&self, name: &str, words: &[&'static str]) -> Result<&'static str> {
        let text = self.text(name)?.trim();
        words.iter().copied().find(|word| *word == text).ok_or_else(|| {
            ModelError::parameter(
                name,
                format!("`{text}` is not known"),
                format!("give one of {}", words.join(", ")),
            )
        })
    }

    fn list<T>(&self, name: &str, separator: char, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
        self.text(name)?.split(separator).map(read).collect()
    }
}

/// A whole number within bounds.
fn whole(name: &str, text: &str, least: u64, most: u64) -> Result<u64> {
    let text = text.trim();
    let value = quantity::whole(text).ok_or_else(|| {
        ModelError::parameter(
            name,
            format!("`{text}` is no whole number"),
            format!("give one from {least} to {most}"),
        )
    })?;
    check::count(name, value, least, most)
}
