//! `tollway capture`: the tool of the path `capture`.

use anyhow::Result;
use tollway_capture_tool as tool;
use tollway_capture_tool::args::advise::Advise;
use tollway_capture_tool::args::{Capture, What};

use crate::args::Arguments;
use crate::exit::Ending;
use crate::laboratory;
use crate::progress_bar::Told;

/// Captures, or does what else there is to do.
pub fn capture(arguments: &Arguments, options: &Capture) -> Result<Ending> {
    match &options.what {
        None => tool::run(&options.options, arguments.json)?,
        Some(What::Generate(generate)) => tool::generate::run(generate, arguments.json)?,
        Some(What::Profile(profile)) => return super::bill::profile(arguments, profile),
        Some(What::Advise(options)) => return advise(arguments, options),
    }
    Ok(Ending::Done)
}

/// Advises on a capture, by what is measured here and now.
fn advise(arguments: &Arguments, options: &Advise) -> Result<Ending> {
    let registry = tollway_all::registry();
    let lab = laboratory::lab(&registry)?;
    let mut told = Told::new();
    let ended = tool::advise::run(options, arguments.json, &lab, &arguments.store, &mut told);
    told.finish();
    Ok(match ended? {
        tool::advise::Ending::Done => Ending::Done,
        tool::advise::Ending::Missed => Ending::CheckFailed,
        tool::advise::Ending::Interrupted => Ending::Interrupted,
    })
}
