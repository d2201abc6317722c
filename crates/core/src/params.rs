//! The point of its axes at which a variant is run.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Placement, Result, TenantKind, Warmth};

/// One value on an axis.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number: bytes, depths, counts.
    Int(u64),
    /// A real number: rates.
    Real(f64),
    /// A choice by name.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(n) => n.fmt(f),
            Value::Real(x) => x.fmt(f),
            Value::Text(s) => s.fmt(f),
        }
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Value::Int(n)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Value::Text(s.into())
    }
}

/// Which values an axis takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number from the first to the second, both included.
    Whole(u64, u64),
    /// A real number from the first to the second, both included.
    Real(f64, f64),
    /// A text of this form; what it says the variant checks. Empty where nothing is said.
    Text(&'static str),
}

/// A parameter of a variant: its name, unit, bounds and default.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name in presets and on the command line.
    pub name: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    /// The values it takes.
    pub domain: Domain,
    /// The value when none is given.
    pub default: Value,
}

impl Axis {
    /// The name of an axis that asks a sampling profiler to look on. Its samples disturb what they look at, so points that
    /// differ in nothing else go together: the figures of the one that nobody looks at, the profile of the other.
    pub const PROFILE: &str = "profile";

    /// Refuses a value outside the domain, naming the axis and what it takes.
    pub fn check(&self, value: &Value) -> Result<()> {
        let fits = match (&self.domain, value) {
            (Domain::Words(words), Value::Text(s)) => words.contains(&s.as_str()),
            (Domain::Whole(lo, hi), Value::Int(n)) => (lo..=hi).contains(&n),
            (Domain::Real(lo, hi), Value::Real(x)) => (lo..=hi).contains(&x),
            (Domain::Real(lo, hi), Value::Int(n)) => (*lo..=*hi).contains(&(*n as f64)),
            (Domain::Text(_), Value::Text(_)) => true,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let remedy = match &self.domain {
            Domain::Words(words) => format!("it takes one of: {}", words.join(", ")),
            Domain::Whole(lo, hi) => format!("it takes a whole number from {lo} to {hi}"),
            Domain::Real(lo, hi) => format!("it takes a number from {lo} to {hi}"),
            Domain::Text(form) => format!("it takes a text: {form}"),
        };
        Err(Error::Input {
            place: format!("axis `{}`", self.name),
            reason: format!("`{value}` is not a value of it"),
            remedy,
        })
    }
}

/// A value for each axis of a variant.
#[derive(Clone, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(BTreeMap<String, Value>);

impl Params {
    /// No value for any axis.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets one axis.
    pub fn set(&mut self, axis: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(axis.into(), value.into());
    }

    /// The same params with one axis set.
    pub fn with(mut self, axis: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(axis, value);
        self
    }

    /// The same params with one axis not set.
    pub fn without(mut self, axis: &str) -> Self {
        self.0.remove(axis);
        self
    }

    /// The value of an axis, if it is set.
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.0.get(axis)
    }

    /// All axes that are set, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Checks every value against its axis, refuses unknown axes and fills in the defaults.
    pub fn complete(mut self, axes: &[Axis]) -> Result<Params> {
        for (name, value) in &self.0 {
            let Some(axis) = axes.iter().find(|a| a.name == name) else {
                let known: Vec<_> = axes.iter().map(|a| a.name).collect();
                return Err(Error::Input {
                    place: format!("axis `{name}`"),
                    reason: "this variant has no such axis".into(),
                    remedy: if known.is_empty() {
                        "it has none at all".into()
                    } else {
                        format!("it has: {}", known.join(", "))
                    },
                });
            };
            axis.check(value)?;
        }
        for axis in axes {
            self.0.entry(axis.name.into()).or_insert_with(|| axis.default.clone());
        }
        Ok(self)
    }

    /// A whole number, as [`Params::complete`] has checked it.
    pub fn int(&self, axis: &str) -> Result<u64> {
        match self.get(axis) {
            Some(Value::Int(n)) => Ok(*n),
            other => Err(Self::unusable(axis, other, "a whole number")),
        }
    }

    /// A number, whole or not, as [`Params::complete`] has checked it.
    pub fn real(&self, axis: &str) -> Result<f64> {
        match self.get(axis) {
            Some(Value::Int(n)) => Ok(*n as f64),
            Some(Value::Real(x)) => Ok(*x),
            other => Err(Self::unusable(axis, other, "a number")),
        }
    }

    /// A word, as [`Params::complete`] has checked it.
    pub fn word(&self, axis: &str) -> Result<&str> {
        match self.get(axis) {
            Some(Value::Text(s)) => Ok(s),
            other => Err(Self::unusable(axis, other, "a word")),
        }
    }

    /// The axis `placement`: `same` or `across`.
    pub fn placement(&self) -> Result<Placement> {
        match self.word("placement")? {
            "same" => Ok(Placement::Same),
            "across" => Ok(Placement::Across),
            _ => Err(Self::unusable("placement", self.get("placement"), "`same` or `across`")),
        }
    }

    /// The axis `tenant`: the name of a kind of tenant; a process where there is no such axis.
    pub fn tenant(&self) -> Result<TenantKind> {
        match self.get("tenant") {
            Some(_) => self.word("tenant")?.parse(),
            None => Ok(TenantKind::Process),
        }
    }

    /// The axis `warmth`: `hot` or `cold`.
    pub fn warmth(&self) -> Result<Warmth> {
        match self.word("warmth")? {
            "hot" => Ok(Warmth::Hot),
            "cold" => Ok(Warmth::Cold),
            _ => Err(Self::unusable("warmth", self.get("warmth"), "`hot` or `cold`")),
        }
    }

    fn unusable(axis: &str, found: Option<&Value>, wanted: &str) -> Error {
        Error::Input {
            place: format!("axis `{axis}`"),
            reason: match found {
                Some(value) => format!("`{value}` stands there"),
                None => "it is not set".into(),
            },
            remedy: format!("give {wanted}"),
        }
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (axis, value)) in self.0.iter().enumerate() {
            write!(f, "{}{axis}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}
