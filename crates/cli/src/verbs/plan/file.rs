//! A plan as a file.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use tollway_core::Error;

use super::case::Case;
use crate::standard_input;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// A plan as it is written; docs/plan.md shows one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanFile {
    /// What it is about, in a line.
    pub title: String,
    /// The parameter to find.
    pub vary: Option<String>,
    /// The levels to keep.
    pub keep: Vec<String>,
    /// Whether the smallest value is wanted.
    pub smallest: bool,
    /// Where to look.
    pub from: Option<Written>,
    /// Where to look.
    pub to: Option<Written>,
    /// Whether the cases are there to choose from: the best is marked.
    pub choose: bool,
    /// Figures to show beside those of the levels.
    pub show: Vec<String>,
    /// What is given to each case whose model asks for it.
    pub given: BTreeMap<String, Written>,
    /// Figures that follow from those of the models, for every case that has none of that name.
    pub figures: BTreeMap<String, Written>,
    /// The cases.
    #[serde(rename = "case")]
    cases: Vec<FileCase>,
}

impl Default for PlanFile {
    fn default() -> Self {
        PlanFile {
            title: String::new(),
            vary: None,
            keep: Vec::new(),
            smallest: false,
            from: None,
            to: None,
            choose: true,
            show: Vec::new(),
            given: BTreeMap::new(),
            figures: BTreeMap::new(),
            cases: Vec::new(),
        }
    }
}

/// One variant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCase {
    name: String,
    model: String,
    #[serde(default)]
    given: BTreeMap<String, Written>,
    #[serde(default)]
    figures: BTreeMap<String, Written>,
}

/// A value, with quotation marks or, where it is a number, without.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Written {
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Any text.
    Text(String),
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Written::Whole(value) => value.fmt(f),
            Written::Number(value) => value.fmt(f),
            Written::Text(value) => value.fmt(f),
        }
    }
}

impl PlanFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is not TOML, or has what no plan has: with line and column.
    pub fn read(file: &Path) -> Result<PlanFile, Error> {
        let place = match file == Path::new("-") {
            true => "standard input".into(),
            false => format!("file `{}`", file.display()),
        };
        let wrong = |place: String, reason: String| Error::Input {
            place,
            reason,
            remedy: "name a plan; docs/plan.md shows what it is made of".into(),
        };
        let mut bytes = Vec::new();
        let mut take = |source: &mut dyn Read| source.take(LONGEST + 1).read_to_end(&mut bytes);
        let read = match file == Path::new("-") {
            true => take(&mut standard_input::read()),
            false => File::open(file).and_then(|mut file| take(&mut file)),
        };
        read.map_err(|error| wrong(place.clone(), error.to_string()))?;
        if bytes.len() as u64 > LONGEST {
            return Err(wrong(place, format!("it is no plan: it is longer than {LONGEST} bytes")));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| wrong(place.clone(), "it is no plan: it is no text (UTF-8)".into()))?;
        if text.trim().is_empty() {
            return Err(wrong(place, "it is no plan: it is empty".into()));
        }
        toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            // The message may have lines of its own.
            let reason = error.message().lines().collect::<Vec<_>>().join(", ");
            wrong(format!("{place}, line {line}, column {column}"), reason)
        })
    }

    /// Its cases.
    pub fn cases(&self) -> Vec<Case> {
        let texts = |pairs: &BTreeMap<String, Written>| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
        };
        let case = |case: &FileCase| Case {
            name: case.name.clone(),
            model: case.model.clone(),
            given: texts(&case.given),
            figures: texts(&case.figures).into_iter().map(|(name, sum)| format!("{name}={sum}")).collect(),
        };
        self.cases.iter().map(case).collect()
    }
}
