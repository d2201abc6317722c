//! `tollway measure`: presets of a path, or a person's own.

use anyhow::Result;

use super::resumed;
use super::work::{Measured, Work, carry_out};
use crate::args::{Arguments, Measure};
use crate::exit::Ending;
use crate::laboratory;

/// Measures and prints the figures.
pub fn measure(arguments: &Arguments, options: &Measure) -> Result<Ending> {
    let registry = tollway_all::registry();
    let presets = match (&options.preset_file, &options.path) {
        _ if options.resume => Vec::new(),
        (Some(file), _) => vec![laboratory::preset_file(&registry, file)?],
        (None, Some(path)) => vec![laboratory::preset(&registry, path, &options.preset)?],
        (None, None) => Vec::new(),
    };
    let title = match (&options.preset_file, &options.path) {
        (Some(file), _) => format!("measure {}", file.display()),
        (None, Some(path)) => format!("measure {path}/{}", options.preset),
        (None, None) => "measure".into(),
    };
    let lab = laboratory::lab(&registry)?;
    let work = Work {
        title,
        presets,
        only: options.only.clone(),
        resume: options.resume,
        together: false,
        budgeted: false,
    };
    let Some((store, ended)) = carry_out(arguments, &options.repeats, &lab, work)? else {
        return Ok(Ending::Done);
    };
    let measured = Measured::of(arguments, &options.repeats, &registry, (&store, &ended))?;
    resumed::show(&measured, options.resume)
}
