//! `tollway model`: the catalogue, a model's card, its figures at one point or over a sweep.

mod book;
mod card;
mod document;
mod plot;
mod sweep;
mod table;

use anyhow::Result;
use tollway_model::{ModelError, catalogue};

use crate::args::{self, Arguments};
use crate::exit::Ending;
use crate::output::{self, Format};
pub use book::book;
pub use document::ModelDocument;
use sweep::{Answer, Sweep};

/// Lists, shows or asks.
pub fn model(arguments: &Arguments, options: &args::Model) -> Result<Ending> {
    let Some(name) = &options.name else {
        card::catalogue(arguments.json)?;
        return Ok(Ending::Done);
    };
    let model = catalogue::find(name)?;
    if options.parameters.is_empty() && options.sweep.is_empty() {
        card::card(model, arguments.json)?;
        return Ok(Ending::Done);
    }
    let format =
        options.export.as_deref().map(|file| Format::of(file).map(|format| (file, format))).transpose()?;
    options.plot.as_deref().map_or(Ok(()), output::check_svg)?;
    for file in options.export.iter().chain(&options.plot) {
        output::check_writable(file)?;
    }
    let fixed = options.parameters.iter().map(|text| pair(text)).collect::<Result<Vec<_>>>()?;
    let sweep = Sweep::read(model, &options.sweep)?;
    let answer = Answer::of(model, fixed, sweep)?;
    let document = ModelDocument::of(&answer, &options.figure)?;
    if let Some(file) = &options.plot {
        output::write(file, &plot::svg(&document)?)?;
    }
    if let Some((file, format)) = format {
        let content = match format {
            Format::Json => serde_json::to_string_pretty(&document)? + "\n",
            Format::Csv => table::csv(&document),
            Format::Markdown => table::markdown(&document),
        };
        output::write(file, &content)?;
    }
    if arguments.json {
        output::json(&document)?;
    } else {
        output::text(&table::text(&document, output::width()))?;
    }
    Ok(Ending::Done)
}

/// `KEY=VALUE` as its two parts.
fn pair(text: &str) -> Result<(&str, &str)> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        ModelError::parameter(format!("`{text}`"), "it has no `=`", "write KEY=VALUE, like lambda=8000/s")
    })?;
    Ok((key.trim(), value.trim()))
}
