//! `tollway capture`: the tool of the path `capture`.

use anyhow::Result;
use tollway_capture_tool as tool;
use tollway_capture_tool::args::{Capture, What};

use crate::args::Arguments;
use crate::exit::Ending;

/// Captures, or does what else there is to do.
pub fn capture(arguments: &Arguments, options: &Capture) -> Result<Ending> {
    match &options.what {
        None => tool::run(&options.options, arguments.json)?,
        Some(What::Generate(generate)) => tool::generate::run(generate, arguments.json)?,
        Some(What::Profile(profile)) => return super::bill::profile(arguments, profile),
    }
    Ok(Ending::Done)
}
