//! Specifications as text.
//!
//! ```
//! let spec = tollway_model::spec::Spec::from_toml(
//!     r#"
//!     [[source]]
//!     name         = "machines"
//!     interarrival = "exponential(100us)"
//!
//!     [[station]]
//!     name    = "device"
//!     service = "exponential(60us)"
//!     "#,
//! );
//! assert!(spec.is_ok());
//! ```

use super::parts::SourceTable;
use super::{Class, Coalescer, Spec, Station, Stop};
use crate::{ModelError, Result};
use serde::Deserialize;

/// The longest text that is read, in bytes: 100,000 parts fit well.
const LONGEST: usize = 64 << 20;

/// A specification as it is written: the trace of a source may be the name of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    title: String,
    #[serde(default, rename = "class")]
    classes: Vec<Class>,
    #[serde(default, rename = "source")]
    sources: Vec<SourceTable>,
    #[serde(default, rename = "station")]
    stations: Vec<Station>,
    #[serde(default, rename = "coalescer")]
    coalescers: Vec<Coalescer>,
    #[serde(default)]
    stop: Stop,
}

impl Spec {
    /// Reads and checks a specification that stands alone: it names no files.
    ///
    /// # Errors
    /// With line and column where it is not TOML or a part is not known; as [`Spec::checked`]; and where a trace is a
    /// file's name.
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::from_toml_with(text, |file| {
            Err(ModelError::parameter(
                format!("file `{file}`"),
                "files are not read here",
                "write the gaps themselves: trace = [\"10us\", \"12us\"]",
            ))
        })
    }

    /// Reads and checks a specification; `gaps` reads the file of a trace, by the name that stands in the text
    /// (see [`gaps`](super::gaps) for its content).
    ///
    /// # Errors
    /// As [`Spec::from_toml`], and what `gaps` answers.
    pub fn from_toml_with(text: &str, mut gaps: impl FnMut(&str) -> Result<Vec<f64>>) -> Result<Self> {
        if text.len() > LONGEST {
            return Err(ModelError::parameter(
                "specification",
                format!("it has {} bytes", text.len()),
                format!("keep it below {LONGEST}; long traces go into files"),
            ));
        }
        let document: Document = toml::from_str(text).map_err(|error| unreadable(text, &error))?;
        let sources = document.sources.into_iter().map(|source| source.resolve(&mut gaps));
        let spec = Spec {
            title: document.title,
            classes: document.classes,
            sources: sources.collect::<Result<_>>()?,
            stations: document.stations,
            coalescers: document.coalescers,
            stop: document.stop,
        };
        spec.checked()
    }
}

/// The error at its line and column, both from 1.
fn unreadable(text: &str, error: &toml::de::Error) -> ModelError {
    let place = match error.span() {
        None => "specification".into(),
        Some(span) => {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            format!("specification, line {line}, column {column}")
        }
    };
    // The message may have lines of its own.
    let reason = error.message().lines().collect::<Vec<_>>().join(", ");
    let remedy = "docs/models.md has the form of a specification";
    ModelError::parameter(place, reason, remedy)
}
