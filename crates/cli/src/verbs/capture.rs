//! `tollway capture`: the tool of the path `capture`.

use anyhow::Result;
use tollway_capture_tool::args::Capture;

use crate::args::Arguments;
use crate::exit::Ending;

/// Captures, and tells how it ended.
pub fn capture(arguments: &Arguments, options: &Capture) -> Result<Ending> {
    tollway_capture_tool::run(options, arguments.json)?;
    Ok(Ending::Done)
}
