//! The files of a simulation: the specification, and the traces that it names, beside it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Result;
use tollway_core::Error;
use tollway_model::ModelError;

use super::set;
use crate::standard_input;
use tollway_model::spec::{self, Spec};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 256 << 20;

/// Reads and checks a specification, with these changes.
pub fn spec(file: &Path, changes: &[String]) -> Result<Spec> {
    let content = set::changed(text(file)?, changes)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let trace = |name: &str| {
        let content = text(&folder.join(name)).map_err(|error| match error {
            Error::Input { place, reason, remedy } => ModelError::parameter(place, reason, remedy),
            other => ModelError::parameter(format!("file `{name}`"), other.to_string(), "check the file"),
        })?;
        spec::gaps(&content).map_err(|error| error.within(name))
    };
    Ok(Spec::from_toml_with(&content, trace).map_err(|error| error.within(&name(file)))?)
}

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// What a person calls it.
fn name(file: &Path) -> String {
    if file == Path::new(STANDARD_INPUT) { "standard input".into() } else { file.display().to_string() }
}

/// The text of a file that a person named.
fn text(file: &Path) -> Result<String, Error> {
    let refused = |reason: String, remedy: &str| Error::Input {
        place: format!("file `{}`", name(file)),
        reason,
        remedy: remedy.into(),
    };
    let mut content = Vec::new();
    let mut read = |source: &mut dyn Read| source.take(LONGEST + 1).read_to_end(&mut content);
    match file == Path::new(STANDARD_INPUT) {
        true => read(&mut standard_input::read()),
        false => File::open(file).and_then(|mut file| read(&mut file)),
    }
    .map_err(|error| refused(error.to_string(), "check its name"))?;
    if content.len() as u64 > LONGEST {
        return Err(refused(format!("it is longer than {LONGEST} bytes"), "name a shorter one"));
    }
    String::from_utf8(content).map_err(|_| refused("it is no text (UTF-8)".into(), "name a text file"))
}
