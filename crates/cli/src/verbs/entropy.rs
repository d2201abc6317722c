//! `tollway entropy`: the tool of the path `entropy`.

use anyhow::Result;
use tollway_entropy_tool as tool;
use tollway_entropy_tool::args::Entropy;

use crate::args::Arguments;
use crate::exit::Ending;

/// Does what an operator wants of a generator.
pub fn entropy(arguments: &Arguments, options: &Entropy) -> Result<Ending> {
    tool::run(options, arguments.json)?;
    Ok(Ending::Done)
}
