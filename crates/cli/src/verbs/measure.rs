//! `tollway measure`: presets of a path, or a person's own.

use anyhow::Result;

use super::work::{Measured, Work, carry_out};
use super::{price_list, resumed};
use crate::args::{Arguments, Measure};
use crate::exit::Ending;
use crate::laboratory;

/// Measures and prints the figures.
pub fn measure(arguments: &Arguments, options: &Measure) -> Result<Ending> {
    let registry = tollway_all::registry();
    // Before any point: what they are may depend on the machine.
    let lab = laboratory::lab_on(&registry, options.on.as_ref())?;
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
    let title = options.on.as_ref().map_or(title.clone(), |host| format!("{title}, on {host}"));
    let prices = measures_prices(options).then(|| price_list::file(&lab)).flatten();
    let work = Work {
        title,
        presets,
        only: options.only.clone(),
        resume: options.resume,
        together: false,
        budgeted: false,
        pages: prices.into_iter().collect(),
    };
    let Some((store, ended)) = carry_out(arguments, &options.repeats, &lab, work)? else {
        return Ok(Ending::Done);
    };
    if options.on.is_none() && measures_prices(options) {
        price_list::learn(&lab, &store, ended.run)?;
    }
    let measured = Measured::of(arguments, &options.repeats, &registry, (&store, &ended))?;
    resumed::show(&measured, options.resume)
}

/// Whether it is the preset that bills are priced by.
fn measures_prices(options: &Measure) -> bool {
    options.path.as_deref() == Some("crossings") && options.preset == "calls" && options.preset_file.is_none()
}
